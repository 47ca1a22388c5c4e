package imagefile_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/xfn-dev/xfn/internal/runtimes/process/imagefile"
)

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Linkname: content}
}

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

func hardLink(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target}
}

func dir(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }

func whiteout(name string) tar.Header { return file(name, "") }

// pack makes a tar. The content of a regular file is in its Linkname.
func pack(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	buf := &bytes.Buffer{}
	w := tar.NewWriter(buf)
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content, h.Linkname = h.Linkname, ""
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// imageOf makes an image of layers, bottom first, as they are stored.
func imageOf(t testing.TB, layers ...[]byte) v1.Image {
	t.Helper()
	img := empty.Image
	for _, l := range layers {
		var err error
		if img, err = mutate.AppendLayers(img, static.NewLayer(l, types.OCILayer)); err != nil {
			t.Fatal(err)
		}
	}
	return img
}

type layers = [][]tar.Header

func TestExtract(t *testing.T) {
	cases := map[string]struct {
		reason string
		layers layers
		path   string
		want   string // content
		err    string
	}{
		"Plain":         {reason: "a file in the only layer", layers: layers{{dir("app/"), file("app/fn", "a")}}, path: "/app/fn", want: "a"},
		"DotSlash":      {reason: "names may begin with ./", layers: layers{{file("./fn", "a")}}, path: "/fn", want: "a"},
		"TopWins":       {reason: "an upper layer replaces the file", layers: layers{{file("fn", "old")}, {file("fn", "new")}, {file("other", "x")}}, path: "/fn", want: "new"},
		"Missing":       {reason: "no such file", layers: layers{{file("other", "x")}}, path: "/fn", err: `the image has no file "/fn"`},
		"NoLayers":      {reason: "an image may be empty", path: "/fn", err: `the image has no file "/fn"`},
		"Whiteout":      {reason: "a whiteout hides the file below", layers: layers{{file("fn", "x")}, {whiteout(".wh.fn")}}, path: "/fn", err: "no file"},
		"WhiteoutDir":   {reason: "a whiteout of a parent hides the file below", layers: layers{{file("app/v1/fn", "x")}, {whiteout(".wh.app")}}, path: "/app/v1/fn", err: "no file"},
		"WhiteoutOther": {reason: "a whiteout of a name that begins alike hides nothing", layers: layers{{file("app/fn", "x")}, {whiteout("app/.wh.f"), whiteout(".wh.ap")}}, path: "/app/fn", want: "x"},
		"WhiteoutSame":  {reason: "a whiteout does not hide its own layer", layers: layers{{file("fn", "old")}, {whiteout(".wh.fn"), file("fn", "new")}}, path: "/fn", want: "new"},
		"Opaque":        {reason: "an opaque directory hides what is below", layers: layers{{file("app/fn", "x")}, {whiteout("app/.wh..wh..opq")}}, path: "/app/fn", err: "no file"},
		"OpaqueRoot":    {reason: "the root may be opaque", layers: layers{{file("app/fn", "x")}, {whiteout(".wh..wh..opq")}}, path: "/app/fn", err: "no file"},
		"OpaqueBeside":  {reason: "another opaque directory hides nothing", layers: layers{{file("app/fn", "x")}, {whiteout("app2/.wh..wh..opq"), whiteout("app/fn2/.wh..wh..opq")}}, path: "/app/fn", want: "x"},
		"Symlink":       {reason: "a link beside the file", layers: layers{{file("app/real", "x"), link("app/fn", "real")}}, path: "/app/fn", want: "x"},
		"SymlinkAbs":    {reason: "an absolute link is of the image", layers: layers{{file("bin/real", "x")}, {link("app/fn", "/bin/real")}}, path: "/app/fn", want: "x"},
		"SymlinkUp":     {reason: "a link to an upper layer", layers: layers{{link("fn", "real")}, {file("real", "x")}}, path: "/fn", want: "x"},
		"SymlinkOut":    {reason: "a link never leads out of the image", layers: layers{{link("app/fn", "../../../../etc/passwd")}}, path: "/app/fn", err: `no file "/etc/passwd"`},
		"SymlinkRootUp": {reason: ".. at the root is the root", layers: layers{{link("app/fn", "../../../real"), file("real", "x")}}, path: "/app/fn", want: "x"},
		"Parent":        {reason: "a parent may be a link", layers: layers{{link("bin", "usr/bin"), file("usr/bin/fn", "x")}}, path: "/bin/fn", want: "x"},
		"ParentAbs":     {reason: "a parent may be an absolute link", layers: layers{{link("a/b", "/usr/bin"), file("usr/bin/c/fn", "x")}}, path: "/a/b/c/fn", want: "x"},
		"ParentHidden":  {reason: "a directory above takes the place of a link", layers: layers{{link("bin", "usr/bin"), file("usr/bin/fn", "x")}, {dir("bin/")}}, path: "/bin/fn", err: "no file"},
		"ParentMerged":  {reason: "a directory above leaves a directory below", layers: layers{{dir("bin/"), file("bin/fn", "x")}, {dir("bin/"), file("bin/other", "y")}}, path: "/bin/fn", want: "x"},
		"ParentFile":    {reason: "a file in the place of a parent hides what is below", layers: layers{{file("bin/fn", "x")}, {file("bin", "y")}}, path: "/bin/fn", err: "no file"},
		"HardLink":      {reason: "a hard link is of its own layer", layers: layers{{file("real", "x"), hardLink("fn", "real")}, {file("real", "y")}}, path: "/fn", want: "x"},
		"HardLinkFirst": {reason: "a hard link may lead to a lower layer", layers: layers{{file("real", "x")}, {hardLink("fn", "/real")}}, path: "/fn", want: "x"},
		"Twice":         {reason: "the first of two entries counts, so that the rest need not be read", layers: layers{{file("fn", "first"), file("fn", "second")}}, path: "/fn", want: "first"},
		"Escaping":      {reason: "an entry that points out of the root is in the root", layers: layers{{file("../../fn", "x")}}, path: "/fn", want: "x"},
		"DotDot":        {reason: "so is a path that is asked for", layers: layers{{file("fn", "x")}}, path: "/a/../../fn", want: "x"},
		"LinkBelow":     {reason: "a link in a lower layer counts if nothing above does", layers: layers{{link("fn", "real")}, {file("other", "x")}, {file("real", "y")}}, path: "/fn", want: "y"},
		"LinkReplaced":  {reason: "a file above takes the place of a link", layers: layers{{link("fn", "real"), file("real", "x")}, {file("fn", "y")}}, path: "/fn", want: "y"},
		"LinkWhiteout":  {reason: "where a link leads may be gone", layers: layers{{link("fn", "real"), file("real", "x")}, {whiteout(".wh.real")}}, path: "/fn", err: `no file "/real"`},
		"LinkChain":     {reason: "links lead to links", layers: layers{{link("a", "b"), link("b", "d/c"), link("d", "e"), link("e/c", "../f"), file("f", "x")}}, path: "/a", want: "x"},
		"LinkIsParent":  {reason: "a link to the root is a parent like others", layers: layers{{link("root", "/"), file("fn", "x")}}, path: "/root/root/fn", want: "x"},
		"LongName":      {reason: "names may be longer than a tar header's field", layers: layers{{file(strings.Repeat("long/", 60)+"fn", "x")}}, path: "/" + strings.Repeat("long/", 60) + "fn", want: "x"},
		"Root":          {reason: "the root is no program", layers: layers{{dir("./")}}, path: "/", err: `"/" is not a regular file`},
		"Loop":          {reason: "links may go in circles", layers: layers{{link("a", "b"), link("b", "a")}}, path: "/a", err: "too many links"},
		"LoopParent":    {reason: "links may grow", layers: layers{{link("a", "a/a")}}, path: "/a/fn", err: "too many links"},
		"Dir":           {reason: "a directory is no program", layers: layers{{dir("fn/")}}, path: "/fn", err: `"/fn" is not a regular file`},
		"Fifo":          {reason: "a pipe is no program", layers: layers{{{Typeflag: tar.TypeFifo, Name: "fn", Mode: 0o755}}}, path: "/fn", err: `"/fn" is not a regular file`},
		"Mode":          {reason: "a file that is not executable is no program", layers: layers{{{Typeflag: tar.TypeReg, Name: "fn", Mode: 0o644}}}, path: "/fn", err: `"/fn" is not executable`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stored [][]byte
			for _, entries := range tc.layers {
				stored = append(stored, pack(t, entries...))
			}
			dst := filepath.Join(t.TempDir(), "out")
			err := imagefile.Extract(t.Context(), imageOf(t, stored...), tc.path, dst)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: got %v, want %s", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			got, err := os.ReadFile(dst)
			if err != nil || string(got) != tc.want {
				t.Errorf("%s: got %q, %v, want %q", tc.reason, got, err, tc.want)
			}
			if info, err := os.Stat(dst); err != nil || info.Mode() != 0o700 {
				t.Errorf("mode: got %v, %v", info.Mode(), err)
			}
		})
	}
}

