package e2e_test

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
	"github.com/xfn-dev/xfn/internal/manifest"
)

// TestAPIServer compares xfn with an API server. All comparisons share one server, so their
// kinds and names differ.
func TestAPIServer(t *testing.T) {
	t.Parallel()
	server := startAPIServer(t)
	definitions := filepath.Join("testdata", "apiserver", "definitions.yaml")
	crds := installDefinitions(t, server, definitions)
	server.Install(t, crossplaneCRDs(t)...)
	t.Run("Verdicts", func(t *testing.T) {
		compareVerdicts(t, server, definitions, filepath.Join("testdata", "apiserver", "verdicts.yaml"))
		compareVerdicts(t, server, definitions, filepath.Join("..", "schema", "testdata", "verdicts.yaml"))
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
	entries := e2e.Must(os.ReadDir(filepath.Join("testdata", "apiserver", name)))(t)
	for _, e := range entries {
		if e.IsDir() {
			t.Run(e.Name(), func(t *testing.T) { test(t, filepath.Join("testdata", "apiserver", name, e.Name())) })
		}
	}
}

// runXFN returns the output of xfn with the arguments, and whether it exits with 0.
func runXFN(t *testing.T, args ...string) (stdout []byte, ok bool) {
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

// readObjects returns the objects in a file.
func readObjects(t *testing.T, path string) []map[string]any {
	t.Helper()
	docs := e2e.Must(manifest.Reader{FS: afero.NewOsFs()}.All(t.Context(), path))(t)
	return decodeObjects(t, docs)
}

// parseObjects returns the objects in text, which is YAML.
func parseObjects(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	docs := e2e.Must(manifest.Split("output", text))(t)
	return decodeObjects(t, docs)
}

func decodeObjects(t *testing.T, docs []manifest.Document) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, doc := range docs {
		obj := e2e.Must(doc.Object())(t)
		all = append(all, obj)
	}
	return all
}

// writeObjects writes objects to a file of the test, and returns its path.
func writeObjects(t *testing.T, name string, objs ...map[string]any) string {
	t.Helper()
	var text bytes.Buffer
	path := filepath.Join(t.TempDir(), name)
	e2e.NoError(t, errors.Join(manifest.Write(&text, objs...), os.WriteFile(path, text.Bytes(), 0o600)))
	return path
}

// installDefinitions installs the CRDs that Crossplane derives from the definitions in a file, and the
// CRDs in it. It returns them.
func installDefinitions(t *testing.T, server *apiServer, path string) []map[string]any {
	t.Helper()
	out, ok := runXFN(t, "xpkg", "get-crds", path, "-o", "-")
	if !ok {
		t.Fatalf("xfn prints no CRDs of %s", path)
	}
	crds := parseObjects(t, out)
	server.Install(t, crds...)
	return crds
}

// unmarshalJSON decodes the JSON that xfn printed.
func unmarshalJSON(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}
