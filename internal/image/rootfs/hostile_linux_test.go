package rootfs_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/oci"
)

// outside is a place on the host that a hostile image tries to reach: a store,
// and beside it a directory with a file.
type outside struct{ top, store, target string }

func newOutside(t testing.TB) outside {
	t.Helper()
	top := filepath.Dir(storeDir(t))
	o := outside{top, filepath.Join(top, "store"), filepath.Join(top, "outside")}
	e2e.NoError(t, os.MkdirAll(o.target, 0o700))
	e2e.NoError(t, os.WriteFile(filepath.Join(o.target, "secret"), []byte("the host's"), 0o600))
	return o
}

// assertUntouched fails the test if anything outside of the store changed.
func (o outside) assertUntouched(t testing.TB) {
	t.Helper()
	for _, e := range e2e.Must(os.ReadDir(o.top))(t) {
		if e.Name() != "store" && e.Name() != "outside" {
			t.Errorf("%q was created on the host", e.Name())
		}
	}
	e2e.Equal(t, "the host's directory stays the same", []string{"secret=the host's"}, contentOf(t, o.target))
	info, sys := statOf(t, filepath.Join(o.target, "secret"))
	if sys.Nlink != 1 || info.Mode() != 0o600 || sys.Uid != uint32(os.Getuid()) {
		t.Errorf("the host's file has %d names, mode %v and owner %d", sys.Nlink, info.Mode(), sys.Uid)
	}
}

// assertRefused checks that unpacking an image fails and leaves nothing behind.
func assertRefused(t testing.TB, img v1.Image, want string, limits rootfs.Limits) {
	t.Helper()
	o := newOutside(t)
	e2e.ErrorHas(t, "a hostile image is not unpacked", e2e.Err(unpack(t, img, rootfs.Options{Dir: o.store, Limits: limits})), want)
	assertNoRoot(t, o.store)
	o.assertUntouched(t)
}

// up is the path from a root of the store to the directory of the store.
const up = "../../../../../"

func TestHostilePathTraversal(t *testing.T) {
	for _, name := range []string{"../evil", up + "evil", "a/../../evil", "/../" + up + "evil", ".."} {
		for _, kind := range []byte{tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeChar} {
			h := tar.Header{Typeflag: kind, Name: name, Mode: 0o755}
			assertRefused(t, imageOf(t, []tar.Header{h}), "the path is outside of the root file system", rootfs.Limits{})
		}
	}
}

func TestHostileAbsoluteNames(t *testing.T) {
	o := newOutside(t)
	img := imageOf(t, []tar.Header{file(o.target+"/secret", "evil"), dir(o.top + "/evil/")})
	root := e2e.Must(unpack(t, img, rootfs.Options{Dir: o.store}))(t)
	if got, err := os.ReadFile(filepath.Join(root.Path, o.target, "secret")); string(got) != "evil" {
		t.Errorf("an absolute name is relative to the root: got %q, %v", got, err)
	}
	o.assertUntouched(t)
}

// TestHostileAbsoluteLink checks that a file is never written through a link.
func TestHostileAbsoluteLink(t *testing.T) {
	o := newOutside(t)
	secret := filepath.Join(o.target, "secret")
	img := imageOf(t,
		[]tar.Header{link("a", secret), link("b", secret), link("c", secret), link("d", o.target), link("e", up+"outside")},
		[]tar.Header{
			file("a", "evil"),
			{Typeflag: tar.TypeDir, Name: "b", Mode: 0o777},
			{Typeflag: tar.TypeSymlink, Name: "c", Linkname: secret, Mode: 0o777},
			whiteout(".wh.d"),
			{Typeflag: tar.TypeFifo, Name: "e"},
		})
	root := e2e.Must(unpack(t, img, rootfs.Options{Dir: o.store}))(t)
	e2e.Equal(t, "a layer replaces links, and does not follow them", []string{"a=evil", "b/", "c -> " + secret}, contentOf(t, root.Path))
	o.assertUntouched(t)
}