func compressed(t testing.TB, plain []byte, how string) []byte {
	t.Helper()
	buf := &bytes.Buffer{}
	switch how {
	case "gzip":
		w := gzip.NewWriter(buf)
		_, _ = w.Write(plain)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	case "zstd":
		w, err := zstd.NewWriter(buf)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(plain)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	default:
		buf.Write(plain)
	}
	return buf.Bytes()
}

func TestExtractOfEveryCompression(t *testing.T) {
	for _, how := range []string{"none", "gzip", "zstd"} {
		t.Run(how, func(t *testing.T) {
			dst := filepath.Join(t.TempDir(), "out")
			layer := compressed(t, pack(t, file("fn", "content")), how)
			if err := imagefile.Extract(t.Context(), imageOf(t, layer), "/fn", dst); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(dst); err != nil || string(got) != "content" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestLowerLayersAreNotRead(t *testing.T) {
	top := static.NewLayer(pack(t, file("fn", "x")), types.OCILayer)
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer([]byte("no tar"), types.OCILayer), top)
	if err != nil {
		t.Fatal(err)
	}
	if err := imagefile.Extract(t.Context(), img, "/fn", filepath.Join(t.TempDir(), "out")); err != nil {
		t.Error(err)
	}
	err = imagefile.Extract(t.Context(), img, "/other", filepath.Join(t.TempDir(), "out"))
	if err == nil || !strings.Contains(err.Error(), "reading layer 1 of the image") {
		t.Errorf("got %v, want an error that names the layer", err)
	}
}

func TestExtractDoesNotOverwrite(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(dst, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := imagefile.Extract(t.Context(), imageOf(t, pack(t, file("fn", "x"))), "/fn", dst)
	if !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v, want that the file exists", err)
	}
}

func TestLimits(t *testing.T) {
	huge := pack(t, tar.Header{Typeflag: tar.TypeFifo, Name: "x"})
	buf := &bytes.Buffer{}
	if err := tar.NewWriter(buf).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "fn", Mode: 0o755, Size: 2 << 30}); err != nil {
		t.Fatal(err)
	}
	huge = append(buf.Bytes(), huge...)
	err := imagefile.Extract(t.Context(), imageOf(t, huge), "/fn", filepath.Join(t.TempDir(), "out"))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is of %d bytes, more than the limit of %d", int64(2<<30), int64(imagefile.MaxSize))) {
		t.Errorf("got %v, want the limit", err)
	}
}

