package project_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

const (
	xrd = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.example.org}
spec:
  group: example.org
  names: {kind: App, plural: apps}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string}}}}}}
`
	composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: acme-democompose}
`
)

// files are the files of a project that has one function in go-templating.
func files(more map[string]string) map[string]string {
	all := map[string]string{
		project.File:                        crossplane,
		"apis/definition.yaml":              xrd,
		"apis/composition.yaml":             composition,
		"functions/compose/a.yaml.gotmpl":   "# {{ .observed }}\n",
		"functions/compose/b/c.yaml.gotmpl": "# more\n",
	}
	maps.Copy(all, more)
	return all
}

// lay writes the files of a project with e2e.WriteFile, in the order of their names or the reverse.
// It returns the path of the project file.
func lay(t testing.TB, files map[string]string, reverse bool) string {
	t.Helper()
	dir := t.TempDir()
	names := slices.Sorted(maps.Keys(files))
	if reverse {
		slices.Reverse(names)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		e2e.WriteFile(t, path, files[name])
		if when := time.Unix(int64(len(name))*1000, 0); reverse && !strings.HasPrefix(files[name], "-> ") {
			e2e.NoError(t, os.Chtimes(path, when, when))
		}
	}
	return filepath.Join(dir, project.File)
}

func bases(t testing.TB, architectures ...string) func(context.Context, string, []v1.Platform) (*runtimeimage.Images, error) {
	return func(context.Context, string, []v1.Platform) (*runtimeimage.Images, error) {
		var all []v1.Image
		for _, arch := range architectures {
			all = append(all, remotetest.Configured(t, empty.Image, v1.Platform{OS: "linux", Architecture: arch}, v1.Config{Entrypoint: []string{"/function"}}))
		}
		return &runtimeimage.Images{All: all}, nil
	}
}

func build(t testing.TB, path string, o project.Options) (*project.Set, error) {
	t.Helper()
	p := e2e.Must(project.Read(t.Context(), path))(t)
	if o.Base == nil {
		o.Base = bases(t, "amd64", "arm64")
	}
	o.Images.TempDir = t.TempDir()
	set, err := project.Build(t.Context(), p, o)
	if err == nil {
		t.Cleanup(func() { e2e.NoError(t, set.Close()) })
	}
	return set, err
}

// built builds a project and returns the path of its file.
func built(t testing.TB, path string) string {
	t.Helper()
	set := e2e.Must(build(t, path, project.Options{}))(t)
	file := filepath.Join(t.TempDir(), "demo.xpkg")
	e2e.NoError(t, set.WriteFile(t.Context(), file, nil))
	return file
}

// The file depends only on the content of the project: not on times, on the order in which
// files were made, or on the directory.
func TestBuildIsReproducible(t *testing.T) {
	a := e2e.Must(os.ReadFile(built(t, lay(t, files(nil), false))))(t)
	e2e.Equal(t, "builds of the same files have the same bytes", string(e2e.Must(os.ReadFile(built(t, lay(t, files(nil), true))))(t)), string(a))
}

// A digest of zeros in a description is not treated as the digest of a function.
func TestBuildKeepsDigestsOfTheUser(t *testing.T) {
	const zeros = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	described := strings.Replace(crossplane, "  repository:", "  description: pin it by @"+zeros+"\n  repository:", 1)
	set := e2e.Must(build(t, lay(t, files(map[string]string{project.File: described}), false), project.Options{}))(t)
	text := e2e.Must(xpkg.PackageYAML(t.Context(), set.Configuration))(t)
	digest := e2e.Must(set.Functions[0].Index.Digest())(t)
	for _, want := range []string{"pin it by @" + zeros, "version: " + digest.String()} {
		e2e.Has(t, "the description keeps its zeros, and the dependency has the digest of the function", string(text), want)
	}
}

