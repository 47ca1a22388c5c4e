package generate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// readOnly returns a read-only directory with files.
func readOnly(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := e2e.Disk(t, "256k")
	e2e.WriteFiles(t, dir, all)
	e2e.MakeReadOnly(t, dir)
	return dir
}

// A CI job may have a checkout that it cannot write to.
func TestSchemasReadOnly(t *testing.T) {
	dir := readOnly(t, map[string]string{project.File: crossplane, "apis/x.yaml": xrd})
	err := generate.Schemas(t.Context(), open(t, filepath.Join(dir, project.File)), generate.SchemaOptions{})
	e2e.ErrorHas(t, "the error says what is written", err, "writing the models of the project's APIs: creating the directory")
	e2e.Has(t, "the hint is to add the models to the repository", string(hint.Of(err)), "add "+filepath.Join(dir, "schemas")+" with the models to the repository")
}

// A function whose step cannot be written leaves no directory, which would prevent another try.
func TestFunctionWithoutItsStep(t *testing.T) {
	disk := readOnly(t, map[string]string{"c.yaml": "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec:\n  pipeline:\n  - step: a\n    functionRef: {name: other}\n"})
	dir := e2e.Dir(t, map[string]string{project.File: crossplane})
	_, _, err := generate.Function(t.Context(), open(t, filepath.Join(dir, project.File)), generate.FunctionOptions{
		Name: "compose", Language: "go-templating", Pipeline: filepath.Join(disk, "c.yaml"),
	})
	e2e.ErrorHas(t, "the step is not written", err, `writing function "compose": creating a file beside`)
	e2e.Error(t, "the directory of the function is left", e2e.Err(os.Stat(filepath.Join(dir, "functions", "compose"))))
}
