package rootfs_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/oci"
)

// FuzzUnpack checks that no layer creates files outside of the root.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, dir("a/"), file("a/b", "x"), link("l", "../../../.."), file("l/x", "y")), pack(f, whiteout(".wh.a"), hardLink("h", "l")))
	f.Add(pack(f, link("p", "/"), file("p/f", "x"), device("d"), fifo("e")), pack(f, whiteout("p/.wh..wh..opq"), dir("p/"), file("../x", "")))
	f.Add(pack(f, file("a", "x"), hardLink("b", "a"), link("a", "b")), zip(f, pack(f, file("b/c", "x"), whiteout("b/.wh.c"), whiteout(".wh..."))))
	f.Add(pack(f, described()...), pack(f, file("locked/below/g", "x"), whiteout("locked/.wh.below")))
	f.Fuzz(func(t *testing.T, lower, upper []byte) {
		assertContained(t, imageOfLayers(t, layerOf(t, lower, lower), layerOf(t, plainOf(upper), upper)))
	})
}

// FuzzEntries checks that no entries create files outside of the root. Each line is one
// entry: its kind, its name, and the arguments of its kind. An empty line begins a layer.
func FuzzEntries(f *testing.F) {
	f.Add("2 l ../../../../..\n0 l/x y\n\n5 l\n0 l/x y\n0 .wh.l")
	f.Add("5 a\n0 a/b x\n1 h a/b\n2 a/l /a\n0 a/l/l/l/c z\n\n0 a/.wh..wh..opq\n0 a/l/d x\n3 h")
	f.Add("2 a b\n2 b a\n0 a/c x")
	f.Add("2 p /outside\n1 p/secret p\n0 p/.wh.secret")
	f.Fuzz(func(t *testing.T, script string) {
		all := layers{nil}
		for line := range strings.SplitSeq(script, "\n") {
			part := strings.SplitN(line, " ", 3)
			if len(part) != 3 || len(part[0]) != 1 {
				all = append(all, nil)
				continue
			}
			h := tar.Header{Typeflag: part[0][0], Name: part[1], Linkname: part[2], Mode: int64(len(line)) * 0o111}
			if tar.NewWriter(io.Discard).WriteHeader(&h) == nil {
				all[len(all)-1] = append(all[len(all)-1], h)
			}
		}
		assertContained(t, imageOf(t, all...))
	})
}

// assertContained unpacks an image. It fails the test if unpacking changes
// anything outside of the root, or leaves anything behind after an error.
func assertContained(t *testing.T, img v1.Image) {
	t.Helper()
	o := newOutside(t)
	root, err := rootfs.Unpack(t.Context(), img, rootfs.Options{Dir: o.store, Limits: rootfs.Limits{Bytes: 1 << 20, Entries: 1000}})
	o.assertUntouched(t)
	if err != nil {
		assertNoRoot(t, o.store)
		return
	}
	assertPlain(t, root.Path)
	e2e.NoError(t, root.Close())
}

// plainOf returns a layer decompressed, or unchanged if that fails.
func plainOf(stored []byte) []byte {
	left := int64(1 << 20)
	l, err := oci.Layer(bytes.NewReader(stored), oci.Blob{Digest: v1.Hash{Algorithm: "sha256"}, Size: int64(len(stored))})
	if err != nil {
		return stored
	}
	plain, err := oci.Plain(context.Background(), unverified{l, stored}, &left)
	if err != nil {
		return stored
	}
	defer plain.Close()
	data, err := io.ReadAll(plain)
	if err != nil {
		return stored
	}
	return data
}

type unverified struct {
	v1.Layer
	stored []byte
}

func (u unverified) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(u.stored)), nil
}

// assertPlain fails the test if a root contains dangerous files.
func assertPlain(t testing.TB, root string) {
	t.Helper()
	e2e.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if bad := os.ModeDevice | os.ModeNamedPipe | os.ModeSocket | os.ModeSetuid | os.ModeSetgid; err == nil && info.Mode()&bad != 0 {
			t.Errorf("%q has mode %v", path, info.Mode())
		}
		return err
	}))
}
