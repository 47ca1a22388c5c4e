package apiservertest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/apiservertest"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// TestAPIServer compares xfn with an API server. All comparisons share one server, so their
// kinds and names differ.
func TestAPIServer(t *testing.T) {
	server := apiservertest.Start(t)
	definitions := filepath.Join("testdata", "definitions.yaml")
	crds := installed(t, server, definitions)
	server.Install(t, crossplaneCRDs(t)...)
	t.Run("Verdicts", func(t *testing.T) {
		compareVerdicts(t, server, definitions, filepath.Join("testdata", "verdicts.yaml"))
		compareVerdicts(t, server, definitions, filepath.Join("..", "..", "schema", "testdata", "verdicts.yaml"))
	})
	t.Run("Stored", func(t *testing.T) { compareStored(t, server) })
	t.Run("Rendered", func(t *testing.T) { compareRendered(t, server) })
	t.Run("Predicted", func(t *testing.T) {
		eachFolder(t, "predicted", func(t *testing.T, dir string) { comparePrediction(t, server, dir, crds) })
	})
}

// eachFolder runs a subtest for each folder in testdata/NAME.
func eachFolder(t *testing.T, name string, test func(t *testing.T, dir string)) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			t.Run(e.Name(), func(t *testing.T) { test(t, filepath.Join("testdata", name, e.Name())) })
		}
	}
}

// xfn returns the output of xfn with the arguments, and whether it exits with 0.
func xfn(t *testing.T, args ...string) (stdout []byte, ok bool) {
	t.Helper()
	cmd := e2e.Command(t, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("xfn %q: %v\n%s", args, err, stderr.Bytes())
	}
	if err != nil {
		t.Logf("xfn %q: %s", args, stderr.Bytes())
	}
	return stdout, err == nil
}

// objects returns the objects in a file.
func objects(t *testing.T, path string) []map[string]any {
	t.Helper()
	docs, err := manifest.Reader{FS: afero.NewOsFs()}.All(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, docs)
}

// parse returns the objects in text, which is YAML.
func parse(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	docs, err := manifest.Split("output", text)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, docs)
}

func decode(t *testing.T, docs []manifest.Document) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, obj)
	}
	return all
}

// write writes objects to a file of the test, and returns its path.
func write(t *testing.T, name string, objs ...map[string]any) string {
	t.Helper()
	var text bytes.Buffer
	path := filepath.Join(t.TempDir(), name)
	if err := errors.Join(manifest.Write(&text, objs...), os.WriteFile(path, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// installed installs the CRDs that Crossplane derives from the definitions in a file, and the
// CRDs in it. It returns them.
func installed(t *testing.T, server *apiservertest.Server, path string) []map[string]any {
	t.Helper()
	out, ok := xfn(t, "xpkg", "get-crds", path, "-o", "-")
	if !ok {
		t.Fatalf("xfn prints no CRDs of %s", path)
	}
	crds := parse(t, out)
	server.Install(t, crds...)
	return crds
}

// unmarshal decodes the JSON that xfn printed.
func unmarshal(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}
