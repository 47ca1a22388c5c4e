package models_test

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project/models"
)

const golden = "../../../testdata/golden/project/"

func source(t *testing.T, path string) models.Source {
	t.Helper()
	data := []byte(e2e.ReadFile(t, path))
	return models.Source{ID: "fs://apis", Version: string(rune(len(data))), Definitions: func(context.Context) (models.Definitions, error) {
		objects, err := manifest.Objects(path, data)
		if err != nil {
			return nil, err
		}
		return models.Define(objects)
	}}
}

func generate(t *testing.T, to models.Target, sources ...models.Source) {
	t.Helper()
	e2e.NoError(t, models.Generate(t.Context(), to, sources...))
}

func TestJSON(t *testing.T) {
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.JSON}}
	generate(t, to, source(t, golden+"build-apis/in/apis/app/definition.yaml"))
	want, got := e2e.Glob(t, golden+"build-apis/out/schemas/json/*"), e2e.Glob(t, to.Dir+"/json/*")
	if len(got) != len(want) {
		t.Fatalf("got the files %q, want %q", got, want)
	}
	for i, path := range want {
		e2e.Equal(t, filepath.Base(path)+" differs from the crossplane CLI's", e2e.ReadFile(t, path), e2e.ReadFile(t, got[i]))
	}
}

func TestGo(t *testing.T) {
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.Go}}
	generate(t, to, source(t, golden+"build-models-go/in/apis/d.yaml"))
	var want map[string]struct{ Decls []string }
	e2e.NoError(t, json.Unmarshal([]byte(e2e.ReadFile(t, golden+"build-models-go/outline.json")), &want))
	for name, w := range want {
		e2e.Equal(t, name+" has other declarations than the crossplane CLI's", w.Decls, outline(t, filepath.Join(to.Dir, "go", name)))
	}
}

// outline returns the declarations of a Go file as golden cases have them.
func outline(t *testing.T, path string) []string {
	t.Helper()
	fset := token.NewFileSet()
	f := e2e.Must(parser.ParseFile(fset, path, nil, 0))(t)
	var all []string
	add := func(prefix string, node any) {
		var b bytes.Buffer
		e2e.NoError(t, format.Node(&b, fset, node))
		all = append(all, prefix+strings.Join(strings.Fields(b.String()), " "))
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Body = nil
			add("", d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if d.Tok != token.VAR {
					add(d.Tok.String()+" ", s)
				}
			}
		}
	}
	return all
}

// The CRD has whatever makes a name or a type difficult in a language.
const difficult = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gateways.import.gateway}
spec:
  group: gateway.import-it.example.org
  names: {kind: Gateway, plural: gateways}
  scope: Cluster
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: |
          A gateway with """quotes""" and \ backslashes.
          It has two lines.
        required: [spec]
        properties:
          spec:
            type: object
            required: [from, class]
            properties:
              from: {type: string, description: "Ends with a quote \""}
              class: {type: string, enum: [a-b, a_b, "", "1"]}
              "dash-ed": {type: string}
              dashEd: {type: string}
              $ref: {type: string}
              if: {type: boolean, default: true}
              json: {type: integer, format: int64, enum: [1, -2]}
              model_config: {type: string}
              Policy: {type: object, properties: {a: {type: string}}}
              policy: {type: object, properties: {b: {type: string}}}
              same: {type: object, properties: {policy: {type: object, properties: {b: {type: string}}}}}
              datetime: {type: string, format: date-time}
              float: {type: number}
              text: {type: string, default: "a ${b}"}
              lists: {type: array, items: {type: array, items: {type: object, properties: {x: {type: integer, format: int32}}}}}
              map: {type: object, additionalProperties: {type: object, properties: {y: {type: string, enum: [p]}}}}
              maps: {type: object, additionalProperties: {type: array, items: {type: string}}}
              ratio: {type: number, enum: [0.5, -1, 1e21]}
              always: {type: boolean, enum: [true]}
              any: {x-kubernetes-preserve-unknown-fields: true}
              open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {z: {type: string}}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              ports: {type: array, items: {x-kubernetes-int-or-string: true}}
              limit: {type: integer, maximum: 5, exclusiveMaximum: true, minimum: 0}
          status:
            type: object
            properties: {}
