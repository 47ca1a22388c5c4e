package rootfs_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/klauspost/compress/zstd"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/progress"
)

func fifo(name string) tar.Header { return tar.Header{Typeflag: tar.TypeFifo, Name: name, Mode: 0o666} }

func device(name string) tar.Header {
	return tar.Header{Typeflag: tar.TypeChar, Name: name, Mode: 0o666, Devmajor: 1, Devminor: 3}
}

func TestUnpack(t *testing.T) {
	cases := map[string]struct {
		reason string
		layers layers
		want   []string
	}{
		"Empty":          {"an image may have no layers", layers{}, nil},
		"EmptyLayer":     {"a layer may be empty", layers{{}, {}}, nil},
		"Files":          {"files and directories are created", layers{{dir("a/"), file("a/b", "x"), file("c", "")}}, []string{"a/", "a/b=x", "c="}},
		"DotSlash":       {"a name may begin with ./", layers{{dir("./"), dir("./a/"), file("./a/b", "x")}}, []string{"a/", "a/b=x"}},
		"Absolute":       {"a name may begin with a slash", layers{{file("/a/b", "x"), file("//c", "y")}}, []string{"a/", "a/b=x", "c=y"}},
		"DotDotInside":   {"a name may contain .. inside of the root", layers{{file("a/../b/./c", "x")}}, []string{"b/", "b/c=x"}},
		"NoParents":      {"missing parent directories are created", layers{{file("a/b/c", "x")}}, []string{"a/", "a/b/", "a/b/c=x"}},
		"ParentLater":    {"the entry of a parent may follow its content", layers{{file("a/b", "x"), dir("a/")}}, []string{"a/", "a/b=x"}},
		"GlobalHeader":   {"a global header is not an entry", layers{{{Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: map[string]string{"comment": "x"}}, file("a", "x")}}, []string{"a=x"}},
		"LongName":       {"a name may be longer than the header field", layers{{file(strings.Repeat("long/", 40)+"f", "x")}}, longList(40)},
		"TopWins":        {"an upper layer replaces a file", layers{{file("a", "old")}, {file("a", "new")}}, []string{"a=new"}},
		"Merged":         {"directories of two layers are merged", layers{{dir("a/"), file("a/b", "x")}, {dir("a/"), file("a/c", "y")}}, []string{"a/", "a/b=x", "a/c=y"}},
		"Twice":          {"the last entry with a name applies", layers{{file("a", "first"), file("a", "last")}}, []string{"a=last"}},
		"FileToDir":      {"a directory replaces a file", layers{{file("a", "x")}, {dir("a/"), file("a/b", "y")}}, []string{"a/", "a/b=y"}},
		"FileToParent":   {"a parent directory without an entry replaces a file", layers{{file("a", "x")}, {file("a/b", "y")}}, []string{"a/", "a/b=y"}},
		"DirToFile":      {"a file replaces a directory and its content", layers{{dir("a/"), file("a/b/c", "x")}, {file("a", "y")}}, []string{"a=y"}},
		"DirToLink":      {"a link replaces a directory and its content", layers{{file("a/b", "x")}, {link("a", "c")}}, []string{"a -> c"}},
		"LinkToDir":      {"a directory replaces a link, not the link's target", layers{{dir("b/"), file("b/f", "x"), link("a", "b")}, {dir("a/"), file("a/g", "y")}}, []string{"a/", "a/g=y", "b/", "b/f=x"}},
		"LinkToFile":     {"a file replaces a link, and is not written through it", layers{{file("b", "x"), link("a", "b")}, {file("a", "y")}}, []string{"a=y", "b=x"}},
		"LinkToLink":     {"a link replaces a link", layers{{link("a", "b")}, {link("a", "c")}}, []string{"a -> c"}},
		"Links":          {"the target of a link is not checked", layers{{link("a", "/etc/passwd"), link("b", "../../x"), link("c", "nothing"), link("d", "d")}}, []string{"a -> /etc/passwd", "b -> ../../x", "c -> nothing", "d -> d"}},
		"LinkedParent":   {"a parent may be a link", layers{{dir("usr/bin/"), link("bin", "usr/bin")}, {file("bin/f", "x")}}, []string{"bin -> usr/bin", "usr/", "usr/bin/", "usr/bin/f=x"}},
		"AbsoluteParent": {"an absolute link of a parent is relative to the root", layers{{dir("run/"), link("var/run", "/run")}, {file("var/run/a/f", "x")}}, []string{"run/", "run/a/", "run/a/f=x", "var/", "var/run -> /run"}},
		"LinkChain":      {"a link of a parent may lead to a link", layers{{dir("d/e/"), link("a", "b/../../b"), link("b", "/d/./e"), file("a/f", "x")}}, []string{"a -> b/../../b", "b -> /d/./e", "d/", "d/e/", "d/e/f=x"}},
		"LinkToRoot":     {"a link of a parent may lead to the root", layers{{link("a", "/"), file("a/a/f", "x")}}, []string{"a -> /", "f=x"}},

		"HardLink":        {"a hard link is a second name of a file", layers{{file("a", "x"), hardLink("b", "a")}}, []string{"a=x", "b=x"}},
		"HardLinkBelow":   {"a hard link may lead to a lower layer", layers{{file("d/a", "x")}, {hardLink("b", "/d/a"), hardLink("e/c", "./b")}}, []string{"b=x", "d/", "d/a=x", "e/", "e/c=x"}},
		"HardLinkSplit":   {"replacing a name of a file leaves its other names", layers{{file("a", "x"), hardLink("b", "a")}, {file("a", "y")}}, []string{"a=y", "b=x"}},
		"HardLinkReplace": {"a hard link replaces a file", layers{{file("a", "x"), file("b/c", "y")}, {hardLink("b", "a")}}, []string{"a=x", "b=x"}},
		"HardLinkSelf":    {"a hard link to itself changes nothing", layers{{file("a", "x"), hardLink("./a", "a")}}, []string{"a=x"}},
		"HardLinkParent":  {"a parent of a hard link may be a link", layers{{file("d/a", "x"), link("l", "d"), hardLink("l/b", "l/a")}}, []string{"d/", "d/a=x", "d/b=x", "l -> d"}},

		"Devices":         {"device nodes and pipes are not created", layers{{device("a"), fifo("b"), {Typeflag: tar.TypeBlock, Name: "c"}, file("d", "x")}}, []string{"d=x"}},
		"DeviceTakesOver": {"device nodes and pipes remove what they replace", layers{{file("a", "x"), file("b/c", "y")}, {device("a"), fifo("b")}}, nil},

		"Whiteout":            {"a whiteout removes a file of a lower layer", layers{{file("a", "x"), file("b", "y")}, {whiteout(".wh.a")}}, []string{"b=y"}},
		"WhiteoutLink":        {"a whiteout removes a link, not the link's target", layers{{file("d/a", "x"), link("l", "d")}, {whiteout(".wh.l")}}, []string{"d/", "d/a=x"}},
		"WhiteoutThroughLink": {"a parent of a whiteout may be a link", layers{{file("d/a", "x"), file("d/b", "y"), link("l", "d")}, {whiteout("l/.wh.a")}}, []string{"d/", "d/b=y", "l -> d"}},
		"WhiteoutMissing":     {"a whiteout of a missing file is ignored", layers{{file("a", "x")}, {whiteout(".wh.b"), whiteout("no/dir/.wh.c"), whiteout("a/.wh.d")}}, []string{"a=x"}},
		"WhiteoutDeadLink":    {"a whiteout in a missing directory is ignored", layers{{link("l", "/nowhere")}, {whiteout("l/.wh.a")}}, []string{"l -> /nowhere"}},
		"WhiteoutAlike":       {"a whiteout applies to the exact name", layers{{file("ab", "x")}, {whiteout(".wh.a")}}, []string{"ab=x"}},
		"WhiteoutDir":         {"a whiteout removes a directory and its content", layers{{file("a/b/c", "x"), file("d", "y")}, {whiteout(".wh.a")}}, []string{"d=y"}},
		"WhiteoutRecreate":    {"a later layer may create the directory again", layers{{file("a/b", "x")}, {whiteout(".wh.a")}, {file("a/c", "y")}}, []string{"a/", "a/c=y"}},
		"WhiteoutSame":        {"the same layer may create the directory again", layers{{file("a/b", "x")}, {whiteout(".wh.a"), dir("a/"), file("a/c", "y")}}, []string{"a/", "a/c=y"}},
		"WhiteoutSameBefore":  {"the same layer may create the directory before the whiteout", layers{{file("a/b", "x"), file("a/d/e", "x")}, {dir("a/"), file("a/c", "y"), file("a/d/f", "z"), whiteout(".wh.a")}}, []string{"a/", "a/c=y", "a/d/", "a/d/f=z"}},
		"WhiteoutOwnFile":     {"a whiteout does not apply to its own layer", layers{{file("a", "old")}, {file("a", "new"), whiteout(".wh.a")}}, []string{"a=new"}},
		"WhiteoutToFile":      {"a file may replace a removed directory", layers{{file("a/b", "x")}, {whiteout(".wh.a"), file("a", "y")}}, []string{"a=y"}},
		"WhiteoutThenBack":    {"a removed file may be created again", layers{{file("a", "1")}, {whiteout(".wh.a")}, {file("a", "3")}}, []string{"a=3"}},
		"WhiteoutAUFS":        {"internal files of AUFS are ignored", layers{{file("a", "x")}, {whiteout(".wh..wh.plnk"), whiteout(".wh..wh.aufs")}}, []string{"a=x"}},

		"Opaque":         {"an opaque directory contains nothing of lower layers", layers{{file("a/b", "x"), file("a/c/d", "x"), file("e", "y")}, {dir("a/"), whiteout("a/.wh..wh..opq"), file("a/f", "z")}}, []string{"a/", "a/f=z", "e=y"}},
		"OpaqueLast":     {"the opaque whiteout may follow the content", layers{{file("a/b", "x"), file("a/c/d", "x")}, {dir("a/"), file("a/f", "z"), file("a/c/g", "z"), whiteout("a/.wh..wh..opq")}}, []string{"a/", "a/c/", "a/c/g=z", "a/f=z"}},
		"OpaqueTwice":    {"the opaque whiteout may be repeated", layers{{file("a/b", "x")}, {whiteout("a/.wh..wh..opq"), file("a/c", "y"), whiteout("a/.wh..wh..opq")}}, []string{"a/", "a/c=y"}},
		"OpaqueRoot":     {"the root may be opaque", layers{{file("a/b", "x"), file("c", "x")}, {whiteout(".wh..wh..opq"), file("d", "y")}}, []string{"d=y"}},
		"OpaqueNested":   {"a directory in an opaque directory may be opaque", layers{{file("a/b/c", "x")}, {file("a/b/d", "y"), whiteout("a/b/.wh..wh..opq"), whiteout("a/.wh..wh..opq")}}, []string{"a/", "a/b/", "a/b/d=y"}},
		"OpaqueMissing":  {"an opaque directory need not exist", layers{{file("a", "x")}, {whiteout("b/.wh..wh..opq")}}, []string{"a=x"}},
		"OpaqueReplaced": {"a directory that replaced a file keeps its content", layers{{file("a/b", "x")}, {file("a/b/c", "y"), whiteout("a/.wh..wh..opq")}}, []string{"a/", "a/b/", "a/b/c=y"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, shared := range []bool{false, true} {
				got := contentOf(t, mustUnpack(t, imageOf(t, tc.layers...), shared))
				e2e.Equal(t, fmt.Sprintf("%s, shared %t", tc.reason, shared), tc.want, got)
			}
		})
	}
}

