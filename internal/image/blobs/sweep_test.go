package blobs_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/blobs"
)

// If this environment variable is set, the test binary is a child process. The child holds
// the name "a", and fetches a blob whose stream stalls in the middle, until the child is
// killed.
const childEnv = "BLOBS_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

func child(dir string) int {
	ctx := context.Background()
	d, err := blobs.Open(dir)
	if err != nil {
		return 1
	}
	if _, err := d.Hold(ctx, "a"); err != nil {
		return 1
	}
	half := len(content) / 2
	sum, size, _ := v1.SHA256(bufio.NewReader(&source{data: content}))
	_ = d.Fetch(ctx, v1.Descriptor{Digest: sum, Size: size}, func(context.Context, int64) io.ReadCloser {
		return io.NopCloser(io.MultiReader(&source{data: content[:half]}, stall{}))
	}, func(int64) {})
	return 0
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
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(e2e.Context(t), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	_, err = cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, len("half\n")))
	must(t, err)
	return func() {
		must(t, cmd.Process.Kill())
		_ = e2e.Await(t, cmd.Wait) // The process was killed, so Wait returns an error.
	}
}

func held(t *testing.T, d *blobs.Dir) map[string]bool {
	t.Helper()
	use, err := d.Seize(t.Context())
	must(t, err)
	defer func() { must(t, use.Close()) }()
	names, err := d.Held()
	must(t, err)
	return names
}

func sweep(t *testing.T, d *blobs.Dir, keep map[v1.Hash]bool, dry bool) blobs.Usage {
	t.Helper()
	use, err := d.Seize(t.Context())
	must(t, err)
	defer func() { must(t, use.Close()) }()
	u, err := d.Sweep(keep, dry)
	must(t, err)
	return u
}

// The partial file of a killed process is resumed. Other processes keep the
// files of a running process.
func TestKilled(t *testing.T) {
	dir, desc := t.TempDir(), describe(t, content)
	d := open(t, dir)
	kill := half(t, dir)
	if u := sweep(t, d, nil, false); u != (blobs.Usage{}) {
		t.Errorf("files of a running process were removed: %+v", u)
	}
	if got := held(t, d); !got["a"] {
		t.Errorf("the name that a running process holds is free: %v", got)
	}
	kill()
	if d.Has(desc.Digest, desc.Size) {
		t.Error("an incomplete blob exists")
	}
	if got := held(t, d); len(got) != 0 {
		t.Errorf("a killed process holds %v", got)
	}
	s := source{data: content}
	must(t, d.Fetch(t.Context(), desc, s.open, func(int64) {}))
	if diff := cmp.Diff([]int64{int64(len(content) / 2)}, s.asked); diff != "" {
		t.Errorf("the fetch was not resumed (-want +got):\n%s", diff)
	}
}

// Concurrent processes that fetch one blob neither wait for nor affect each other.
func TestFetchBesideAnother(t *testing.T) {
	dir, desc := t.TempDir(), describe(t, content)
	d := open(t, dir)
	kill := half(t, dir)
	s := source{data: content}
	must(t, d.Fetch(t.Context(), desc, s.open, func(int64) {}))
	if diff := cmp.Diff([]int64{0}, s.asked); diff != "" {
		t.Errorf("the fetch used the file of a running process (-want +got):\n%s", diff)
	}
	kill()
	if u := sweep(t, d, map[v1.Hash]bool{desc.Digest: true}, false); u.Leftovers != 1 || u.Blobs != 0 {
		t.Errorf("got %+v, want the partial file of the killed process", u)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	kept, gone := put(t, d, []byte("kept")), put(t, d, []byte("gone"))
	sums := filepath.Join(dir, "blobs", "sha256")
	must(t, os.WriteFile(filepath.Join(sums, ".xfn-"+strings.Repeat("a", 26)+".tmp"), []byte("half"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "partial", gone.Digest.Hex+".1"), []byte("half"), 0o600))
	for _, mine := range []string{filepath.Join(sums, "notes.txt"), filepath.Join(dir, "partial", "notes.txt"), filepath.Join(dir, "notes.txt")} {
		must(t, os.WriteFile(mine, []byte("of the user"), 0o600))
	}
	want := blobs.Usage{Blobs: 1, Bytes: 4, Leftovers: 2, LeftoverBytes: 8}
	keep := map[v1.Hash]bool{kept.Digest: true}
	for _, dry := range []bool{true, false} {
		if diff := cmp.Diff(want, sweep(t, d, keep, dry)); diff != "" {
			t.Errorf("dry %v (-want +got):\n%s", dry, diff)
		}
	}
	if got := sweep(t, d, keep, false); got != (blobs.Usage{}) {
		t.Errorf("a second Sweep removed %+v", got)
	}
	if !d.Has(kept.Digest, kept.Size) || d.Has(gone.Digest, gone.Size) {
		t.Error("Sweep removed a blob in keep, or kept another")
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*", "notes.txt"))
	must(t, err)
	if len(left) != 1 {
		t.Errorf("Sweep removed a file of the user: %v", left)
	}
}

// Share and Seize wait for each other until they are canceled.
func TestLocks(t *testing.T) {
	d := open(t, t.TempDir())
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	first, err := d.Share(t.Context())
	must(t, err)
	second, err := d.Share(t.Context())
	must(t, err)
	if _, err := d.Seize(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Seize of a shared directory: got %v", err)
	}
	must(t, errors.Join(first.Close(), second.Close()))
	all, err := d.Seize(t.Context())
	must(t, err)
	if _, err := d.Share(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Share of a seized directory: got %v", err)
	}
	released := make(chan error, 1)
	go func() { released <- d.Put(t.Context(), describe(t, content).Digest, content) }()
	must(t, all.Close())
	must(t, e2e.Receive(t, released))
}