// TestHostileSymlinkedParent checks links in the path of an entry. An absolute
// link is relative to the root. Links to missing directories are not followed,
// and the directories are not created.
func TestHostileSymlinkedParent(t *testing.T) {
	host := newOutside(t)
	for _, target := range []string{host.target, "/etc", "../../..", up + "outside", "a/../../..", "loop"} {
		evil := [][]tar.Header{
			{file("p/evil", "x")},
			{dir("p/q/")},
			{link("p/evil", "x")},
			{dir("etc2/"), file("secret", "x"), hardLink("p/evil", "secret")},
			{hardLink("evil", "p/secret")},
			{link("second", "p"), file("second/evil", "x")},
		}
		for i, entries := range evil {
			t.Run(fmt.Sprint(filepath.Base(target), i), func(t *testing.T) {
				first := []tar.Header{link("p", target), link("loop", "p")}
				assertRefused(t, imageOf(t, append(first, entries...)), "unpacking", rootfs.Limits{})
				assertRefused(t, imageOf(t, first, entries), "unpacking", rootfs.Limits{})
			})
		}
	}
	host.assertUntouched(t)
}

// TestHostileWhiteout checks that a whiteout removes no file of the host.
func TestHostileWhiteout(t *testing.T) {
	for _, name := range []string{".wh...", ".wh..", ".wh.", "a/.wh..."} {
		assertRefused(t, imageOf(t, []tar.Header{dir("a/"), whiteout(name)}), "the whiteout names no file", rootfs.Limits{})
	}
	assertRefused(t, imageOf(t, []tar.Header{link("p", up+"outside"), whiteout("p/.wh..wh..opq")}), "the path is outside of the root file system", rootfs.Limits{})
	o := newOutside(t)
	img := imageOf(t, []tar.Header{link("p", o.target)}, []tar.Header{whiteout("p/.wh.secret"), whiteout("p/.wh..wh..opq")})
	e2e.NoError(t, e2e.Err(unpack(t, img, rootfs.Options{Dir: o.store})))
	o.assertUntouched(t)
}

func TestHostileHardLinkToOutside(t *testing.T) {
	o := newOutside(t)
	for target, want := range map[string]string{
		up + "outside/secret": fmt.Sprintf("linking to %q: the path is outside of the root file system", up+"outside/secret"),
		o.target + "/secret":  "the image has no such file", // an absolute target is relative to the root
		"..":                  `linking to "..": the path is outside of the root file system`,
		".":                   "the image has no such file",
		"a":                   "the image has no such file", // a hard link to a directory
	} {
		img := imageOf(t, []tar.Header{dir("a/"), dir(o.target + "/"), hardLink("evil", target)})
		assertRefused(t, img, want, rootfs.Limits{})
	}
	o.assertUntouched(t)
}

func TestHostileHardLinkToSymlink(t *testing.T) {
	o := newOutside(t)
	secret := filepath.Join(o.target, "secret")
	img := imageOf(t,
		[]tar.Header{link("l", secret), hardLink("h", "l")},
		[]tar.Header{file("h", "evil")},
		[]tar.Header{hardLink("again", "l")})
	root := e2e.Must(unpack(t, img, rootfs.Options{Dir: o.store}))(t)
	e2e.Equal(t, "a hard link to a symbolic link is replaced like one", []string{"again -> " + secret, "h=evil", "l -> " + secret}, contentOf(t, root.Path))
	o.assertUntouched(t)
}

func TestHostileSparse10GB(t *testing.T) {
	assertRefused(t, imageOfLayers(t, sparse(t, 10_000_000_000)), "more than 8589934592 bytes", rootfs.Limits{})
}

// TestHostileSparseStaysSparse checks that a sparse file below the limit keeps its holes.
func TestHostileSparseStaysSparse(t *testing.T) {
	if testing.Short() {
		t.Skip("it unpacks a GiB")
	}
	const size = 1 << 30
	root := mustUnpack(t, imageOfLayers(t, sparse(t, size)), false)
	info, sys := statOf(t, filepath.Join(root, "big"))
	if taken := sys.Blocks * 512; info.Size() != size || taken > 1<<20 {
		t.Errorf("got a file of %d bytes that uses %d on disk", info.Size(), taken)
	}
	f := e2e.Must(os.Open(filepath.Join(root, "big")))(t)
	defer f.Close()
	end := make([]byte, 2)
	if _, err := f.ReadAt(end, size-2); err != nil || string(end) != "\x00x" {
		t.Errorf("at the end: got %q, %v", end, err)
	}
}

