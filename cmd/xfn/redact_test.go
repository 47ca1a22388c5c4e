package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestCredentialsAreNotPrinted runs each command that has the flag --registry with
// credentials in each kind of reference that it accepts, and with each report that it writes.
func TestCredentialsAreNotPrinted(t *testing.T) {
	const ref = "ada:s3cret@registry.invalid/a:v1"
	passwords := []string{"s3cret", "/s3cret", `\s3cret`, `a "s3cret' b`}
	t.Setenv("XFN_CACHE_DIR", t.TempDir())
	t.Chdir(t.TempDir())
	for path, text := range map[string]string{
		"package/crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: c}\nspec: {dependsOn: [{function: ada:s3cret@registry.invalid/a, version: v1.0.0}]}\n",
		"fn.yaml":                 "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f}\nspec: {package: " + ref + "}\n",
		"xr.yaml":                 "apiVersion: example.org/v1\nkind: XR\nmetadata: {name: x}\n",
		"c.yaml":                  "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: XR}\n  mode: Pipeline\n  pipeline: [{step: a, functionRef: {name: f}}]\n",
		"operation.yaml":          "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: o}\nspec: {mode: Pipeline, pipeline: [{step: a, functionRef: {name: f}}]}\n",
		"suite.yaml":              "apiVersion: xfn.dev/v1alpha1\nkind: TestSuite\ndefaults: {xr: xr.yaml, composition: c.yaml, functions: fn.yaml}\ncases: [{name: a, expect: {fatal: x}}]\n",
		"io.yaml":                 "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\n",
		"root/program":            "text\n",
		"shop.yaml":               "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec: {repository: registry.invalid/p}\n",
		"project.yaml":            "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec: {repository: " + ref + "}\n",
		"crd.yaml":                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.org}\nspec:\n  group: example.org\n  names: {kind: A, plural: as}\n  scope: Cluster\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {image: {type: string, pattern: x}}}}}]\n",
		"bad.yaml":                "apiVersion: example.org/v1\nkind: A\nmetadata: {name: a}\nimage: " + ref + "\n",
	} {
		e2e.WriteFile(t, path, text)
	}
	lines := strings.Split(`
run REF
xpkg build -f package -o o.xpkg
xpkg build -f REF -o o.xpkg
xpkg build -f package --base-image REF --embed-runtime-dir root --entrypoint program -o o.xpkg
xpkg build -f package --embed-runtime-remote REF -o o.xpkg
xpkg build -f package --embed-runtime-image-tarball REF -o o.xpkg
xpkg copy REF registry.invalid/b:v1
xpkg copy registry.invalid/b:v1 REF
xpkg diff REF REF
xpkg extract REF
xpkg get-crds REF
xpkg get-crds package fn.yaml
xpkg inspect REF
xpkg inspect https://REF
xpkg lint REF
xpkg lint package
xpkg lint package --format json
xpkg pull REF
xpkg push -f a.xpkg REF
xpkg push -f REF registry.invalid/b:v1
xpkg push -f a.xpkg registry.invalid/b:v1 --tag REF
xpkg push -f a.xpkg registry.invalid/b:v1 --mount-from REF
image -o image.tar --base-image REF
image REF
xpkg sign --sign-key key.pem REF
xpkg verify --key key.pem REF
alpha run REF io.yaml
alpha start --registry REF --address REF
render xr.yaml c.yaml fn.yaml
render xr.yaml c.yaml REF
render xr.yaml c.yaml package
render xr.yaml c.yaml --builtin REF
render xr.yaml c.yaml --builtin f=REF
render xr.yaml c.yaml --package REF
render xr.yaml c.yaml --package f=REF
render xr.yaml c.yaml fn.yaml --validate --crd REF
operation render operation.yaml fn.yaml
operation render operation.yaml REF
test suite.yaml
test suite.yaml --format json
test suite.yaml --junit out.xml
test suite.yaml --builtin f=REF --format json
test suite.yaml --builtin f=REF --junit out.xml
test suite.yaml --builtin f=REF
test REF
dev xr.yaml c.yaml --builtin f=REF
diff c.yaml fn.yaml -o xr.yaml
diff c.yaml REF -o xr.yaml
rbac REF
rbac suite.yaml --builtin f=REF
upgrade-check suite.yaml --with f=REF
upgrade-check suite.yaml --with f=REF --format json
validate REF xr.yaml
validate xr.yaml REF
validate package,fn.yaml xr.yaml
validate package,fn.yaml xr.yaml --format json
validate package,fn.yaml xr.yaml --format junit
validate crd.yaml bad.yaml
validate crd.yaml bad.yaml --format json
validate crd.yaml bad.yaml --format junit
xpkg lint REF --format json
lock fn.yaml
lock package
lock REF
lock --base-image REF
lock fn.yaml --update=REF
project init demo -r REF
composition generate -f project.yaml REF
dependency add -f project.yaml REF
dependency add -f shop.yaml REF
dependency update-cache -f REF
project build --repository REF
project build -f project.yaml
project push -f project.yaml --repository REF
project pull REF
project copy REF registry.invalid/b:v1
project copy registry.invalid/b:v1 REF
`[1:], "\n")
	for _, line := range lines[:len(lines)-1] {
		for i, password := range passwords {
			if i > 0 && !strings.Contains(line, "REF") {
				break // The other passwords are only in arguments.
			}
			t.Run(line+" "+password, func(t *testing.T) {
				args := strings.Fields("xfn " + line)
				for i, arg := range args {
					args[i] = strings.ReplaceAll(arg, "REF", strings.ReplaceAll(ref, "s3cret", password))
				}
				if text := output(t, args); text == "" || strings.Contains(text, "s3cret") {
					t.Errorf("expected an output without the password, got:\n%s", text)
				}
			})
		}
	}
	for path := range commandsWith(t, "registry") {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, path+" ") }) {
			t.Errorf("the commands of this test must include %q, which reads from registries", path)
		}
	}
}

// output runs the program and returns what it writes to stdout, stderr and out.xml.
func output(t *testing.T, args []string) string {
	t.Helper()
	out := e2e.Must(os.CreateTemp(t.TempDir(), ""))(t)
	defer out.Close()
	null := e2e.Must(os.Open(os.DevNull))(t)
	defer null.Close()
	run(t.Context(), args, null, out, out)
	text := []byte(e2e.ReadFile(t, out.Name()))
	if slices.Contains(args, "out.xml") {
		xml := []byte(e2e.ReadFile(t, "out.xml"))
		text = append(text, xml...)
	}
	return string(text)
}

// commandsWith returns the commands that have a flag.
func commandsWith(t *testing.T, flag string) map[string]bool {
	t.Helper()
	model := e2e.Must(kong.New(&app{}))(t)
	found := map[string]bool{}
	for _, leaf := range model.Model.Leaves(true) {
		if hasFlag(leaf, flag) {
			found[leaf.Path()] = true
		}
	}
	return found
}
