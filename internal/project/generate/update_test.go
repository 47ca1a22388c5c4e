package generate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// TestFunctionsAtOnce checks that a pipeline has the steps of all functions that are generated at
// the same time.
func TestFunctionsAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot replace a file that is open")
	}
	dir := e2e.Dir(t, map[string]string{
		project.File: crossplane, "apis/app/definition.yaml": xrd,
		"apis/app/composition.yaml": "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: apps}\nspec:\n  mode: Pipeline\n  pipeline: []\n",
	})
	pipeline := filepath.Join(dir, "apis/app/composition.yaml")
	var g errgroup.Group
	for i := range 8 {
		p := open(t, filepath.Join(dir, project.File))
		g.Go(func() error {
			_, changed, err := generate.Function(t.Context(), p, generate.FunctionOptions{Name: fmt.Sprintf("f%d", i), Language: "go-templating", Pipeline: pipeline})
			if err == nil && !changed {
				err = fmt.Errorf("the step of function %d was not added", i)
			}
			return err
		})
	}
	e2e.NoError(t, g.Wait())
	e2e.Equal(t, "the pipeline has a step for each function", 8, strings.Count(e2e.ReadFile(t, pipeline), "step: f"))
}

// TestAddDependencyToChangedFile checks that a change of the project file, which a user saves while
// the dependency is fetched, stays in the file.
func TestAddDependencyToChangedFile(t *testing.T) {
	dir := e2e.Dir(t, map[string]string{project.File: crossplane})
	path := filepath.Join(dir, project.File)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		e2e.WriteFile(t, path, "# added at the top\n"+crossplane+"  source: example.org/demo\n")
		_, _ = w.Write([]byte(xrd))
	}))
	defer server.Close()
	d := e2e.Must(generate.ParseDependency(server.URL+"/crd.yaml", generate.DependencyOptions{}))(t)
	e2e.NoError(t, generate.AddDependency(t.Context(), open(t, path), d, &generate.Fetcher{HTTP: server.Client()}))
	want := "# added at the top\n" + crossplane + "  source: example.org/demo\n  dependencies:\n"
	if got := e2e.ReadFile(t, path); !strings.HasPrefix(got, want) || !strings.Contains(got, server.URL+"/crd.yaml") {
		t.Errorf("want the changed file with the dependency, got:\n%s", got)
	}
}