// Each problem of a project is an error that names what to correct.
func TestBuildRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	e2e.NoError(t, os.WriteFile(outside, []byte(xrd), 0o600))
	tarball := crossplane + "  architectures: [amd64]\n  functions: [{source: Tarball, tarball: {name: compose, pathPrefix: images/c}}]\n"
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   []string
	}{
		"LinkOut":      {"a file outside of the project is not packed", map[string]string{"apis/x.yaml": "-> " + outside}, []string{"apis/x.yaml: the link leads out of the project"}},
		"LinkLoop":     {"a loop of links has no target", map[string]string{"apis/x.yaml": "-> y.yaml", "apis/y.yaml": "-> x.yaml"}, []string{"apis/x.yaml: the target of the link cannot be read", "apis/y.yaml"}},
		"APIsOut":      {"a directory outside of the project is not packed", map[string]string{"apis/definition.yaml": "", "apis/composition.yaml": "", project.File: crossplane + "  paths: {apis: linked}\n", "linked": "-> " + filepath.Dir(outside)}, []string{"leads out of the project"}},
		"ExamplesOut":  {"a linked directory of examples is in the project", map[string]string{"examples": "-> " + filepath.Dir(outside)}, []string{`examples": the directory is a link that leads out of the project`}},
		"FunctionsOut": {"a linked directory of functions is in the project", map[string]string{"functions/compose/a.yaml.gotmpl": "", "functions/compose/b/c.yaml.gotmpl": "", project.File: crossplane + "  paths: {functions: linked}\n", "linked": "-> " + filepath.Dir(outside)}, []string{`linked": the directory is a link that leads out of the project`}},
		"ExampleOut":   {"an example outside of the project is not packed", map[string]string{"examples/x.yaml": "-> " + outside}, []string{"examples/x.yaml: the link leads out of the root"}},
		"ReadMe":       {"a file beside templates is named", map[string]string{"functions/compose/README.md": "a\n"}, []string{`building function "compose"`, "README.md is not a template"}},
		"Language":     {"the files of all languages are named", map[string]string{"functions/other/main.rb": "puts 1\n"}, []string{`building function "other"`, "go.mod", "kcl.mod (kcl)"}},
		"TemplateLink": {"templates are files", map[string]string{"functions/compose/x.gotmpl": "-> a.yaml.gotmpl"}, []string{`building function "compose"`, "x.gotmpl is a link or a special file, expected a template"}},
		"Labels":       {"two functions would have one name", map[string]string{"functions/a.b/x.gotmpl": "a\n", "functions/a-b/x.gotmpl": "a\n"}, []string{`the functions "a-b" and "a.b" would both have the name "acme-demoa-b"`}},
		"Name":         {"the name of a directory is part of a repository", map[string]string{"functions/Com_pose/x.gotmpl": "a\n"}, []string{`the function's name is "Com_pose"`}},
		"Listed":       {"a listed function has a directory", map[string]string{project.File: crossplane + "  functions: [{source: Directory, directory: {name: other}}]\n"}, []string{`:6: the function "other" has no directory`}},
		"NoTarball":    {"each architecture has a tarball", map[string]string{project.File: tarball}, []string{`:7: the function has no runtime image for architecture "amd64"`, "images/c-amd64.tar.gz"}},
		"BadTarball":   {"a tarball is an image", map[string]string{project.File: tarball, "images/c-amd64.tar": "x"}, []string{"c-amd64.tar"}},
		"TarballOut":   {"a tarball is in the project", map[string]string{project.File: tarball, "images/c-amd64.tar": "-> " + outside}, []string{"leads out of the project"}},
		"Kinds":        {"a file is packed as a whole", map[string]string{"apis/x.yaml": composition + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"}, []string{"apis/x.yaml:11: kind ConfigMap of v1 cannot be in a package", "apis/x.yaml:3"}},
		"Syntax":       {"an invalid file is not left out", map[string]string{"apis/x.yaml": "a: [\n"}, []string{"apis/x.yaml"}},
		"Example":      {"an example must be valid", map[string]string{"examples/x.yaml": "apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\nspec: {size: 1}\n"}, []string{"examples/x.yaml:4"}},
		"Version":      {"problems of the generated metadata name the project file", map[string]string{project.File: strings.Replace(crossplane, "spec:\n", "spec:\n  crossplane: {version: latest}\n", 1)}, []string{project.File + `: spec.crossplane.version is "latest"`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := build(t, lay(t, files(tc.files), false), project.Options{})
			for _, want := range tc.want {
				e2e.ErrorHas(t, tc.reason, err, want)
			}
			if strings.Contains(string(hint.Of(err)), string(hint.Ignore)) {
				t.Errorf("%s: the hint %q names an option that projects lack", tc.reason, hint.Of(err))
			}
		})
	}
}

// A base image must have each platform of the function.
func TestBuildNeedsTheBaseOfEachPlatform(t *testing.T) {
	e2e.ErrorHas(t, "a base image without a platform of the function is an error", e2e.Err(build(t, lay(t, files(nil), false), project.Options{Base: bases(t, "amd64")})), "arm64")
	set, err := build(t, lay(t, files(nil), false), project.Options{Base: bases(t, "amd64"), Platforms: []v1.Platform{{OS: "linux", Architecture: "amd64"}}})
	if err != nil || len(set.Functions) != 1 || len(set.Functions[0].Images) != 1 {
		t.Errorf("got %v, %v, want one image for the given platform", set, err)
	}
}

// A mirror of the registry helps only if the registry is what fails.
func TestBuildAdvisesMirror(t *testing.T) {
	unknown := remote.New(remote.Options{}).Explain(name.MustParseReference("r.example/a:v1"), &transport.Error{StatusCode: 404})
	mirror := crossplane + "  imageConfigs: [{spec: {matchImages: [{prefix: xpkg.crossplane.io/}], rewriteImage: {prefix: r.example/}}}]\n"
	for _, tc := range []struct {
		reason, file string
		err          error
		text, hint   string
	}{
		{"a registry that lacks the image may have a mirror", crossplane, unknown, `has no "a:v1"`, "name a mirror of the registry in spec.imageConfigs of the project file; or check the spelling of the repository and the tag"},
		{"the reference of a mirror is made of prefixes", mirror, unknown, `crossplane-project.yaml:6 rewrites "xpkg.crossplane.io/`, `correct the prefixes of the ImageConfig, of which "xpkg.crossplane.io/" became "r.example/"; or check`},
		{"an error of the cache is not about a registry", crossplane, hint.Wrap(errors.New("no cache"), "set one"), "no cache", "set one"},
	} {
		refused := func(context.Context, string, []v1.Platform) (*runtimeimage.Images, error) { return nil, tc.err }
		_, err := build(t, lay(t, files(map[string]string{project.File: tc.file}), false), project.Options{Base: refused})
		e2e.ErrorHas(t, tc.reason, err, tc.text)
		if got := string(hint.Of(err)); !strings.HasPrefix(got, tc.hint) {
			t.Errorf("%s: got the hint %q, want %q", tc.reason, got, tc.hint)
		}
	}
}

const dependencies = "  dependencies:\n"

// dependency returns the field dependencies of a project.
func dependency(version string) string {
	return dependencies + `  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: registry.example.org/acme/provider-a, version: "` + version + "\"}}\n"
}

// The crossplane CLI builds what only a cluster or a registry would refuse: xfn warns of it.
func TestBuildTolerates(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		want   string
	}{
		"NoHost":     {"the file of packages needs no registry", map[string]string{project.File: strings.Replace(crossplane, "registry.example.org/", "", 1)}, `crossplane-project.yaml:5: spec.repository is "acme/demo", which names no registry`},
		"Name":       {"the name of a project is any string", map[string]string{project.File: strings.Replace(crossplane, "name: demo", "name: My Demo_1", 1)}, `crossplane-project.yaml:3: metadata.name is "My Demo_1", which Kubernetes does not allow`},
		"Dependency": {"a dependency needs no registry", map[string]string{project.File: crossplane + "  dependencies:\n  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: acme/x, version: v1.0.0}}\n"}, `crossplane-project.yaml:7: spec.dependencies[0].xpkg.package is "acme/x", which names no registry`},
		"Function":   {"the name of a function is part of a repository", map[string]string{"functions/a_b/x.gotmpl": "a\n"}, `no pipeline calls the function "a_b", whose name in pipelines is acme-demoab`},
		"Version":    {"a cluster resolves the versions of dependencies", map[string]string{project.File: crossplane + dependency("latest")}, `crossplane-project.yaml:7: spec.dependencies[0].xpkg.version is "latest", which is neither`},
		"Twice":      {"a cluster resolves all constraints of a package", map[string]string{project.File: crossplane + dependency("v1.0.0") + dependency(">=v1.0.0")[len(dependencies):]}, `crossplane-project.yaml:8: spec.dependencies[1].xpkg depends on "registry.example.org/acme/provider-a", as spec.dependencies[0].xpkg already does`},
	} {
		t.Run(name, func(t *testing.T) {
			set := e2e.Must(build(t, lay(t, files(tc.files), false), project.Options{Lint: xpkg.Strict}))(t)
			if len(set.Warnings) != 1 || !strings.Contains(set.Warnings.Error(), tc.want) {
				t.Errorf("%s: got warnings %v, want one with %q", tc.reason, set.Warnings, tc.want)
			}
		})
	}
}

