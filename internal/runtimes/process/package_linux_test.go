package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

// programFile is a file in a source folder. The go command of goEnv copies it in place of
// compiling the folder.
const programFile = "program"

// writeSelf writes a source folder whose program executes this test binary with these
// arguments, followed by its own.
func writeSelf(t *testing.T, args ...string) string {
	t.Helper()
	self := e2e.Must(os.Executable())(t)
	dir := t.TempDir()
	program := "#!/bin/sh\nexec '" + strings.Join(append([]string{self}, args...), "' '") + "' \"$@\"\n"
	e2e.NoError(t, os.WriteFile(filepath.Join(dir, programFile), []byte(program), 0o700))
	return dir
}

// goEnv returns the environment of a go command that compiles all folders except
// folders of writeSelf. For these, it copies the test program, which saves a second for
// each test.
func goEnv(t testing.TB) []string {
	t.Helper()
	dir := t.TempDir()
	compiler := e2e.Must(exec.LookPath("go"))(t)
	script := "#!/bin/sh\n[ -f " + programFile + " ] || exec '" + compiler + "' \"$@\"\n" +
		"for a; do [ \"$o\" = -o ] && exec cp " + programFile + " \"$a\"; o=$a; done\nexit 1\n"
	e2e.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700))
	return append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// writeChild writes a source folder whose program is a functiontest child.
func writeChild(t *testing.T, b functiontest.Behavior, l lifeline) string {
	t.Helper()
	return writeSelf(t, functiontest.ChildArgs(b, l.path)...)
}

// builtVar is an environment variable with the path of the test function, if that is
// built already.
const builtVar = "XFN_TEST_FUNCTION"

// shared returns a directory that every user can enter. It contains the test function,
// statically linked, and has space for a cache.
var shared = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "function")
	if err != nil {
		return "", err
	}
	removeBuilt = func() { _ = os.RemoveAll(dir) }
	if built := os.Getenv(builtVar); built != "" {
		return dir, os.Symlink(built, filepath.Join(dir, "function"))
	}
	return dir, functiontest.BuildStatic(dir, "./testdata/function")
})

// layerOf returns a layer with these executable files. The keys are paths in the layer.
func layerOf(t testing.TB, files map[string][]byte) v1.Layer {
	t.Helper()
	return e2e.Must(remotetest.Layer(files))(t)
}

func fileOf(t testing.TB, name string) []byte {
	t.Helper()
	return e2e.Must(os.ReadFile(name))(t)
}

// functionLayer returns a layer with the test function.
func functionLayer(t testing.TB) v1.Layer {
	t.Helper()
	layer, err := builtLayer()
	if err != nil {
		t.Fatalf("building the function: %v", err)
	}
	return layer
}

// builtLayer is the layer of functionLayer. It is hashed once for all tests.
var builtLayer = sync.OnceValues(func() (v1.Layer, error) {
	dir, err := shared()
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(dir, "function"))
	if err != nil {
		return nil, err
	}
	return remotetest.Layer(map[string][]byte{"function": content})
})

// imageOf returns a function package for a platform, with these layers and this config of
// its runtime image.
func imageOf(t testing.TB, platform v1.Platform, config v1.Config, layers ...v1.Layer) v1.Image {
	t.Helper()
	meta := layerOf(t, map[string][]byte{"package.yaml": []byte("apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: f\n")})
	img := e2e.Must(mutate.AppendLayers(empty.Image, layers...))(t)
	img = e2e.Must(mutate.Append(img, mutate.Addendum{Layer: meta, Annotations: map[string]string{xpkg.Annotation: "base"}}))(t)
	return mutate.MediaType(remotetest.Configured(t, img, platform, config), types.OCIManifestSchema1)
}

var host = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// behaving returns a package of the test function with this behavior.
func behaving(t testing.TB, b functiontest.Behavior) v1.Image {
	t.Helper()
	return imageOf(t, host, v1.Config{Entrypoint: []string{"/function", string(b)}, User: "65532:65532"}, functionLayer(t))
}

// write writes a package to a file, and returns the file's path.
func write(t testing.TB, a xpkg.Artifact) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.xpkg")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, a, nil))
	return path
}

// dynamic returns the content of a dynamically linked program of this machine and of its
// libraries, by path.
func dynamic(t testing.TB, program string) map[string][]byte {
	t.Helper()
	out, err := exec.CommandContext(e2e.Context(t), "ldd", program).Output()
	if err != nil {
		t.Skipf("this machine has no dynamically linked %s: %v", program, err)
	}
	files := map[string][]byte{program: fileOf(t, program)}
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "/") {
			files[word] = fileOf(t, word)
		}
	}
	return files
}