`

func difficultSource(t *testing.T) models.Source {
	path := filepath.Join(t.TempDir(), "crd.yaml")
	e2e.WriteFile(t, path, difficult)
	return source(t, path)
}

func TestGoCompiles(t *testing.T) {
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.Go}}
	generate(t, to, difficultSource(t), source(t, golden+"build-models-go/in/apis/d.yaml"))
	dir := to.Folder(models.Go)
	e2e.WriteFile(t, filepath.Join(dir, "model_test.go"), `package models

import (
	"encoding/json"
	"testing"

	v1beta1 "dev.crossplane.io/models/org/example/import-it/gateway/v1beta1"
	v1 "dev.crossplane.io/models/org/example/platform/v1"
)

func TestModels(t *testing.T) {
	const text = `+"`"+`{"apiVersion":"platform.example.org/v1","metadata":{"name":"a"},"spec":{"ports":[{"port":1,"target":"http"}]}}`+"`"+`
	var s v1.Site
	if err := json.Unmarshal([]byte(text), &s); err != nil || !s.APIVersion.Valid() {
		t.Fatal(err)
	}
	if out, err := json.Marshal(s); err != nil || string(out) != text {
		t.Fatal(string(out), err)
	}
	_ = v1beta1.Gateway{Spec: &v1beta1.GatewaySpec{Policy: &v1beta1.GatewaySpecPolicy{}}}
}
`)
	compile(t, dir, "test", "-vet=all")
}

// compile runs a command of go in a module with models.
func compile(t *testing.T, dir string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append(command, "./...")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("dial tcp")) || bytes.Contains(out, []byte("disabled by GOPROXY")) {
			t.Skip("the module github.com/oapi-codegen/runtime is not available")
		}
		t.Errorf("the models do not compile: %v\n%s", err, out)
	}
}

func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on PATH")
	}
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.Python}}
	generate(t, to, difficultSource(t), source(t, golden+"build-apis/in/apis/app/definition.yaml"))
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Dir = to.Folder(models.Python)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		e2e.Output(t, cmd)
	}
	files := e2e.Glob(t, to.Dir+"/python/models/org/example/*/*/*.py")
	for _, file := range files {
		run("-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", file)
	}
	if exec.CommandContext(t.Context(), python, "-c", "import pydantic").Run() != nil {
		t.Skip("pydantic is not installed")
	}
	run("-c", `
from models.org.example.platform.app import v1alpha1
from models.org.example.import_it.gateway import v1beta1
app = v1alpha1.App(metadata={"name": "a"}, spec=v1alpha1.Spec(size="small", ports=[v1alpha1.Port(target="http")], free={"a": 1}))
assert app.apiVersion == "platform.example.org/v1alpha1", app
assert app.spec.replicas == 2 and app.spec.ports[0].target == "http", app
assert app.metadata.name == "a"
gateway = v1beta1.Gateway.model_validate({"spec": {"from": "x", "class": "a-b", "json": 1, "datetime": "2026-01-01T00:00:00Z", "open": {"z": "1", "more": 2}, "same": {"policy": {"b": "2"}}}})
out = gateway.model_dump(by_alias=True, exclude_none=True, mode="json")
assert out["spec"]["from"] == "x" and out["spec"]["open"]["more"] == 2 and out["spec"]["if"] is True, out
assert v1beta1.Gateway(spec=v1beta1.Spec(from_="x", class_="1")).spec.from_ == "x"
try:
    v1alpha1.Spec(size="medium")
    raise SystemExit("the enum is not checked")
except ValueError:
    pass
