package rootfs_test

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
)

// A counted layer counts how often it is read.
type counted struct {
	v1.Layer
	reads *atomic.Int32
}

func (c counted) Compressed() (io.ReadCloser, error) {
	c.reads.Add(1)
	return c.Layer.Compressed()
}

func countedImage(t testing.TB, entries ...tar.Header) (v1.Image, *atomic.Int32) {
	t.Helper()
	reads := &atomic.Int32{}
	plain := pack(t, entries...)
	return imageOfLayers(t, counted{layerOf(t, plain, plain), reads}), reads
}

func TestUnpackedOnce(t *testing.T) {
	img, reads := countedImage(t, file("a", "x"))
	o := rootfs.Options{Dir: storeDir(t)}
	roots := make([]*rootfs.Root, 20)
	g, _ := errgroup.WithContext(t.Context())
	for i := range roots {
		g.Go(func() (err error) {
			roots[i], err = rootfs.Unpack(t.Context(), img, o)
			return err
		})
	}
	e2e.NoError(t, e2e.Await(t, g.Wait))
	e2e.Equal(t, "concurrent calls read the layer once", int32(1), reads.Load())
	for _, r := range roots {
		e2e.Equal(t, "concurrent calls share one root", roots[0].Path, r.Path)
		e2e.NoError(t, r.Close())
	}
	e2e.Equal(t, "the root has the file of the image", []string{"a=x"}, contentOf(t, roots[0].Path))
}

// TestSameLayersShareARoot checks that only the content of the layers
// identifies a root, and not their compression or the image's config.
func TestSameLayersShareARoot(t *testing.T) {
	dir := storeDir(t)
	plain := pack(t, file("a", "x"))
	one := e2e.Must(unpack(t, imageOfLayers(t, layerOf(t, plain, plain)), rootfs.Options{Dir: dir}))(t)
	two := e2e.Must(unpack(t, imageOfLayers(t, layerOf(t, plain, zip(t, plain))), rootfs.Options{Dir: dir}))(t)
	other := e2e.Must(unpack(t, imageOf(t, []tar.Header{file("a", "y")}), rootfs.Options{Dir: dir}))(t)
	if one.Path != two.Path || one.Path == other.Path {
		t.Errorf("got %q, %q and %q", one.Path, two.Path, other.Path)
	}
}

// TestFailureIsNotShared checks that other callers try again after the first caller failed.
func TestFailureIsNotShared(t *testing.T) {
	dir := storeDir(t)
	plain := pack(t, file("a", "x"))
	bad := imageOfLayers(t, layerOf(t, plain, plain[:600]))
	good := imageOfLayers(t, layerOf(t, plain, plain))
	g, _ := errgroup.WithContext(t.Context())
	for i := range 20 {
		g.Go(func() error {
			img := good
			if i%2 == 0 {
				img = bad
			}
			root, err := rootfs.Unpack(t.Context(), img, rootfs.Options{Dir: dir})
			if err != nil {
				if i%2 == 0 {
					return nil
				}
				return err
			}
			return root.Close()
		})
	}
	e2e.NoError(t, e2e.Await(t, g.Wait))
}