// bomb is a zstd layer of zeros, four bytes for each 128 KiB (RFC 8878).
func bomb(t *testing.T, entry string, size int64) []byte {
	t.Helper()
	buf := &bytes.Buffer{}
	if err := tar.NewWriter(buf).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: entry, Mode: 0o755, Size: size}); err != nil {
		t.Fatal(err)
	}
	layer := append(compressed(t, buf.Bytes(), "zstd"), 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38) // a window of 128 KiB
	for range size >> 17 {
		layer = append(layer, 0x02, 0x00, 0x10, 0x00) // not last, RLE, 1<<17 times, a zero
	}
	return append(layer, 0x01, 0x00, 0x00) // last, raw, empty
}

func TestBomb(t *testing.T) {
	img := imageOf(t, bomb(t, "filler", 16<<30))
	err := imagefile.Extract(t.Context(), img, "/fn", filepath.Join(t.TempDir(), "out"))
	if want := "reading layer 1 of the image: it and those above it have more than 8589934592 bytes"; err == nil || err.Error() != want {
		t.Errorf("a small layer that unpacks to 16 GiB: got %v, want %s", err, want)
	}

	dst := filepath.Join(t.TempDir(), "out")
	if err := imagefile.Extract(t.Context(), imageOf(t, bomb(t, "fn", 4<<20)), "/fn", dst); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dst); err != nil || info.Size() != 4<<20 {
		t.Errorf("a small bomb is a file like others: got %v, %v", info, err)
	}
}

func TestTruncated(t *testing.T) {
	whole := compressed(t, pack(t, file("fn", strings.Repeat("x", 5000))), "gzip")
	err := imagefile.Extract(t.Context(), imageOf(t, whole[:len(whole)-20]), "/fn", filepath.Join(t.TempDir(), "out"))
	if err == nil {
		t.Error("a truncated layer gave a file")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := imagefile.Extract(ctx, imageOf(t, pack(t, file("fn", "x"))), "/fn", filepath.Join(t.TempDir(), "out"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a cancellation", err)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(pack(f, dir("app/"), file("app/fn", "x"), link("fn", "app/fn")), "/fn")
	f.Add(pack(f, whiteout(".wh.fn"), hardLink("fn", "../fn")), "/../fn")
	f.Add(compressed(f, pack(f, link("a", "a/a")), "gzip"), "/a/b")
	f.Add(compressed(f, pack(f, file("fn", "x")), "zstd"), "fn")
	f.Fuzz(func(t *testing.T, layer []byte, name string) {
		root := t.TempDir()
		dst := filepath.Join(root, "out")
		err := imagefile.Extract(t.Context(), imageOf(t, layer), name, dst)
		entries, readErr := os.ReadDir(root)
		if readErr != nil {
			t.Fatal(readErr)
		}
		for _, e := range entries {
			if e.Name() != "out" {
				t.Errorf("wrote %q", e.Name())
			}
		}
		if err == nil && len(entries) != 1 {
			t.Error("no error, and no file")
		}
	})
}
