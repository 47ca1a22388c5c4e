package rootfs_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
)

// isStuck is the first argument of a child process that unpacks an image into the directory
// in its second argument. The child prints a line in the middle, and then blocks.
const isStuck = "rootfs-test-stuck"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == isStuck {
		unpackStuck(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func unpackStuck(dir string) {
	t := &testing.T{}
	plain := pack(t, stuckEntries()...)
	half := len(plain) / 2
	l := layerOf(t, plain, plain)
	img := imageOfLayers(t, stuck{l, plain[:half]})
	_, err := rootfs.Unpack(context.Background(), img, rootfs.Options{Dir: dir})
	fmt.Println("unpacked:", err)
}

// stuckEntries returns entries for a layer so large that its first half is
// written before its second half is read.
func stuckEntries() (all []tar.Header) {
	for i := range 100 {
		all = append(all, file(fmt.Sprintf("d/%d", i), strings.Repeat("content ", 10_000)))
	}
	return append(all, tar.Header{Typeflag: tar.TypeDir, Name: "locked/", Mode: 0o500})
}

// A stuck layer blocks in the middle.
type stuck struct {
	v1.Layer
	half []byte
}

func (s stuck) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(bytes.NewReader(s.half), forever{})), nil
}

// forever prints that it was reached, and blocks.
type forever struct{}

func (forever) Read([]byte) (int, error) {
	fmt.Println("half")
	_, err := io.Copy(io.Discard, os.Stdin)
	return 0, err
}

// unpack unpacks an image, and releases it at the end of the test.
func unpack(t testing.TB, img v1.Image, o rootfs.Options) (*rootfs.Root, error) {
	t.Helper()
	root, err := rootfs.Unpack(t.Context(), img, o)
	if err == nil {
		t.Cleanup(func() { _ = root.Close() })
	}
	return root, err
}

// mustUnpack unpacks an image into a new store.
func mustUnpack(t testing.TB, img v1.Image, shared bool) string {
	t.Helper()
	return e2e.Must(unpack(t, img, rootfs.Options{Dir: storeDir(t), Shared: shared}))(t).Path
}

// storeDir returns a directory for a store. It is removed at the end of the
// test, even if the modes of its files forbid that.
func storeDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	t.Cleanup(func() { _ = filepath.WalkDir(dir, unlock) })
	return dir
}

func unlock(path string, d fs.DirEntry, err error) error {
	if err == nil && d.IsDir() {
		return os.Chmod(path, 0o700)
	}
	return nil
}

// contentOf lists a directory: files with their content, links with an arrow
// and their target, directories with a slash.
func contentOf(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	e2e.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := strings.TrimPrefix(path, dir+"/")
		what, err := describe(path, d)
		all = append(all, name+what)
		return err
	}))
	slices.Sort(all)
	return all
}

func describe(path string, d fs.DirEntry) (string, error) {
	switch d.Type() {
	case fs.ModeDir:
		return "/", nil
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		return " -> " + target, err
	case 0:
		content, err := os.ReadFile(path)
		return "=" + string(content), err
	default:
		return " is " + d.Type().String(), nil
	}
}

// assertNoRoot fails the test if the store contains any part of a root.
func assertNoRoot(t testing.TB, store string) {
	t.Helper()
	if left := contentOf(t, store); !slices.Equal(left, []string{"roots/", "roots/sha256/"}) {
		t.Errorf("the store contains %d files and directories: %.10q", len(left), left)
	}
}

func statOf(t testing.TB, path string) (os.FileInfo, *syscall.Stat_t) {
	t.Helper()
	info := e2e.Must(os.Lstat(path))(t)
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no stat")
	}
	return info, sys
}