func longList(n int) (all []string) {
	for i := range n {
		all = append(all, strings.Repeat("long/", i+1))
	}
	return append(all, strings.Repeat("long/", n)+"f=x")
}

// described returns entries with every kind of metadata that may be kept or
// dropped: in a lower layer, and replaced by an upper one.
func described() []tar.Header {
	at := time.Unix(1_700_000_000, 0)
	return []tar.Header{
		{Typeflag: tar.TypeDir, Name: "./", Mode: 0o711, ModTime: at, Uid: 7, Gid: 8},
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777, ModTime: at},
		{Typeflag: tar.TypeReg, Name: "tmp/f", Mode: 0o4755, ModTime: at.Add(time.Second), Uid: 1000, Gid: 65535},
		{Typeflag: tar.TypeDir, Name: "setgid/", Mode: 0o2775, ModTime: at, Uid: 65536, Gid: -1},
		{Typeflag: tar.TypeReg, Name: "setgid/f", Mode: 0o2640, ModTime: time.Unix(-5, 0)},
		{Typeflag: tar.TypeDir, Name: "locked/", Mode: 0o000, ModTime: at},
		{Typeflag: tar.TypeDir, Name: "locked/below/", Mode: 0o555, ModTime: at},
		{Typeflag: tar.TypeReg, Name: "locked/below/f", Mode: 0o000, ModTime: at, PAXRecords: map[string]string{"SCHILY.xattr.user.a": "b"}},
		{Typeflag: tar.TypeReg, Name: "made/f", Mode: 0o600, ModTime: time.Unix(1<<35, 0)},
	}
}

