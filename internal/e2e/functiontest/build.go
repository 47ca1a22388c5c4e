package functiontest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// BuildChild returns a static program for Linux that prints the variable SAY and calls
// RunChild. The go command builds it once, from the module of the working directory.
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