// A tarball must be for the architecture in its name.
func TestBuildChecksArchitecturesOfTarballs(t *testing.T) {
	path := lay(t, files(map[string]string{
		project.File: crossplane + "  architectures: [arm64]\n  functions: [{source: Tarball, tarball: {name: compose, pathPrefix: c}}]\n",
	}), false)
	img := remotetest.Configured(t, empty.Image, v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{})
	tarball := filepath.Join(filepath.Dir(path), "c-arm64.tar")
	e2e.NoError(t, archive.WriteTagged(t.Context(), tarball, []archive.Tagged{{Tag: "a:b", Image: img}}, nil))
	e2e.ErrorHas(t, "a tarball for another architecture is an error", e2e.Err(build(t, path, project.Options{})), `is for architecture "amd64", expected "arm64"`)
}

// Whatever the crossplane CLI leaves out without a message is a warning with the file.
func TestLint(t *testing.T) {
	dependency := func(kind, name, more string) string {
		return "  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: " + kind + ", package: registry.example.org/" + name + ", version: v1.0.0" + more + "}}\n"
	}
	calls := func(function string) string { return strings.Replace(composition, "acme-democompose", function, 1) }
	unused := "functions/compose: no pipeline calls"
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   []string // RULE PATH:LINE: TEXT
	}{
		"Clean":         {"a project without problems has no warnings", nil, nil},
		"Extension":     {"only extensions in lower case count, as in the crossplane CLI", map[string]string{"apis/x.YAML": xrd}, []string{"left-out apis/x.YAML: the file is left out: its extension"}},
		"Elsewhere":     {"a path of APIs that does not exist is on its line", map[string]string{project.File: crossplane + "  paths:\n    apis: api\n"}, []string{`left-out crossplane-project.yaml:7: spec.paths.apis: there is no directory "api", did you mean apis?`, unused}},
		"NoFunctions":   {"a function that is not found may be in another directory", map[string]string{project.File: crossplane + "  paths: {functions: fns}\n"}, []string{`function-ref apis/composition.yaml:9: no dependency or embedded function of the project has the name "acme-democompose"; `}},
		"JSON":          {"a definition in a file for JSON is left out", map[string]string{"apis/definition.yaml": "", "apis/definition.json": xrd, "apis/other.json": "{}"}, []string{"missing-xrd apis/composition.yaml:5", "left-out apis/definition.json: the file is left out: its extension"}},
		"OtherKind":     {"a file of another kind is left out", map[string]string{"apis/x.yaml": "apiVersion: v1\nkind: Secret\n"}, []string{"left-out apis/x.yaml:1: the file is left out"}},
		"HiddenAPI":     {"an API behind another kind is lost", map[string]string{"apis/x.yaml": "kind: Secret\n---\n" + strings.Replace(composition, "name: apps}", "name: b}", 1)}, []string{"left-out apis/x.yaml:3: the file is left out, because its first object is Secret of no apiVersion, so the Composition of"}},
		"Suite":         {"a test suite is not part of a package", map[string]string{"apis/x.yaml": "apiVersion: xfn.dev/v1alpha1\nkind: TestSuite\n"}, nil},
		"Operations":    {"an API in the directory of operations is left out", map[string]string{"operations/x.yaml": xrd}, []string{"left-out operations/x.yaml:1"}},
		"Replaced":      {"an operation replaces the API of the same path", map[string]string{"operations/definition.yaml": "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: o}\nspec: {mode: Pipeline, pipeline: [{step: a, functionRef: {name: acme-democompose}}]}\n"}, []string{"missing-xrd apis/composition.yaml:5", "replaced apis/definition.yaml: "}},
		"LinkedFolder":  {"links to directories are not followed", map[string]string{"apis/more": "-> ../functions"}, []string{"link apis/more: the link leads to a directory"}},
		"LinkedSource":  {"a link to a directory is not a function", map[string]string{"functions/more": "-> compose"}, []string{"link functions/more: the link leads to a directory, which is not a function"}},
		"Call":          {"a call of an unknown function has the name that was meant", map[string]string{"apis/composition.yaml": calls("acme-demo-compose")}, []string{`function-ref apis/composition.yaml:9: no dependency or embedded function of the project has the name "acme-demo-compose": is it acme-democompose?`, unused}},
		"CallOperation": {"operations call functions, too", map[string]string{"operations/x.yaml": "apiVersion: ops.crossplane.io/v1alpha1\nkind: CronOperation\nmetadata: {name: o}\nspec:\n  schedule: '0 3 * * *'\n  operationTemplate:\n    spec: {mode: Pipeline, pipeline: [{step: a, functionRef: {name: other}}]}\n"}, []string{"function-ref operations/x.yaml:7: "}},
		"Provider":      {"a Provider is not a function", map[string]string{project.File: crossplane + "  dependencies:\n" + dependency("Provider", "x", ""), "apis/composition.yaml": calls("x")}, []string{`function-ref apis/composition.yaml:9: the dependency "registry.example.org/x" is a Provider and not a Function`, unused}},
		"APIOnly":       {"a function that is needed for its schemas is not installed", map[string]string{project.File: crossplane + "  dependencies:\n" + dependency("Function", "x", ", apiOnly: true"), "apis/composition.yaml": calls("x")}, []string{"function-ref apis/composition.yaml:9: the dependency", unused}},
		"Unused":        {"a dependency that no pipeline calls is on its line", map[string]string{project.File: crossplane + "  dependencies:\n" + dependency("Function", "x", "")}, []string{"unused-function crossplane-project.yaml:7: "}},
		"Transitive":    {"a Configuration may install functions and XRDs", map[string]string{project.File: crossplane + "  dependencies:\n" + dependency("Configuration", "x", ""), "apis/definition.yaml": "", "apis/composition.yaml": calls("other")}, []string{unused}},
		"MissingXRD":    {"a Composition needs its XRD", map[string]string{"apis/definition.yaml": ""}, []string{"missing-xrd apis/composition.yaml:5: no XRD of the project defines kind App of group example.org"}},
		"Example":       {"an example must validate", map[string]string{"examples/x.yaml": "apiVersion: example.org/v1\nkind: App\nmetadata: {name: a}\nspec: {sise: a}\n"}, []string{"example examples/x.yaml:4: "}},
		"ProjectFile":   {"a warning about the project file counts", map[string]string{project.File: crossplane + "  architectures: [amd46]\n"}, []string{"project-file crossplane-project.yaml:6: spec.architectures[0] is \"amd46\", did you mean amd64?"}},
		"NameOnce":      {"the names of functions begin with the name of the project", map[string]string{project.File: strings.Replace(crossplane, "name: demo", "name: My Demo_1", 1)}, []string{"metadata-name crossplane-project.yaml:3: metadata.name"}},
		"ErrorToo":      {"an error does not hide warnings", map[string]string{"apis/x.yaml": "apiVersion: v1\nkind: Secret\n", "examples/x.yaml": "a: 1\n"}, []string{"left-out apis/x.yaml:1", "object-type examples/x.yaml:1"}},
		"EmptyFunction": {"a directory without source is not a function", map[string]string{"functions/compose/x.gotmpl": "", "functions/compose/.keep": ""}, []string{`function-source functions/compose: detecting the language of`}},
		"Template":      {"a mistake in a template has a file and a line", map[string]string{"functions/compose/x.gotmpl": "{{ $xr := .observed.composite.resource }}\nname: {{ $xt }}\n"}, []string{`function-source functions/compose/x.gotmpl:2: undefined variable "$xt"`}},
		"Program":       {"a mistake in a program has a file and a line", map[string]string{"functions/compose/kcl.mod": "", "functions/compose/main.k": "\na = {\n"}, []string{"unused-template", "function-source functions/compose/main.k:2: '{' was never closed"}},
		"Models":        {"a new clone lacks the models that a build generates, and has a template of an earlier language", map[string]string{"functions/compose/kcl.mod": "[dependencies]\nmodels = { path = \"model\" }\n", "functions/compose/main.k": "a = 1\n"}, []string{"unused-template functions/compose: the function is in kcl, because it has kcl.mod, and does not use its templates: a.yaml.gotmpl"}},
		"FunctionFile":  {"examples of functions are checked", map[string]string{"functions/compose/go.mod": "module a\n", "functions/compose/examples/x.yaml": "a: 1\n"}, []string{"object-type functions/compose/examples/x.yaml:1", "unused-template functions/compose: the function is in go"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := lay(t, files(tc.files), false)
			report := e2e.Must(project.Lint(t.Context(), e2e.Must(project.Read(t.Context(), path))(t), project.Options{Lint: xpkg.Warn}))(t)
			var got []string
			for _, f := range report.Problems {
				got = append(got, f.Rule+" "+strings.ReplaceAll(f.Err().Error(), filepath.Dir(path)+"/", ""))
			}
			ok := len(got) == len(tc.want)
			for i := range min(len(got), len(tc.want)) {
				ok = ok && strings.Contains(got[i], tc.want[i])
			}
			if !ok {
				t.Errorf("%s (-want +got):\n%s", tc.reason, cmp.Diff(tc.want, got))
			}
		})
	}
}

// A project may have thousands of files.
func TestBuildManyFiles(t *testing.T) {
	all := files(nil)
	for i := range 2000 {
		all[fmt.Sprintf("apis/%d/%d.yaml", i%50, i)] = strings.Replace(composition, "name: apps}", fmt.Sprintf("name: apps-%d}", i), 1)
	}
	e2e.Equal(t, "each of the thousands of files is an object of the package", 2002, e2e.Must(build(t, lay(t, all, false), project.Options{}))(t).Objects)
}

// Lint returns errors that are not problems of the content.
func TestLintFails(t *testing.T) {
	p := e2e.Must(project.Read(t.Context(), lay(t, files(nil), false)))(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	cancel(stop)
	e2e.ErrorIs(t, "Lint returns the cause of its context", e2e.Err(project.Lint(ctx, p, project.Options{})), stop)
}
