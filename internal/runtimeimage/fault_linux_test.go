package runtimeimage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

// buildVar is an environment variable: the test binary then builds the package in that
// directory. The build blocks at the progress event whose number is in stopVar.
const (
	buildVar = "RUNTIMEIMAGE_TEST_BUILD"
	stopVar  = "RUNTIMEIMAGE_TEST_STOP"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(buildVar); dir != "" {
		stopAt := 0
		_, err := fmt.Sscan(os.Getenv(stopVar), &stopAt)
		fmt.Println(errors.Join(err, buildIn(context.Background(), dir, stopper(stopAt))))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// stopper returns a progress.Func that prints a line at the event with the number at, and
// then blocks.
func stopper(at int) progress.Func {
	var n atomic.Int64
	return func(progress.Event) {
		if n.Add(1) == int64(at) {
			fmt.Println("stopped")
			_, _ = io.Copy(io.Discard, os.Stdin)
		}
	}
}

// buildIn builds out/out.xpkg in a directory that project returned.
func buildIn(ctx context.Context, dir string, report progress.Func) (err error) {
	pkg, err := xpkg.Read(ctx, afero.NewOsFs(), filepath.Join(dir, "package"), xpkg.ReadOptions{})
	if err != nil {
		return err
	}
	images, err := runtimeimage.FromTarball(ctx, filepath.Join(dir, "rt.tar"), runtimeimage.Options{
		TempDir: filepath.Join(dir, "temp"), Beside: filepath.Join(dir, "out"), Progress: report,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, images.Close()) }()
	a, err := xpkg.Build(pkg, images.All, xpkg.BuildOptions{Created: created})
	if err != nil {
		return err
	}
	return images.WriteFile(ctx, filepath.Join(dir, "out", "out.xpkg"), a, report)
}

// project returns a directory with a package, a runtime image of uncompressed layers with
// random content, an old package file, and a directory for temporary files.
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"package", "temp", "out"} {
		e2e.NoError(t, os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	data := make([]byte, 2<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	var layers []v1.Layer
	for _, name := range []string{"a", "b"} {
		layers = append(layers, e2e.Must(remotetest.Layer(map[string][]byte{name: data}))(t))
	}
	saved := []byte(e2e.ReadFile(t, writeArchive(t, remotetest.Image(t, v1.Config{}, layers...))))
	meta := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn}\nspec: {}\n"
	for name, data := range map[string][]byte{"rt.tar": saved, "package/crossplane.yaml": []byte(meta), "out/out.xpkg": []byte("old")} {
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}

// A build that is killed keeps the old package file, and the next build removes the
// temporary files.
func TestKilledBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills ten processes")
	}
	const moments = 10
	dir := project(t)
	var events atomic.Int64
	e2e.NoError(t, buildIn(t.Context(), dir, func(progress.Event) { events.Add(1) }))
	want := e2e.ReadFile(t, filepath.Join(dir, "out", "out.xpkg"))
	if events.Load() < 2*moments {
		t.Fatalf("a build reports only %d events", events.Load())
	}
	for i := range int64(moments) {
		at := 1 + i*(events.Load()-1)/(moments-1) // at runs from the first to the last event
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			old := fmt.Sprint("old file ", at)
			e2e.WriteFile(t, filepath.Join(dir, "out", "out.xpkg"), old)
			killAt(t, dir, at)
			e2e.Equal(t, "a killed build keeps the old file", old, e2e.ReadFile(t, filepath.Join(dir, "out", "out.xpkg")))
			if left := e2e.Names(t, filepath.Join(dir, "temp")); at > 1 && len(left) == 0 {
				t.Error("no temporary file exists: the process was not killed during the build")
			}
			e2e.NoError(t, buildIn(t.Context(), dir, nil))
			e2e.Equal(t, "the next build makes the same file", want, e2e.ReadFile(t, filepath.Join(dir, "out", "out.xpkg")))
			e2e.Equal(t, "only the package is left", []string{"out.xpkg"}, slices.Concat(e2e.Names(t, filepath.Join(dir, "temp")), e2e.Names(t, filepath.Join(dir, "out"))))
		})
	}
}

// killAt starts a build in another process, and kills the process at the progress event
// with the number at.
func killAt(t *testing.T, dir string, at int64) {
	t.Helper()
	child, line := e2e.Start(t, buildVar+"="+dir, fmt.Sprint(stopVar, "=", at))
	e2e.Equal(t, "the child stops at the event", "stopped", line)
	child.Kill(t)
}

// A build on a full disk keeps the old package file and leaves no temporary files.
func TestFullDisk(t *testing.T) {
	dir := project(t)
	out := filepath.Join(dir, "out")
	for _, size := range []string{"64k", "1m", "3m", "4m"} { // the package has 4 MiB and some metadata
		t.Run(size, func(t *testing.T) {
			if err := syscall.Mount("tmpfs", out, "tmpfs", 0, "size="+size); err != nil {
				t.Skipf("no disk can be mounted here: %v", err)
			}
			defer func() { e2e.NoError(t, syscall.Unmount(out, 0)) }()
			e2e.WriteFile(t, filepath.Join(out, "out.xpkg"), "old")
			err := buildIn(t.Context(), dir, nil)
			if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), ".tmp") || !strings.Contains(err.Error(), out) {
				t.Errorf("got %v, want one sentence about the disk of %s", err, out)
			}
			e2e.Equal(t, "a failed build keeps the old file", "old", e2e.ReadFile(t, filepath.Join(out, "out.xpkg")))
			e2e.Equal(t, "only the old file is left", []string{"out.xpkg"}, slices.Concat(e2e.Names(t, out), e2e.Names(t, filepath.Join(dir, "temp"))))
		})
	}
}

// A build that is canceled keeps the old package file and leaves no temporary files.
func TestStoppedBuild(t *testing.T) {
	dir := project(t)
	for at := int64(1); ; at += 7 {
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int64
		err := buildIn(ctx, dir, func(progress.Event) {
			if n.Add(1) == at {
				cancel()
			}
		})
		cancel()
		if n.Load() < at {
			return // The build sent fewer than at events: nothing was canceled.
		}
		if left := slices.Concat(e2e.Names(t, filepath.Join(dir, "out")), e2e.Names(t, filepath.Join(dir, "temp"))); len(left) != 1 {
			t.Errorf("at %d: left behind: %v", at, left)
		}
		if err == nil {
			continue // The last event is sent when the file is complete.
		}
		if !errors.Is(err, context.Canceled) || e2e.ReadFile(t, filepath.Join(dir, "out", "out.xpkg")) != "old" {
			t.Errorf("at %d: got %v", at, err)
		}
	}
}
