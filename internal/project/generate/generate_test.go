package generate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

const xrd = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.platform.example.org}
spec:
  group: platform.example.org
  names: {kind: App, plural: apps}
  versions:
  - name: v1alpha1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string}}}}}}
`

func open(t *testing.T, path string) *project.Project {
	t.Helper()
	return e2e.Must(project.Read(t.Context(), path))(t)
}

const (
	crossplane = "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nmetadata: {name: demo}\nspec:\n  repository: registry.example.org/acme/demo\n"
	upbound    = "apiVersion: meta.dev.upbound.io/v2alpha1\nkind: Project\nmetadata: {name: demo}\nspec:\n  repository: registry.example.org/acme/demo\n"
)

// A generated function refers to the models that were generated with it, in both dialects.
func TestFunctionRefersToModels(t *testing.T) {
	for name, tc := range map[string]struct{ file, text, schemas, module, python string }{
		"Crossplane": {project.File, crossplane, "../../schemas/%s", "dev.crossplane.io/models", "crossplane-models @ file:./../../schemas/python"},
		"Upbound":    {project.UpboundFile, upbound, "../../.up/%s/models", "dev.upbound.io/models", "crossplane-models @ file:./../../.up/python"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Dir(t, map[string]string{tc.file: tc.text, "apis/app/definition.yaml": xrd})
			p := open(t, filepath.Join(dir, tc.file))
			for _, language := range generate.Languages {
				if _, _, err := generate.Function(t.Context(), p, generate.FunctionOptions{Name: language, Language: language}); err != nil {
					t.Fatalf("generating a function in %s: %v", language, err)
				}
			}
			at := func(language string) string { return strings.Replace(tc.schemas, "%s", language, 1) }
			for file, want := range map[string]string{
				"go/go.mod": "replace " + tc.module + " => " + at("go"), "kcl/kcl.mod": `models = { path = "./model" }`,
				"kcl/main.k":            "import models.org.example.platform.v1alpha1 as platformv1alpha1\n",
				"python/pyproject.toml": tc.python, "go-templating/01-compose.yaml.gotmpl": "$schema=" + at("json") + "/index.schema.json",
			} {
				e2e.Has(t, file+" refers to the models", e2e.ReadFile(t, dir, "functions", file), want)
			}
			if target, err := os.Readlink(filepath.Join(dir, "functions/kcl/model")); err != nil || filepath.ToSlash(target) != at("kcl") {
				t.Errorf("the link model has the target %q: %v", target, err)
			}
			if name != "Crossplane" {
				return // The other dialect differs in names only.
			}
			test := exec.CommandContext(t.Context(), "go", "test", "./...")
			test.Dir = filepath.Join(dir, "functions", "go")
			test.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
			if out, err := test.CombinedOutput(); err != nil {
				if strings.Contains(string(out), "dial tcp") || strings.Contains(string(out), "disabled by GOPROXY") {
					t.Skip("the modules of a function are not available")
				}
				t.Errorf("the test of the generated function in Go fails: %v\n%s", err, out)
			}
		})
	}
}

// The path of a Go module is the source or the repository of the project, if Go accepts it.
func TestModulePath(t *testing.T) {
	for name, tc := range map[string]struct{ reason, repository, source, want string }{
		"Source":     {"the source is the usual path", "registry.example.org/acme/demo", "https://github.com/acme/demo/", "github.com/acme/demo/functions/fn"},
		"Repository": {"without a source, the repository is unique", "registry.example.org/acme/demo", "", "registry.example.org/acme/demo/fn"},
		"BadSource":  {"a source that Go does not accept is left out", "registry.example.org/acme/demo", "git@github.com:acme/demo", "registry.example.org/acme/demo/fn"},
		"Port":       {"Go accepts no port", "127.0.0.1:5000/acme/demo", "", "project.example.com/functions/fn"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(crossplane, "registry.example.org/acme/demo", tc.repository, 1)
			dir := e2e.Dir(t, map[string]string{project.File: text + "  source: '" + tc.source + "'\n"})
			o := generate.FunctionOptions{Name: "fn", Language: "go"}
			if _, _, err := generate.Function(t.Context(), open(t, filepath.Join(dir, project.File)), o); err != nil {
				t.Fatal(err)
			}
			if got, _, _ := strings.Cut(e2e.ReadFile(t, dir, "functions", "fn", "go.mod"), "\n"); got != "module "+tc.want {
				t.Errorf("%s: got %q, want the path %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestFunctionRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason                 string
		options                generate.FunctionOptions
		pipeline, want, advice string
	}{
		"Name":     {"the name becomes part of a repository", generate.FunctionOptions{Name: "Bad_Name", Language: "go"}, "", `"Bad_Name" cannot name a function`, "lower-case"},
		"Language": {"the project has no schemas for the language", generate.FunctionOptions{Name: "a", Language: "kcl"}, "", "a function in kcl needs schemas for kcl", "add kcl to spec.schemas.languages"},
		"Kind":     {"only some kinds have a pipeline", generate.FunctionOptions{Name: "a", Language: "go"}, "kind: ConfigMap\napiVersion: v1\n", "expected a Composition, Operation", ""},
		"Mode":     {"a Composition of mode Resources has no pipeline", generate.FunctionOptions{Name: "a", Language: "go"}, "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec:\n  mode: Resources\n", "c.yaml:4: the Composition has no pipeline", "xfn convert pipeline-composition FILE"},
		"Step":     {"the names of steps are unique", generate.FunctionOptions{Name: "a", Language: "go"}, "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec:\n  pipeline:\n  - step: a\n    functionRef: {name: other}\n", `c.yaml:5: the pipeline already has a step "a", which calls "other"`, "another name"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Dir(t, map[string]string{project.File: crossplane + "  schemas: {languages: [go]}\n", "c.yaml": tc.pipeline})
			if tc.pipeline != "" {
				tc.options.Pipeline = filepath.Join(dir, "c.yaml")
			}
			_, _, err := generate.Function(t.Context(), open(t, filepath.Join(dir, project.File)), tc.options)
			advice := strings.Replace(tc.advice, "FILE", tc.options.Pipeline, 1)
			e2e.ErrorHint(t, tc.reason, err, tc.want, advice)
			e2e.Error(t, tc.reason+": files were written", e2e.Err(os.Stat(filepath.Join(dir, "functions"))))
		})
	}
}

func TestAddStepToOperations(t *testing.T) {
	const text = "# first\nkind: ConfigMap\napiVersion: v1\n---\napiVersion: ops.crossplane.io/v1alpha1\nkind: CronOperation\nspec:\n  schedule: '* * * * *' # each minute\n  operationTemplate:\n    spec:\n      pipeline:\n      - step: one\n        functionRef: {name: other}\n"
	dir := e2e.Dir(t, map[string]string{"op.yaml": text})
	edit := e2e.Must(generate.AddStep(t.Context(), filepath.Join(dir, "op.yaml"), "new", "acme-new"))(t)
	want := strings.Replace(text, "      - step: one\n", "      - functionRef:\n          name: acme-new\n        step: new\n      - step: one\n", 1)
	e2e.Equal(t, "the step is the first of the Operation's pipeline, and the rest is unchanged", want, string(edit.Data))
}

func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	e2e.NoError(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	path := e2e.Must(generate.Init(t.Context(), generate.InitOptions{Dir: dir, Name: "demo", Repository: "registry.example.org/acme/demo", Dialect: project.Upbound}))(t)
	// Bare y is a boolean in YAML.
	y, err := generate.Init(t.Context(), generate.InitOptions{Dir: filepath.Join(dir, "functions", "y"), Name: "y", Repository: "registry.example.org/y"})
	if err != nil || open(t, y).Name != "y" {
		t.Errorf("a project can have the name y: %v", err)
	}
	if p := open(t, path); p.Dialect != project.Upbound || filepath.Base(path) != project.UpboundFile {
		t.Errorf("got a project of the dialect %s in %s", p.Dialect, path)
	}
}

// Links that lead out of the project are refused, and no file is written behind them.
func TestFunctionRefusesLinks(t *testing.T) {
	for _, link := range []string{"functions", "schemas", "schemas/go"} {
		outside := t.TempDir()
		dir := e2e.Dir(t, map[string]string{project.File: crossplane + "  schemas: {languages: [go]}\n", "apis/definition.yaml": xrd})
		e2e.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755))
		if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
			t.Skipf("links cannot be made: %v", err)
		}
		_, _, err := generate.Function(t.Context(), open(t, filepath.Join(dir, project.File)), generate.FunctionOptions{Name: "a", Language: "go"})
		e2e.ErrorHas(t, link+" must not lead out of the project", err, "a link that leads out of the project")
		e2e.Empty(t, outside)
	}
}
