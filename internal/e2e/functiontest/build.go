package functiontest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// BuildChild returns a program for Linux that needs nothing else in its image: it
// says what it finds in the variable SAY, and calls RunChild. It is built once, by
// the go command, from the module that the working directory is in.
func BuildChild() ([]byte, error) { return built() }

var built = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "child")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "child")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "github.com/xfn-dev/xfn/internal/e2e/functiontest/testdata/child")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building a function: %w: %s", err, out)
	}
	return os.ReadFile(file)
})
