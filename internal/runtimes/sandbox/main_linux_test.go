package sandbox_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// programsVar is the environment variable with the directory of the programs of the test images, if
// they are built already.
const programsVar = "XFN_TEST_PROGRAMS"

func TestMain(m *testing.M) {
	functiontest.Supervise()
	code := m.Run()
	if dir, err := programs(); err == nil && os.Getenv(programsVar) == "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// programs builds the programs of the test images, statically linked, in a directory that
// every user can enter. It returns the path of the directory.
var programs = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(programsVar); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		return "", err
	}
	return dir, functiontest.BuildStatic(dir, "./testdata/program", "./testdata/function")
})

// program returns the path of a program of testdata.
func program(t testing.TB, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatalf("building the programs of the images: %v", err)
	}
	return filepath.Join(dir, name)
}

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
	dir, err := programs()
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		return nil, err
	}
	return remotetest.Layer(map[string][]byte{"usr/bin/program": content, "etc/passwd": []byte("fn:x:65532:65531::/:\n")})
})
