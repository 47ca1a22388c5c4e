package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// binaryVar is the environment variable with the path of the xfn to test. The Makefile
// builds it before the tests, so that no package is compiled twice concurrently.
const binaryVar = "XFN_TEST_BIN"

// buildLimit is enough to compile xfn and its libraries on a busy machine.
const buildLimit = 20 * time.Minute

// Binary returns the absolute path of an xfn program: the path in XFN_TEST_BIN, or the
// path of a program that Binary builds once for each test process. Binary builds it
// without the race detector, which makes the start of a program several times slower.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := binary()
	NoError(t, err)
	return path
}

var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(binaryVar); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("reading %s: %w", binaryVar, err)
		}
		return filepath.Abs(path)
	}
	if err := readSources(); err != nil {
		return "", err
	}
	return buildProgram("github.com/xfn-dev/xfn/cmd/xfn", runtime.GOOS)
})

// readSources lists all folders of this module. The go command caches a test result until a
// file changes that the test has opened or listed; it does not see what the test builds.
func readSources() error {
	root, err := goCommand(nil, "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		return err
	})
}

// Command returns a command that runs xfn with the environment of this
// process. It is killed after the Limit, or at the end of the test.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(Context(t), Binary(t), args...)
	cmd.WaitDelay = time.Second // child processes may keep the output open
	return cmd
}

// Output runs a command, and returns what it prints on stdout. It stops the test unless the command
// succeeds.
func Output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	return string(out)
}

// buildProgram compiles a command of this module for an operating system, and returns
// the path of the program, which needs no other file. The program is in the go
// command's build cache, so that all test processes and later runs share it. It
// must not be changed or removed.
func buildProgram(pkg, goos string) (string, error) {
	printer := "echo"
	if runtime.GOOS == "windows" {
		printer = "cmd /c echo"
	}
	// go run runs a new program in a folder that it then removes. The second run
	// uses the program in the cache.
	for range 2 {
		path, err := goCommand([]string{"CGO_ENABLED=0", "GOOS=" + goos}, "run", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-exec", printer, pkg)
		if err != nil {
			return "", fmt.Errorf("building %s: %w", pkg, err)
		}
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("building %s: go run does not keep the program", pkg)
}

// goCommand runs the go command with additional environment variables, and
// returns its output.
func goCommand(env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
