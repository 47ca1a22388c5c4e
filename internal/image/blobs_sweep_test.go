package image_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
)

// blobChild holds the name "a" in dir, and fetches a blob whose stream stalls in the middle,
// until the process is killed.
func blobChild(dir string) error {
	ctx := context.Background()
	d, err := image.OpenBlobDir(dir)
	if err != nil {
		return err
	}
	use, err := d.Hold(ctx, "a")
	if err != nil {
		return err
	}
	defer use.Close() // A file that nothing refers to is closed by the garbage collector.
	half := len(content) / 2
	sum, size, _ := v1.SHA256(bufio.NewReader(&source{data: content}))
	return d.Fetch(ctx, v1.Descriptor{Digest: sum, Size: size}, func(context.Context, int64) io.ReadCloser {
		return io.NopCloser(io.MultiReader(&source{data: content[:half]}, stall{}))
	}, func(int64) {})
}

// Read makes a source an io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n, nil
}

// stall is a reader that prints a line at its first Read, and then blocks.
type stall struct{}

func (stall) Read([]byte) (int, error) {
	_, _ = os.Stdout.WriteString("half\n")
	return os.Stdin.Read(make([]byte, 1))
}

// half starts a child that has fetched half of a blob, and returns a function
// that kills it.
func half(t *testing.T, dir string) (kill func()) {
	t.Helper()
	c, _ := e2e.Start(t, childEnv+"=blob "+dir)
	return func() { c.Kill(t) }
}

func held(t *testing.T, d *image.BlobDir) map[string]bool {
	t.Helper()
	use := e2e.Must(d.Seize(t.Context()))(t)
	defer func() { e2e.NoError(t, use.Close()) }()
	return e2e.Must(d.Held())(t)
}

func sweep(t *testing.T, d *image.BlobDir, keep map[v1.Hash]bool, dry bool) image.Usage {
	t.Helper()
	use := e2e.Must(d.Seize(t.Context()))(t)
	defer func() { e2e.NoError(t, use.Close()) }()
	return e2e.Must(d.Sweep(keep, dry))(t)
}

// The partial file of a killed process is resumed. Other processes keep the
// files of a running process.
func TestSweepAfterKill(t *testing.T) {
	dir, desc := t.TempDir(), describe(t, content)
	d := openBlobDir(t, dir)
	kill := half(t, dir)
	e2e.Equal(t, "files of a running process that were removed", image.Usage{}, sweep(t, d, nil, false))
	if got := held(t, d); !got["a"] {
		t.Errorf("the name that a running process holds is free: %v", got)
	}
	kill()
	if d.Has(desc.Digest, desc.Size) {
		t.Error("an incomplete blob exists")
	}
	e2e.Equal(t, "a killed process holds no blob", 0, len(held(t, d)))
	s := source{data: content}
	e2e.NoError(t, d.Fetch(t.Context(), desc, s.open, func(int64) {}))
	e2e.Equal(t, "the fetch continues after the first half", []int64{int64(len(content) / 2)}, s.asked)
}

// Concurrent processes that fetch one blob neither wait for nor affect each other.
func TestFetchBesideAnother(t *testing.T) {
	dir, desc := t.TempDir(), describe(t, content)
	d := openBlobDir(t, dir)
	kill := half(t, dir)
	s := source{data: content}
	e2e.NoError(t, d.Fetch(t.Context(), desc, s.open, func(int64) {}))
	e2e.Equal(t, "the fetch used the file of a running process", []int64{0}, s.asked)
	kill()
	if u := sweep(t, d, map[v1.Hash]bool{desc.Digest: true}, false); u.Leftovers != 1 || u.Blobs != 0 {
		t.Errorf("got %+v, want the partial file of the killed process", u)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	d := openBlobDir(t, dir)
	kept, gone := put(t, d, []byte("kept")), put(t, d, []byte("gone"))
	sums := filepath.Join(dir, "blobs", "sha256")
	e2e.NoError(t, os.WriteFile(filepath.Join(sums, ".xfn-"+strings.Repeat("a", 26)+".tmp"), []byte("half"), 0o600))
	e2e.NoError(t, os.WriteFile(filepath.Join(dir, "partial", gone.Digest.Hex+".1"), []byte("half"), 0o600))
	for _, mine := range []string{filepath.Join(sums, "notes.txt"), filepath.Join(dir, "partial", "notes.txt"), filepath.Join(dir, "notes.txt")} {
		e2e.NoError(t, os.WriteFile(mine, []byte("of the user"), 0o600))
	}
	want := image.Usage{Blobs: 1, Bytes: 4, Leftovers: 2, LeftoverBytes: 8}
	keep := map[v1.Hash]bool{kept.Digest: true}
	for _, dry := range []bool{true, false} {
		e2e.Equal(t, fmt.Sprintf("unused blobs and partial files are counted (dry: %v)", dry), want, sweep(t, d, keep, dry))
	}
	e2e.Equal(t, "what a second Sweep removes", image.Usage{}, sweep(t, d, keep, false))
	if !d.Has(kept.Digest, kept.Size) || d.Has(gone.Digest, gone.Size) {
		t.Error("Sweep removed a blob in keep, or kept another")
	}
	left := e2e.Must(filepath.Glob(filepath.Join(dir, "*", "*", "notes.txt")))(t)
	e2e.Equal(t, "Sweep removed a file of the user", 1, len(left))
}

// Share and Seize wait for each other until they are canceled.
func TestBlobDirLocks(t *testing.T) {
	d := openBlobDir(t, t.TempDir())
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	first := e2e.Must(d.Share(t.Context()))(t)
	second := e2e.Must(d.Share(t.Context()))(t)
	e2e.ErrorIs(t, "Seize of a shared directory waits until its context ends", e2e.Err(d.Seize(cancelled)), context.Canceled)
	e2e.NoError(t, errors.Join(first.Close(), second.Close()))
	all := e2e.Must(d.Seize(t.Context()))(t)
	e2e.ErrorIs(t, "Share of a seized directory waits until its context ends", e2e.Err(d.Share(cancelled)), context.Canceled)
	released := make(chan error, 1)
	go func() { released <- d.Put(t.Context(), describe(t, content).Digest, content) }()
	e2e.NoError(t, all.Close())
	e2e.NoError(t, e2e.Receive(t, released))
}