func TestAttributes(t *testing.T) {
	for _, shared := range []bool{false, true} {
		assertAttributes(t, mustUnpack(t, imageOf(t, described(), []tar.Header{whiteout("locked/.wh.none"), file("locked/below/g", "")}), shared))
	}
}

func assertAttributes(t *testing.T, root string) {
	t.Helper()
	e2e.NoError(t, filepath.WalkDir(filepath.Join(root, "locked"), unlockAfter(t, map[string]fs.FileMode{
		"locked": fs.ModeDir, "below": fs.ModeDir | 0o555, "f": 0, "g": 0o644,
	})))
	at := int64(1_700_000_000)
	cases := map[string]struct {
		reason string
		mode   fs.FileMode
		mtime  int64
	}{
		".":            {"the root may have an entry", fs.ModeDir | 0o711, at},
		"tmp":          {"the sticky bit of a directory is kept", fs.ModeDir | fs.ModeSticky | 0o777, at},
		"tmp/f":        {"setuid is dropped", 0o755, at + 1},
		"setgid":       {"setgid is dropped", fs.ModeDir | 0o775, at},
		"setgid/f":     {"a time before 1970 is dropped", 0o640, 0},
		"made":         {"a directory without an entry has default metadata", fs.ModeDir | 0o755, 0},
		"made/f":       {"a time that file systems do not support is dropped", 0o600, 0},
		"locked/below": {"a later write does not change a directory's time", fs.ModeDir | 0o700, at},
	}
	for name, tc := range cases {
		info, _ := statOf(t, filepath.Join(root, name))
		if info.Mode() != tc.mode || info.ModTime().Unix() != tc.mtime {
			t.Errorf("%s: %q: got %v, %d, want %v, %d", tc.reason, name, info.Mode(), info.ModTime().Unix(), tc.mode, tc.mtime)
		}
	}
}