// TestHostileSparseTogether checks that the limit of bytes applies to the sum of all files.
func TestHostileSparseTogether(t *testing.T) {
	img := imageOfLayers(t, sparse(t, 600_000_000), sparse(t, 600_000_000))
	assertRefused(t, img, "layer 2: unpacking \"big\": the files of this layer and the layers below it have more than 1000000000 bytes",
		rootfs.Limits{Bytes: 1_000_000_000})
}

// manyEntries is more than the default limit of entries.
const manyEntries = 300_000

func TestHostileManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads hundreds of thousands of headers")
	}
	img := imageOfLayers(t, madeLayer{layerOf(t, nil, nil), func(w io.Writer) error {
		files := tar.NewWriter(w)
		for i := range manyEntries {
			if err := files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("%03d/%d", i%1000, i)}); err != nil {
				return err
			}
		}
		return files.Close()
	}})
	assertRefused(t, img, "more than 5000 entries", rootfs.Limits{Entries: 5000})
	assertRefused(t, sameEntries(t), "more than 262144 entries", rootfs.Limits{})
}

// sameEntries returns an image with manyEntries entries that create no files.
func sameEntries(t testing.TB) v1.Image {
	return imageOfLayers(t, madeLayer{layerOf(t, nil, nil), func(w io.Writer) error {
		files := tar.NewWriter(w)
		for range manyEntries {
			if err := files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: ".wh.a"}); err != nil {
				return err
			}
		}
		return files.Close()
	}})
}

// TestHostileImpliedDirectories checks that the limit of entries includes directories that
// have no entry in a layer.
func TestHostileImpliedDirectories(t *testing.T) {
	var all []tar.Header
	for i := range 10 {
		all = append(all, file(fmt.Sprintf("%d/%sf", i, strings.Repeat("d/", 20)), ""))
	}
	assertRefused(t, imageOf(t, all), "more than 100 entries", rootfs.Limits{Entries: 100})
}

func TestHostileDepth(t *testing.T) {
	deep := strings.Repeat("d/", 65)
	assertRefused(t, imageOf(t, []tar.Header{file(deep+"f", "")}), "more than 64 directories", rootfs.Limits{})
	byLinks := []tar.Header{file(strings.Repeat("d/", 40)+"f", ""), link("l", strings.Repeat("d/", 40)), file("l/"+strings.Repeat("e/", 40)+"f", "")}
	assertRefused(t, imageOf(t, byLinks), "more than 64 directories", rootfs.Limits{})
}

func TestHostileLongNames(t *testing.T) {
	long := strings.Repeat("abcdefg/", 600)
	assertRefused(t, imageOf(t, []tar.Header{dir(long)}), "an entry has a path of 4800 bytes, more than the limit of 4096", rootfs.Limits{})
	assertRefused(t, imageOf(t, []tar.Header{link("a", long)}), "more than the limit of 4096", rootfs.Limits{})
	assertRefused(t, imageOf(t, []tar.Header{file(strings.Repeat("x", 300), "")}), "file name too long", rootfs.Limits{})
}

// TestHostileManyWhiteouts checks that many whiteouts of a full directory take
// no longer than one.
func TestHostileManyWhiteouts(t *testing.T) {
	var all []tar.Header
	for i := range 500 {
		all = append(all, file(fmt.Sprint("d/", i), ""))
	}
	for range 5000 {
		all = append(all, whiteout("d/.wh..wh..opq"), whiteout(".wh.d"))
	}
	e2e.Equal(t, "each file and directory of the image is unpacked", 501, len(contentOf(t, mustUnpack(t, imageOf(t, all), false))))
}

func TestHostileManyLinks(t *testing.T) {
	all := []tar.Header{dir("d/"), link("0", "d")}
	for i := range 200 {
		all = append(all, link(fmt.Sprint(i+1), fmt.Sprint("./", i)))
	}
	assertRefused(t, imageOf(t, append(all, file("200/f", ""))), "too many symbolic links in the path", rootfs.Limits{})
	zigzag := []tar.Header{dir("d/"), link("l", strings.Repeat("d/../", 200)), file("l/f", "")}
	assertRefused(t, imageOf(t, zigzag), "too many symbolic links in the path", rootfs.Limits{})
}

