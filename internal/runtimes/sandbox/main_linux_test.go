package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// Environment variables that select a role of this test program, or pass a file to it.
const (
	programVar = "XFN_TEST_PROGRAM" // path of the program of the test images, if it is built already
	benchVar   = "XFN_TEST_BENCH"   // directory with the test function and its packages, if they exist already
)

func TestMain(m *testing.M) {
	functiontest.Supervise()
	code := m.Run()
	if file, err := program(); err == nil && os.Getenv(programVar) == "" {
		os.RemoveAll(filepath.Dir(file))
	}
	os.Exit(code)
}

// program builds the program of the test images, statically linked, in a directory that
// every user can enter. It returns the path of the program.
var program = sync.OnceValues(func() (string, error) {
	if file := os.Getenv(programVar); file != "" {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "program")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-o", file, "./testdata/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, os.Chmod(dir, 0o755)
})

// programImage returns an image that runs the program of the test images with these
// arguments.
func programImage(t testing.TB, act ...string) v1.Image {
	t.Helper()
	return imageOf(t, v1.Config{Entrypoint: []string{"/usr/bin/program"}, Cmd: act})
}

func imageOf(t testing.TB, config v1.Config) v1.Image {
	t.Helper()
	layer, err := layer()
	if err != nil {
		t.Fatalf("building the program of the images: %v", err)
	}
	return remotetest.Image(t, config, layer)
}

// layer returns a layer with the program of the test images and an account file.
var layer = sync.OnceValues(func() (v1.Layer, error) {
	file, err := program()
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return remotetest.Layer(map[string][]byte{"usr/bin/program": content, "etc/passwd": []byte("fn:x:65532:65531::/:\n")})
})