`)
}

func TestKCL(t *testing.T) {
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.KCL}}
	generate(t, to, difficultSource(t), source(t, golden+"build-apis/in/apis/app/definition.yaml"))
	app := e2e.ReadFile(t, to.Dir+"/kcl/org/example/platform/v1alpha1/app.k")
	for _, want := range []string{
		"import k8s.apimachinery.pkg.apis.meta.v1 as metav1\n",
		"schema App:\n", `    apiVersion: "platform.example.org/v1alpha1" = "platform.example.org/v1alpha1"` + "\n", "    metadata?: metav1.ObjectMeta\n", "    spec: AppSpec\n",
		"    ports?: [AppSpecPortsItem]\n", `    size: "small" | "large"` + "\n", "    target?: int | str\n", "    replicas?: int = 2\n", "    labels?: {str:str}\n",
		"schema AppList:\n", "    items: [App]\n",
	} {
		e2e.Has(t, "the model of the XR has each field with its type and default", app, want)
	}
	gateway := e2e.ReadFile(t, to.Dir+"/kcl/org/example/import_it/gateway/v1beta1/gateway.k")
	for _, want := range []string{`    "dash-ed"?: str`, "    $if?: bool = True", `    "$ref"?: str`, `    text?: str = r"a ${b}"`, "    [...str]: any"} {
		e2e.Has(t, "names and texts are valid in KCL", gateway, want)
	}
	e2e.Has(t, "the model of the object's metadata is generated", e2e.ReadFile(t, to.Dir+"/kcl/k8s/apimachinery/pkg/apis/meta/v1/object_meta.k"), "schema ObjectMeta:\n")
}

func TestGenerateUsesTheLockFile(t *testing.T) {
	to := models.Target{Dir: filepath.Join(t.TempDir(), "schemas"), Languages: []string{models.JSON}}
	calls := 0
	s := models.Source{ID: "xpkg://registry.example.org/p:v1", Version: "sha256:1", Definitions: func(context.Context) (models.Definitions, error) {
		calls++
		return models.Definitions{}, nil
	}}
	generate(t, to, s)
	generate(t, to, s)
	e2e.Equal(t, "a source with the version in the lock file was read", 1, calls)
	s.Version = "sha256:2"
	generate(t, to, s)
	e2e.Equal(t, "a source with another version was not read", 2, calls)
	e2e.NoError(t, os.Mkdir(to.Folder(models.JSON), 0o755))
	to.Languages = append(to.Languages, models.Python)
	generate(t, to, s)
	e2e.Equal(t, "a source was not read for another language", 3, calls)
	want := "{\n  \"packages\": {\n    \"xpkg://registry.example.org/p:v1\": \"sha256:2\"\n  }\n}\n"
	e2e.Equal(t, "the lock file has the digest of the changed source", want, e2e.ReadFile(t, filepath.Join(to.Dir, models.LockFile)))
}

// After a crash of the machine, a file may be empty although the lock file names its source.
func TestGenerateReplacesEmptyFiles(t *testing.T) {
	to := models.Target{Dir: t.TempDir(), Languages: []string{models.Python}}
	s := source(t, golden+"build-apis/in/apis/app/definition.yaml")
	generate(t, to, s)
	all := e2e.Glob(t, to.Folder(models.Python)+"/models/*/*/*/*/*.py")
	if !to.Complete() {
		t.Fatalf("the files %v are not complete", all)
	}
	i := slices.IndexFunc(all, func(path string) bool { return filepath.Base(path) != "__init__.py" })
	want := e2e.ReadFile(t, all[i])
	e2e.NoError(t, os.Truncate(all[i], 0))
	if to.Complete() {
		t.Errorf("models with the empty file %s are complete", all[i])
	}
	generate(t, to, s)
	e2e.Equal(t, "an empty file is written again", want, e2e.ReadFile(t, all[i]))
}

func TestUpboundLayout(t *testing.T) {
	to := models.Target{Dir: t.TempDir(), Languages: []string{"go", "json", "kcl", "python"}, Upbound: true}
	generate(t, to, source(t, golden+"build-apis/in/apis/app/definition.yaml"))
	for _, file := range []string{
		"go/models/org/example/platform/v1alpha1/app.go", "json/models/" + models.IndexFile,
		"kcl/models/org/example/platform/v1alpha1/app.k", "python/models/org/example/platform/app/v1alpha1.py",
	} {
		e2e.NoError(t, e2e.Err(os.Stat(filepath.Join(to.Dir, filepath.FromSlash(file)))))
	}
	if mod := e2e.ReadFile(t, to.Dir+"/go/models/go.mod"); !strings.HasPrefix(mod, "module dev.upbound.io/models\n") {
		t.Errorf("got go.mod %s", mod)
	}
}
