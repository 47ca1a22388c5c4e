//go:build unix

package e2e_test

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// A builder is the environment of a build.
type builder struct {
	umask, zone, locale string
	// mode and age are the mode and the age of the files. backwards reverses the order
	// in which they are created.
	mode      os.FileMode
	age       time.Duration
	backwards bool
	procs     string
	user      uint32
}

// TestBuildIsTheSameAnywhere: equal files are built to equal bytes in every environment.
func TestBuildIsTheSameAnywhere(t *testing.T) {
	const ordinary = 54321
	builders := map[string]builder{
		"careful": {umask: "0077", zone: "Asia/Tokyo", locale: "C", mode: 0o600, procs: "1"},
		"open":    {umask: "0", zone: "America/Lima", locale: "tr_TR.UTF-8", mode: 0o666, age: 1000 * time.Hour, backwards: true, procs: "4"},
	}
	if os.Geteuid() == 0 {
		builders["ordinary"] = builder{umask: "022", zone: "UTC", locale: "C", mode: 0o755, age: time.Hour, procs: "2", user: ordinary}
	}
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "bin")
	e2e.NoError(t, e2e.Err(copyBinary(bin, e2e.Binary(t))))
	// The cache of another user has no packages for a second platform.
	for _, platforms := range []string{"linux/amd64", "linux/amd64,linux/arm64"} {
		want := builders["careful"].build(t, bin, platforms)
		for name, b := range builders {
			if b.user != 0 && strings.Contains(platforms, ",") {
				continue
			}
			if got := b.build(t, bin, platforms); got != want {
				t.Errorf("%s, %s builder: got\n%s\nand the careful one\n%s", platforms, name, got, want)
			}
		}
	}
}

// build builds a package with the xfn in the folder bin, in a new directory. It
// returns the output of xfn, and the digest and mode of the package file.
func (b builder) build(t *testing.T, bin, platforms string) string {
	t.Helper()
	dir := t.TempDir()
	b.write(t, dir)
	cmd := exec.CommandContext(e2e.Context(t), "sh", "-c", "umask "+b.umask+` && exec xfn "$@"`, "sh",
		"xpkg", "build", "-q", "-f", "function", "-e", "samples", "--extensions-root", "extensions", "-a", "org.example.b=2", "-a", "org.example.a=1",
		"--embed-runtime-source", "src", "--platform", platforms, "-o", "fn.xpkg")
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "TZ=" + b.zone, "LC_ALL=" + b.locale, "GOMAXPROCS=" + b.procs,
		"GOCACHE=" + goCache(t, b, dir), "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOPROXY=off",
	}
	if b.user != 0 {
		own(t, dir, b.user)
		setUser(cmd, b.user)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(dir, "fn.xpkg")
	info := e2e.Must(os.Stat(file))(t)
	return fmt.Sprintf("%s%s %x", out, info.Mode(), sha256.Sum256([]byte(e2e.ReadFile(t, file))))
}

// write writes packageFiles.
func (b builder) write(t *testing.T, dir string) {
	t.Helper()
	names := slices.SortedFunc(maps.Keys(packageFiles), func(x, y string) int {
		if b.backwards {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
	then := time.Now().Add(-b.age)
	for _, name := range names {
		at := filepath.Join(dir, name)
		e2e.NoError(t, errors.Join(
			os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(packageFiles[name]), 0o600),
			os.Chmod(at, b.mode),
			os.Chtimes(at, then, then),
		))
	}
}

// goCache returns the go command's cache of this machine. Another user cannot read it, and
// gets a copy of a small cache, which stays in the user's cache directory: to compile the
// packages of a program takes ten seconds.
func goCache(t *testing.T, b builder, dir string) string {
	t.Helper()
	if b.user == 0 {
		values := e2e.Must(goEnv())(t)
		return values[slices.Index(goVariables, "GOCACHE")]
	}
	cache := e2e.Must(os.UserCacheDir())(t)
	stored, copied := filepath.Join(cache, "xfn-test", "go-build"), filepath.Join(dir, "cache")
	cmd := exec.CommandContext(e2e.Context(t), "go", "build", "-trimpath", "-o", os.DevNull, ".")
	cmd.Dir, cmd.Env = filepath.Join(dir, "src"), append(os.Environ(), "GOCACHE="+stored, "CGO_ENABLED=0")
	e2e.Output(t, cmd)
	mustExec(t, "cp", "-R", stored, copied)
	return copied
}

// own makes a user the owner of a directory.
func own(t *testing.T, dir string, user uint32) {
	t.Helper()
	e2e.NoError(t, open(dir))
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(user), int(user)))
	})
	e2e.NoError(t, err)
}

func mustExec(t testing.TB, name string, args ...string) {
	t.Helper()
	e2e.Output(t, exec.CommandContext(t.Context(), name, args...))
}