// startStuck starts a process, and returns when it is in the middle of unpacking.
func startStuck(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(e2e.Context(t), os.Args[0], isStuck, dir)
	e2e.Open(cmd.StdinPipe())(t)
	out := e2e.Must(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	e2e.NoError(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "half\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	e2e.NoError(t, cmd.Process.Kill())
	_ = e2e.Await(t, cmd.Wait)
}

// leftovers returns the directories of incomplete roots.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	return e2e.Must(filepath.Glob(filepath.Join(dir, "roots/sha256/*/partial")))(t)
}

func TestKilledWhileUnpacking(t *testing.T) {
	cases := map[string]struct {
		reason string
		then   []tar.Header
	}{
		"Same":  {"the same image is unpacked again", stuckEntries()},
		"Other": {"another image is unpacked", []tar.Header{file("a", "x")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := storeDir(t)
			kill(t, startStuck(t, dir))
			left := leftovers(t, dir)
			if len(left) != 1 || len(contentOf(t, left[0])) == 0 {
				t.Fatalf("the process was not killed in the middle: it left %q", left)
			}
			root := e2e.Must(unpack(t, imageOf(t, tc.then), rootfs.Options{Dir: dir}))(t)
			e2e.Equal(t, tc.reason, 0, len(leftovers(t, dir)))
			want := contentOf(t, mustUnpack(t, imageOf(t, tc.then), false))
			e2e.Equal(t, tc.reason, want, contentOf(t, root.Path))
		})
	}
}

// TestKilledWhileOthersWait checks that a caller waits for a process that
// unpacks, and unpacks itself after that process was killed.
func TestKilledWhileOthersWait(t *testing.T) {
	dir := storeDir(t)
	cmd := startStuck(t, dir)
	enough := errors.New("waited enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	img := imageOf(t, stuckEntries())
	e2e.ErrorIs(t, "waiting for another process ends with the context", e2e.Err(rootfs.Unpack(ctx, img, rootfs.Options{Dir: dir})), enough)
	done := make(chan error)
	go func() {
		root, err := rootfs.Unpack(t.Context(), img, rootfs.Options{Dir: dir})
		if err == nil {
			err = root.Close()
		}
		done <- err
	}()
	if got, err := rootfs.Prune(t.Context(), dir, time.Now(), false); err != nil || got.Roots != 0 || len(leftovers(t, dir)) != 1 {
		t.Errorf("a root was pruned while a process unpacked it: %+v, %v", got, err)
	}
	kill(t, cmd)
	e2e.NoError(t, e2e.Receive(t, done))
}

func TestPrune(t *testing.T) {
	dir := storeDir(t)
	kill(t, startStuck(t, dir))
	old := imageOf(t, described(), []tar.Header{file("a", "12345"), file("locked/below/g", "")})
	root := e2e.Must(rootfs.Unpack(t.Context(), old, rootfs.Options{Dir: dir}))(t)
	e2e.Equal(t, "only complete roots count, with the size of their files", rootfs.Usage{Roots: 1, Bytes: 5}, e2e.Must(rootfs.Used(t.Context(), dir))(t))
	later := time.Now().Add(time.Hour)
	prune := func(why string, before time.Time, dry bool, want rootfs.Usage) {
		t.Helper()
		e2e.Equal(t, why, want, e2e.Must(rootfs.Prune(t.Context(), dir, before, dry))(t))
	}
	prune("a root in use is kept", later, false, rootfs.Usage{})
	e2e.NoError(t, root.Close())
	prune("a root that was used recently is kept", later.Add(-2*time.Hour), false, rootfs.Usage{})
	prune("a dry run returns the usage", later, true, rootfs.Usage{Roots: 1, Bytes: 5})
	e2e.WantError(t, "a dry run must not remove the root", e2e.Err(os.Stat(root.Path)), "")
	prune("an old root is removed", later, false, rootfs.Usage{Roots: 1, Bytes: 5})
	assertNoRoot(t, dir)
	prune("a pruned store is empty", later, false, rootfs.Usage{})
}

func TestPruneLeftovers(t *testing.T) {
	dir := storeDir(t)
	kill(t, startStuck(t, dir))
	got, err := rootfs.Prune(t.Context(), dir, time.Time{}, false)
	if err != nil || got.Roots != 0 || got.Bytes == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	assertNoRoot(t, dir)
}

func TestPruneNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	e2e.Equal(t, "a store that does not exist has nothing to remove", rootfs.Usage{}, e2e.Must(rootfs.Prune(t.Context(), dir, time.Now(), false))(t))
	e2e.ErrorIs(t, "Used does not create the store", e2e.Err(os.Stat(dir)), fs.ErrNotExist)
}

// TestPruneWhileUsed prunes roots while others unpack and use them. A root must
// exist until it is released.
func TestPruneWhileUsed(t *testing.T) {
	dir := storeDir(t)
	img := imageOf(t, []tar.Header{file("a", "x")})
	g, ctx := errgroup.WithContext(t.Context())
	var using errgroup.Group
	for range 4 {
		using.Go(func() error {
			for range 25 {
				root, err := rootfs.Unpack(ctx, img, rootfs.Options{Dir: dir})
				if err != nil {
					return err
				}
				if _, err := os.ReadFile(filepath.Join(root.Path, "a")); err != nil {
					return err
				}
				if err := root.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	ended := make(chan struct{})
	g.Go(func() error {
		for {
			select {
			case <-ended:
				return nil
			default:
			}
			if _, err := rootfs.Prune(ctx, dir, time.Now().Add(time.Hour), false); err != nil {
				return err
			}
		}
	})
	err := e2e.Await(t, using.Wait)
	close(ended)
	e2e.NoError(t, errors.Join(err, g.Wait()))
}

// TestReadOnlyStore checks that a read-only store returns its roots.
func TestReadOnlyStore(t *testing.T) {
	dir := storeDir(t)
	img, reads := countedImage(t, file("a", "x"))
	o := rootfs.Options{Dir: dir}
	if root, err := rootfs.Unpack(t.Context(), img, o); err != nil || root.Close() != nil {
		t.Fatal(err)
	}
	e2e.NoError(t, os.Chmod(filepath.Join(dir, "roots/sha256"), 0o500))
	if _, err := unpack(t, img, o); err != nil || reads.Load() != 1 {
		t.Errorf("got %v after %d reads", err, reads.Load())
	}
}

// TestEntryOfAnother checks entries that other users can write to or created.
func TestEntryOfAnother(t *testing.T) {
	img := imageOf(t, []tar.Header{file("a", "x")})
	cases := map[string]struct {
		reason string
		change func(entry string) error
		want   string
	}{
		"Writable": {"other users may have changed the entry", func(entry string) error { return os.Chmod(entry, 0o777) }, "accessible to them"},
		"Readable": {"other users could run programs that are only for the owner", func(entry string) error { return os.Chmod(entry, 0o755) }, "accessible to them"},
		"Foreign":  {"another user created the entry", func(entry string) error { return os.Chown(entry, 54321, 54321) }, "is owned by other users"},
		"Link": {"a link may lead to another root", func(entry string) error {
			return errors.Join(os.Rename(entry, entry+".moved"), os.Symlink(entry+".moved", entry))
		}, "not a directory"},
	}
	for name, tc := range cases {
		for _, unpacked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", name, unpacked), func(t *testing.T) {
				o := rootfs.Options{Dir: storeDir(t)}
				root, err := rootfs.Unpack(t.Context(), img, o)
				e2e.NoError(t, err)
				entry := filepath.Dir(root.Path)
				e2e.NoError(t, root.Close())
				if !unpacked {
					err = os.Rename(root.Path, filepath.Join(entry, "partial"))
				}
				if err := errors.Join(err, tc.change(entry)); errors.Is(err, fs.ErrPermission) {
					t.Skip("only root can change owners")
				} else {
					e2e.NoError(t, err)
				}
				e2e.ErrorHas(t, tc.reason, e2e.Err(unpack(t, img, o)), tc.want)
			})
		}
	}
}

// TestNoExec checks a store on a file system that is mounted noexec.
func TestNoExec(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOEXEC, ""); errors.Is(err, fs.ErrPermission) {
		t.Skip("only root can mount")
	} else {
		e2e.NoError(t, err)
	}
	t.Cleanup(func() { e2e.NoError(t, syscall.Unmount(dir, 0)) })
	_, err := unpack(t, imageOf(t, []tar.Header{file("a", "x")}), rootfs.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "is mounted noexec") || hint.Of(err) == "" {
		t.Errorf("got %v", err)
	}
}

// TestAsUser runs the tests of this package as an ordinary user, with a umask
// that denies everything to others.
func TestAsUser(t *testing.T) {
	if testing.Short() {
		t.Skip("it repeats the tests of this package")
	}
	if os.Getuid() != 0 {
		t.Skip("this user is an ordinary user already")
	}
	const nobody = 65534
	home := e2e.ShortDir(t)
	self := e2e.Must(os.ReadFile(os.Args[0]))(t)
	binary := filepath.Join(home, "test")
	e2e.NoError(t, errors.Join(os.WriteFile(binary, self, 0o755), os.Chmod(binary, 0o755), os.Chown(home, nobody, nobody)))
	cmd := exec.CommandContext(e2e.Context(t), "/bin/sh", "-c", `umask 077 && exec "$0" "$@"`,
		binary, "-test.run", "^Test", "-test.skip", "ManyFiles|ManyWhiteouts|GzipBomb")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	e2e.Output(t, cmd)
}