func TestHostileRoot(t *testing.T) {
	for _, kind := range []byte{tar.TypeReg, tar.TypeSymlink, tar.TypeFifo} {
		assertRefused(t, imageOf(t, []tar.Header{{Typeflag: kind, Name: ".", Linkname: "x"}}), "the root must be a directory", rootfs.Limits{})
	}
}

func TestHostileType(t *testing.T) {
	assertRefused(t, imageOf(t, []tar.Header{{Typeflag: '7', Name: "a"}}), `unknown entry type '7'`, rootfs.Limits{})
}

// TestHostileBadDigest checks a layer that does not match its digest, and a layer whose
// content does not match the config. Both are detected only at the end of the layer.
func TestHostileBadDigest(t *testing.T) {
	good, bad := pack(t, file("a", "good")), pack(t, file("a", "evil"))
	l := e2e.Must(oci.Layer(bytes.NewReader(bad), oci.Blob{Digest: digestOf(t, good), Size: int64(len(good)), MediaType: types.OCILayer}))(t)
	img := imageOfLayers(t, honest{l, digestOf(t, good)})
	assertRefused(t, img, "has other content than its digest says", rootfs.Limits{})

	img = imageOfLayers(t, layerOf(t, good, zip(t, bad)))
	assertRefused(t, img, "the content of the layer does not match the image's config: got sha256:"+digestOf(t, bad).Hex, rootfs.Limits{})

	img = imageOfLayers(t, layerOf(t, good, append(slices.Clone(good), make([]byte, 512)...)))
	assertRefused(t, img, "the content of the layer does not match the image's config", rootfs.Limits{}) // bytes after the last entry of the tar
}

func TestHostileConfig(t *testing.T) {
	img := imageOf(t, []tar.Header{file("a", "x")})
	config := e2e.Must(img.ConfigFile())(t)
	config = config.DeepCopy()
	config.RootFS.DiffIDs = nil
	img = e2e.Must(mutate.ConfigFile(img, config))(t)
	assertRefused(t, img, "the image has 1 layers, but the config lists 0", rootfs.Limits{})
}

func TestHostileTruncatedLayer(t *testing.T) {
	plain := pack(t, file("a", strings.Repeat("x", 5000)), file("b", "y"))
	stored := zip(t, plain)
	for name, l := range map[string]v1.Layer{
		"Gzip":    layerOf(t, plain, stored[:len(stored)-20]),
		"Content": layerOf(t, plain, plain[:4000]),
		"Entry":   layerOf(t, plain, plain[:512+5120]),
		"Header":  layerOf(t, plain, plain[:512+5120+100]),
		"Nothing": layerOf(t, plain, nil),
	} {
		t.Run(name, func(t *testing.T) { assertRefused(t, imageOfLayers(t, l), "layer 1: ", rootfs.Limits{}) })
	}
}

// TestHostileGzipBomb checks small layers that decompress to more than the
// limit: in one file, in many files, and after the last file.
func TestHostileGzipBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("it unpacks many megabytes")
	}
	const limit = 1 << 20
	zeros := make([]byte, 8<<20)
	big := pack(t, file("big", string(zeros)))
	var many []tar.Header
	for i := range 64 {
		many = append(many, file(fmt.Sprint(i), string(zeros[:1<<17])))
	}
	for name, plain := range map[string][]byte{
		"File": big, "Files": pack(t, many...), "Behind": append(pack(t), zeros...), "NoTar": zeros,
	} {
		t.Run(name, func(t *testing.T) {
			stored := zip(t, plain)
			if len(stored) > 1<<17 {
				t.Fatalf("the layer is too large for a bomb: %d bytes", len(stored))
			}
			assertRefused(t, imageOfLayers(t, layerOf(t, plain, stored)), "more than 1048576 bytes", rootfs.Limits{Bytes: limit})
		})
	}
}

// TestHostileSize checks that a layer is not read beyond the limit, whatever
// sizes its headers state: here a file of 8 EiB.
func TestHostileSize(t *testing.T) {
	buf := &bytes.Buffer{}
	e2e.NoError(t, tar.NewWriter(buf).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: math.MaxInt64 - 1024}))
	assertRefused(t, imageOfLayers(t, layerOf(t, nil, buf.Bytes())), "more than 8589934592 bytes", rootfs.Limits{})
}