// unlockAfter returns a function that compares the mode of each file with want, and then
// makes directories readable, so that the walk can continue.
func unlockAfter(t *testing.T, want map[string]fs.FileMode) fs.WalkDirFunc {
	return func(path string, d fs.DirEntry, err error) error {
		if d == nil || err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		info, statErr := os.Lstat(path)
		if statErr != nil {
			return statErr
		}
		if mode, ok := want[d.Name()]; err == nil && (!ok || info.Mode() != mode) {
			t.Errorf("%q: got %v, want %v", d.Name(), info.Mode(), mode)
		}
		if d.IsDir() {
			mtime := info.ModTime()
			return errors.Join(os.Chmod(path, 0o700), os.Chtimes(path, mtime, mtime))
		}
		return nil
	}
}

// TestHardLinksShareTheFile checks that hard links share one inode.
func TestHardLinksShareTheFile(t *testing.T) {
	root := mustUnpack(t, imageOf(t, []tar.Header{file("a", "x"), hardLink("b", "a")}), false)
	_, a := statOf(t, filepath.Join(root, "a"))
	_, b := statOf(t, filepath.Join(root, "b"))
	if a.Ino != b.Ino || a.Nlink != 2 {
		t.Errorf("got inodes %d and %d with %d links", a.Ino, b.Ino, a.Nlink)
	}
}

func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can change owners")
	}
	for _, shared := range []bool{false, true} {
		assertOwner(t, shared)
	}
}

