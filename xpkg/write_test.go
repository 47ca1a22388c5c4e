package xpkg_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

// If childEnv is set, the test binary is a process that writes a package to
// that path and blocks in the middle.
const childEnv = "XPKG_TEST_WRITE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		writeForEver(path)
	}
	os.Exit(m.Run())
}

// writeForEver writes a package whose last layer never ends. It prints a line
// when the layer begins.
func writeForEver(path string) {
	img, err := imageOf(stuck{}, v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}, 1<<30)
	if err == nil {
		err = xpkg.WriteFile(context.Background(), path, img, nil)
	}
	fmt.Println(err)
	os.Exit(1)
}

// imageOf returns an image with one uncompressed layer.
func imageOf(r io.ReaderAt, digest v1.Hash, size int64) (v1.Image, error) {
	return annotated(r, v1.Descriptor{MediaType: types.OCIUncompressedLayer, Size: size, Digest: digest})
}

// annotated returns an image of the layer that desc describes.
func annotated(r io.ReaderAt, desc v1.Descriptor) (v1.Image, error) {
	layer, err := oci.Layer(r, oci.Blob{Digest: desc.Digest, Size: desc.Size})
	if err != nil {
		return nil, err
	}
	return oci.Assemble([]byte(`{}`), []v1.Descriptor{desc}, layer)
}

// stuck returns 1 MiB of zeros, prints a line, and then waits for its parent.
type stuck struct{}

func (stuck) ReadAt(p []byte, off int64) (int, error) {
	if off < 1<<20 {
		clear(p)
		return len(p), nil
	}
	fmt.Println("writing")
	_, err := io.Copy(io.Discard, os.Stdin)
	return 0, err
}

// If the process is killed during a write, the old file remains.
func TestKilledWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.xpkg")
	old := []byte("the old file")
	e2e.NoError(t, os.WriteFile(path, old, 0o644))
	child, line := e2e.Start(t, childEnv+"="+path)
	e2e.Equal(t, "the child stops in the middle of the write", "writing", line)
	child.Kill(t)
	e2e.Equal(t, "a killed write keeps the old file", old, []byte(e2e.ReadFile(t, path)))
}

// A write that fails leaves only the old file.
func TestFailedWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.xpkg")
	e2e.WriteFile(t, path, "old")
	ctx, cancel := context.WithCancel(t.Context())
	// The user presses Ctrl-C after the first bytes are written.
	e2e.ErrorIs(t, "canceling a write is an error", xpkg.WriteFile(ctx, path, build(t, aPackage("Function", "fn"), "linux/amd64"), func(string, int64, int64) { cancel() }), context.Canceled)
	e2e.Equal(t, "a canceled write keeps the old file", "old", e2e.ReadFile(t, path))
	e2e.Equal(t, "the directory has only the old file", []string{filepath.Base(path)}, e2e.Names(t, dir))
}

// A package may replace the file that contains its layers.
func TestWriteOverItsSource(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot replace an open file")
	}
	path := writeFile(t, build(t, aPackage("Function", "fn"), "linux/amd64", "linux/arm64"))
	want := []byte(e2e.ReadFile(t, path))
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, e2e.Open(xpkg.Open(t.Context(), path))(t).Artifact, nil))
	e2e.Equal(t, "writing a file over its source keeps its bytes", want, []byte(e2e.ReadFile(t, path)))
}

func TestWriteFileMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such file modes")
	}
	info, err := os.Stat(writeFile(t, build(t, aPackage("Function", "fn"))))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("got mode %v, %v, want 0644", info.Mode(), err)
	}
}

func TestWriteFileNamesThePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone", "a.xpkg")
	err := xpkg.WriteFile(t.Context(), path, build(t, aPackage("Function", "fn")), nil)
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte(path)) {
		t.Errorf("got %v, want an error that names %q", err, path)
	}
}

// The size of each read is bounded, so memory does not grow with the layers.
func TestWriteStreams(t *testing.T) {
	const size = 64 << 20
	digest, _, err := v1.SHA256(io.LimitReader(zeros{}, size))
	e2e.NoError(t, err)
	info, err := os.Stat(writeFile(t, e2e.Must(imageOf(&bounded{t: t, most: 1 << 20}, digest, size))(t)))
	if err != nil || info.Size() < size {
		t.Errorf("got %v bytes, %v", info.Size(), err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// bounded returns zeros and fails the test if a read is too large.
type bounded struct {
	t    *testing.T
	most int
}

func (b *bounded) ReadAt(p []byte, _ int64) (int, error) {
	if len(p) > b.most {
		b.t.Errorf("one read is of %d bytes", len(p))
	}
	clear(p)
	return len(p), nil
}