func assertOwner(t *testing.T, shared bool) {
	t.Helper()
	dir := storeDir(t)
	img := imageOf(t, described(), []tar.Header{{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/etc/passwd", Uid: 1, Gid: 2}})
	root := e2e.Must(unpack(t, img, rootfs.Options{Dir: dir, Owner: &rootfs.Owner{UID: 100_000, GID: 300_000}, Shared: shared}))(t)
	for name, want := range map[string][2]uint32{
		"..":       {0, 0}, // the directory that contains the root, whose owner is not mapped
		".":        {100_007, 300_008},
		"made":     {100_000, 300_000},
		"tmp/f":    {101_000, 365_535},
		"setgid":   {165_534, 365_534},
		"setgid/f": {100_000, 300_000},
		"link":     {100_001, 300_002},
	} {
		if _, got := statOf(t, filepath.Join(root.Path, name)); got.Uid != want[0] || got.Gid != want[1] {
			t.Errorf("%q: got %d:%d, want %v", name, got.Uid, got.Gid, want)
		}
	}
	mine := e2e.Must(unpack(t, img, rootfs.Options{Dir: dir}))(t)
	if _, got := statOf(t, filepath.Join(mine.Path, "tmp/f")); mine.Path == root.Path || got.Uid != uint32(os.Getuid()) {
		t.Errorf("without an owner: got %q owned by %d", mine.Path, got.Uid)
	}
}

func TestStoreIsClosedToOthers(t *testing.T) {
	root := mustUnpack(t, imageOf(t, described()), false)
	if info, _ := statOf(t, filepath.Dir(root)); info.Mode().Perm() != 0o700 {
		t.Errorf("other users must not reach files that everyone can write: got %v", info.Mode())
	}
}

func TestConfig(t *testing.T) {
	want := v1.Config{Entrypoint: []string{"/fn"}, Env: []string{"A=b"}, User: "65532"}
	img := e2e.Must(mutate.Config(imageOf(t, []tar.Header{file("fn", "x")}), want))(t)
	e2e.Equal(t, "the root has the config of the image", want, e2e.Must(unpack(t, img, rootfs.Options{Dir: storeDir(t)}))(t).Config)
}

func TestCompressions(t *testing.T) {
	plain := pack(t, file("a", "x"))
	zw := e2e.Must(zstd.NewWriter(nil))(t)
	for name, stored := range map[string][]byte{"None": plain, "Gzip": zip(t, plain), "Zstd": zw.EncodeAll(plain, nil)} {
		t.Run(name, func(t *testing.T) {
			got := contentOf(t, mustUnpack(t, imageOfLayers(t, layerOf(t, plain, stored)), false))
			e2e.Equal(t, "a layer is unpacked whatever its compression", []string{"a=x"}, got)
		})
	}
}

func TestProgress(t *testing.T) {
	var events []progress.Event
	img := imageOf(t, []tar.Header{file("a", "x")}, []tar.Header{file("b", "y")})
	o := rootfs.Options{Dir: storeDir(t), Progress: func(e progress.Event) { events = append(events, e) }}
	for range 2 { // The second call finds the root unpacked.
		e2e.Must(unpack(t, img, o))(t)
	}
	done := int64(0)
	for _, e := range events {
		if e.Kind != progress.Bytes || e.Done < done {
			t.Errorf("got %+v after %d bytes", e, done)
		}
		done = e.Done
	}
	if last := events[len(events)-1]; last.Done != last.Total || last.Total == 0 {
		t.Errorf("at the end: got %+v", last)
	}
}

func TestCancelled(t *testing.T) {
	dir := storeDir(t)
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	e2e.ErrorIs(t, "Unpack returns the cause of its context", e2e.Err(rootfs.Unpack(ctx, imageOf(t, []tar.Header{file("a", "x")}), rootfs.Options{Dir: dir})), why)
	assertNoRoot(t, dir)
}

func TestUnreachableStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	e2e.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := rootfs.Unpack(t.Context(), imageOf(t), rootfs.Options{Dir: path})
	if err == nil || !strings.Contains(err.Error(), "unpacking the image: opening") || !strings.HasSuffix(err.Error(), "not a directory") {
		t.Errorf("got %v", err)
	}
}

// Images that share all layers but the last have the same files of these layers. A last layer
// that replaces, links or removes such files does not change them in the other images.
func TestSharedFiles(t *testing.T) {
	dir := storeDir(t)
	lower := []tar.Header{file("lib/a", "a"), file("lib/b", "b"), link("c", "lib/a")}
	var roots []string
	for _, top := range [][]tar.Header{{file("src", "1")}, {file("lib/a", "2"), whiteout("lib/.wh.b"), hardLink("d", "c"), file("c", "x")}} {
		roots = append(roots, e2e.Must(unpack(t, imageOf(t, lower, top), rootfs.Options{Dir: dir, Shared: true}))(t).Path)
	}
	base := e2e.Must(unpack(t, imageOf(t, lower), rootfs.Options{Dir: dir}))(t)
	for root, want := range map[string][]string{
		base.Path: {"c -> lib/a", "lib/", "lib/a=a", "lib/b=b"},
		roots[0]:  {"c -> lib/a", "lib/", "lib/a=a", "lib/b=b", "src=1"},
		roots[1]:  {"c=x", "d -> lib/a", "lib/", "lib/a=2"},
	} {
		if diff := cmp.Diff(want, contentOf(t, root)); diff != "" {
			t.Error(diff)
		}
	}
	_, one := statOf(t, filepath.Join(base.Path, "lib", "b"))
	_, other := statOf(t, filepath.Join(roots[0], "lib", "b"))
	e2e.Equal(t, "the file of a shared layer was copied", other.Ino, one.Ino)
}
