package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
)

// write writes a file in a new directory and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	e2e.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const crossplane = "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nmetadata: {name: demo}\nspec:\n  repository: registry.example.org/acme/demo\n"

func upbound(version, spec string) string {
	return "apiVersion: meta.dev.upbound.io/" + version + "\nkind: Project\nmetadata: {name: demo}\nspec:\n  repository: registry.example.org/acme/demo\n" + spec
}

func TestRead(t *testing.T) {
	defaults := project.Paths{APIs: "apis", Functions: "functions", Examples: "examples", Tests: "tests", Operations: "operations", Schemas: "schemas"}
	both := []string{"amd64", "arm64"}
	cases := map[string]struct {
		reason, name, text string
		want               project.Project
	}{
		"Defaults": {
			"fields that are missing have the defaults of the crossplane CLI", project.File, crossplane,
			project.Project{Dialect: project.Crossplane, CrossplaneVersion: ">=v2.0.0-rc.0", Paths: defaults, Architectures: both, Languages: project.Languages},
		},
		"NoFunctions": {
			"an empty list of functions counts as missing, as for the crossplane CLI", project.File, crossplane + "  functions: []\n",
			project.Project{Dialect: project.Crossplane, CrossplaneVersion: ">=v2.0.0-rc.0", Paths: defaults, Architectures: both, Languages: project.Languages},
		},
		"Nulls": {
			"a field without a value counts as missing, as for the crossplane CLI", project.File, strings.Replace(crossplane, "{name: demo}", "{name: demo, namespace: , labels: {a: ~}}", 1) + "  license:\n  readme: ~\n  crossplane: {version: }\n  paths: {apis: }\n  imageConfigs: [~]\n",
			project.Project{Dialect: project.Crossplane, CrossplaneVersion: ">=v2.0.0-rc.0", Paths: defaults, Architectures: both, Languages: project.Languages, Labels: map[string]string{"a": ""}},
		},
		"All": {
			"all fields of the dialect Crossplane are read", "p.yaml", crossplane + `  maintainer: Ada
  source: github.com/acme/demo
  license: Apache-2.0
  description: A platform.
  readme: Read me.
  crossplane: {version: ">=v2.1.0"}
  dependencies:
  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: registry.example.org/p, version: v1, apiOnly: true}}
  - {type: crd, git: {repository: https://example.org/r, ref: main, path: crds}}
  - {type: crd, http: {url: "https://example.org/crd.yaml"}}
  - {type: k8s, k8s: {version: v1.33.0}}
  functions:
  - {source: Directory, directory: {name: a}}
  - {source: Tarball, tarball: {name: b, pathPrefix: images/b}}
  paths: {apis: x/apis, functions: ./f, examples: e, tests: t, operations: o, schemas: s}
  architectures: [riscv64]
  schemas: {languages: [json, go]}
  imageConfigs:
  - apiVersion: pkg.crossplane.io/v1beta1
    kind: ImageConfig
    metadata: {name: a}
    spec: {matchImages: [{type: Prefix, prefix: a.example.org/}], rewriteImage: {prefix: b.example.org/}}
`,
			project.Project{
				Dialect: project.Crossplane, CrossplaneVersion: ">=v2.1.0", Maintainer: "Ada", Source: "github.com/acme/demo", License: "Apache-2.0",
				Description: "A platform.", Readme: "Read me.", Architectures: []string{"riscv64"}, Languages: []string{"json", "go"},
				Paths: project.Paths{APIs: "x/apis", Functions: "f", Examples: "e", Tests: "t", Operations: "o", Schemas: "s"},
				Dependencies: []project.Dependency{
					{Type: "xpkg", Field: "spec.dependencies[0]", XPkg: &project.Package{APIVersion: "pkg.crossplane.io/v1", Kind: "Provider", Package: "registry.example.org/p", Version: "v1", APIOnly: true, Key: "package"}},
					{Type: "crd", Field: "spec.dependencies[1]", Git: &project.GitSource{Repository: "https://example.org/r", Ref: "main", Path: "crds"}},
					{Type: "crd", Field: "spec.dependencies[2]", HTTP: &project.HTTPSource{URL: "https://example.org/crd.yaml"}},
					{Type: "k8s", Field: "spec.dependencies[3]", K8s: &project.KubernetesAPI{Version: "v1.33.0"}},
				},
				Listed:   []project.Function{{Name: "a", Field: "spec.functions[0]"}, {Name: "b", Tarball: "images/b", Field: "spec.functions[1]"}},
				Rewrites: []project.Rewrite{{From: "a.example.org/", To: "b.example.org/", Field: "spec.imageConfigs[0].spec.rewriteImage.prefix"}},
			},
		},
		"UpboundV1": {
			"v1alpha1 of Upbound has no operations and no default version", project.UpboundFile, upbound("v1alpha1", "  dependsOn: [{provider: registry.example.org/p, version: v1}]\n"),
			project.Project{
				Dialect: project.Upbound, Paths: project.Paths{APIs: "apis", Functions: "functions", Examples: "examples", Tests: "tests", Schemas: ".up"}, Architectures: both, Languages: project.Languages,
				Dependencies: []project.Dependency{{Type: "xpkg", Field: "spec.dependsOn[0]", XPkg: &project.Package{APIVersion: "pkg.crossplane.io/v1", Kind: "Provider", Package: "registry.example.org/p", Version: "v1", Key: "provider"}}},
			},
		},
		"UpboundV2": {
			"v2alpha1 of Upbound has API dependencies and its own form of ImageConfigs", project.UpboundFile, upbound("v2alpha1", `  additionalMetadata: {meta.upbound.io/x: z}
  dependsOn: [{apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/f, version: v1}]
  apiDependencies: [{type: k8s, k8s: {version: v1.33.0}}]
  imageConfig: [{matchImages: [{type: Prefix, prefix: a/}], rewriteImage: {prefix: b/}}]
`),
			project.Project{
				Dialect: project.Upbound, CrossplaneVersion: ">=v2.0.0-rc.0", Architectures: both, Languages: project.Languages,
				Paths:              project.Paths{APIs: "apis", Functions: "functions", Examples: "examples", Tests: "tests", Operations: "operations", Schemas: ".up"},
				AdditionalMetadata: map[string]string{"meta.upbound.io/x": "z"},
				Dependencies: []project.Dependency{
					{Type: "xpkg", Field: "spec.dependsOn[0]", XPkg: &project.Package{APIVersion: "pkg.crossplane.io/v1", Kind: "Function", Package: "registry.example.org/f", Version: "v1", Key: "package"}},
					{Type: "k8s", Field: "spec.apiDependencies[0]", K8s: &project.KubernetesAPI{Version: "v1.33.0"}},
				},
				Rewrites: []project.Rewrite{{From: "a/", To: "b/", Field: "spec.imageConfig[0].rewriteImage.prefix"}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := write(t, tc.name, tc.text)
			got := e2e.Must(project.Read(t.Context(), path))(t)
			if len(got.Warnings) > 0 {
				t.Errorf("%s: got warnings %v", tc.reason, got.Warnings)
			}
			tc.want.Path, tc.want.Root, tc.want.APIVersion = path, filepath.Dir(path), got.APIVersion
			tc.want.Name, tc.want.Repository = "demo", "registry.example.org/acme/demo"
			e2e.Equal(t, tc.reason, &tc.want, got, cmpopts.IgnoreUnexported(project.Project{}))
		})
	}
}

func TestReadFindsAllProblems(t *testing.T) {
	cases := map[string]struct {
		reason, name, text string
		want               []string // each is a part of one line of the error
	}{
		"Functions": {
			"each listed function has its own problems", project.File, crossplane + `  functions:
  - {source: Directory, directory: {name: a}}
  - {source: Tarball, tarball: {name: a, pathPrefix: x}}
  - {source: Directory, tarball: {name: Bad_Name, pathPrefix: /x}}
  - {source: Git}
  - {}
  - {source: Tarball, tarball: {name: Bad_Name, pathPrefix: /x}}
`,
			[]string{
				`:8: spec.functions[1]: the name "a" is already used by spec.functions[0]`,
				`:9: spec.functions[2]: the source Directory requires the field directory`,
				`:10: spec.functions[3] has 0 sources`, `:10: spec.functions[3].source is "Git"`,
				`:11: spec.functions[4] has 0 sources`, `:11: spec.functions[4].source must not be empty`,
				`:12: spec.functions[5].tarball.name is "Bad_Name"`, `:12: spec.functions[5].tarball.pathPrefix is "/x", but the path must be relative`,
			},
		},
		"Empty": {
			"a name and a repository are required", "p.yaml", "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nspec:\n  architectures: []\n  schemas: {languages: []}\n",
			[]string{"metadata.name must not be empty", "spec.repository must not be empty", ":4: spec.architectures must not be empty", ":5: spec.schemas.languages must not be empty"},
		},
		"Paths": {
			"all paths must be in the project", "p.yaml", crossplane + "  paths: {apis: ., functions: ../f, examples: /e, tests: a/../../t}\n",
			[]string{`spec.paths.functions is "../f"`, `spec.paths.examples is "/e"`, `spec.paths.tests is "a/../../t"`, "spec.paths.apis is the project's own directory"},
		},
		"Schemas": {
			"the directory of schemas is removed as a whole", "p.yaml", crossplane + "  paths: {apis: s, tests: s/tests, examples: sx, schemas: ./s}\n",
			[]string{`spec.paths.apis is "s", which is in the directory of schemas, "s"`, `spec.paths.tests is "s/tests", which is`},
		},
		"SchemasAtRoot": {
			"the directory of schemas is not the project", "p.yaml", crossplane + "  paths: {schemas: .}\n",
			[]string{"spec.paths.apis is", "spec.paths.functions is", "spec.paths.examples is", "spec.paths.tests is", "spec.paths.operations is"},
		},
		"Dependencies": {
			"each dependency has one complete source", "p.yaml", crossplane + `  dependencies:
  - {type: xpkg}
  - {xpkg: {kind: Job, package: "a b"}}
  - {type: crd, git: {}, http: {}}
  - {type: crd, http: {}}
  - {type: crd, http: {url: example.org/crd.yaml}}
`,
			[]string{
				":7: spec.dependencies[0] has 0 sources", ":8: spec.dependencies[1].type must not be empty", ":8: spec.dependencies[1].xpkg.apiVersion must", ":8: spec.dependencies[1].xpkg.version must",
				`parsing repository "a b"`, `kind is "Job"`, ":9: spec.dependencies[2] has 2 sources", ":10: spec.dependencies[3].http.url must not be empty",
				`:11: spec.dependencies[4].http.url is "example.org/crd.yaml", expected a URL that begins with https:// or http://`,
			},
		},
		"Kubernetes": {"the version of Kubernetes must be the version of a release", "p.yaml", crossplane + "  dependencies:\n  - {type: k8s, k8s: {version: \"1.33\"}}\n", []string{`:7: spec.dependencies[0]: the version of k8s is "1.33", expected a release of Kubernetes, such as v1.33.0`}},
		"Itself":     {"a project does not depend on itself", "p.yaml", crossplane + "  dependencies:\n  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Configuration, package: registry.example.org/acme/demo, version: v1}}\n", []string{`:7: spec.dependencies[0].xpkg: the package "registry.example.org/acme/demo" is the project itself`}},
		"Types": {
			"values of another type are problems", "p.yaml", crossplane + "  crossplane: {version: 2}\n  architectures: amd64\n  schemas: {languages: [rust]}\n",
			[]string{":6: spec.crossplane.version: expected a string", ":7: spec.architectures: expected a list", `:8: spec.schemas.languages[0] is "rust", expected one of go, json, kcl, python`},
		},
		"Strings":      {"the crossplane CLI reads no number as one of these strings", "p.yaml", crossplane + "  license: 1\n  source: yes\n", []string{":6: spec.license: expected a string, got a number", ":7: spec.source: expected a string, got a boolean"}},
		"Architecture": {"an architecture has a name", "p.yaml", crossplane + "  architectures: ['']\n", []string{":6: spec.architectures[0] must not be empty"}},
		"Tag":          {"a repository has no tag", "p.yaml", strings.Replace(crossplane, "acme/demo", "acme/demo:v1", 1), []string{"expected a repository in lower case and without a tag"}},
		"Scheme":       {"a repository is not a URL", "p.yaml", strings.Replace(crossplane, "registry.example.org", "https://registry.example.org", 1), []string{`:5: spec.repository is not valid: parsing repository "https://registry.example.org/acme/demo": a repository is not a URL`}},
		"Name":         {"the name is a file's name", "p.yaml", strings.Replace(crossplane, "name: demo", "name: ../x", 1), []string{"cannot be the name of a file"}},
		"Upbound":      {"a repository of Upbound has a host", "p.yaml", strings.Replace(upbound("v2alpha1", "  additionalMetadata: {a: b}\n  dependsOn: [{version: v1}]\n"), "registry.example.org/", "", 1), []string{"which has no host", `key "a"`, "names 0 packages"}},
		"Version":      {"an unknown version is refused", "p.yaml", strings.Replace(crossplane, "v1alpha1", "v1beta1", 1), []string{`:1: unsupported apiVersion "dev.crossplane.io/v1beta1"`}},
		"Kind":         {"another kind is refused", "p.yaml", strings.Replace(crossplane, "Project", "Configuration", 1), []string{`:2: unsupported kind "Configuration"`}},
		"Syntax":       {"invalid YAML is refused", "p.yaml", crossplane + " x\n", []string{"p.yaml:"}},
		"NoDocument":   {"an empty file is refused", "p.yaml", "# a comment\n", []string{"no YAML document"}},
		"NotAnObject":  {"a list is refused", "p.yaml", "- a\n", []string{"expected an object, got a list"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := project.Read(t.Context(), write(t, tc.name, tc.text))
			if err == nil {
				t.Fatalf("%s: got no error", tc.reason)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tc.want) {
				t.Errorf("%s: got %d problems, want %d:\n%v", tc.reason, len(lines), len(tc.want), err)
			}
			for _, want := range tc.want {
				e2e.Has(t, tc.reason, err.Error(), want)
			}
		})
	}
}

func TestReadWarns(t *testing.T) {
	cases := map[string]struct {
		reason, name, text string
		want               []string
	}{
		"Unknown":      {"an unknown field has the name that was meant", project.File, crossplane + "  dependancies: []\n", []string{":6: spec.dependancies: there is no such field: is it dependencies?"}},
		"Documents":    {"only the first document is read", project.File, crossplane + "---\nkind: Other\n", []string{":7: the project file has further documents"}},
		"Twice":        {"the last of two equal keys is read", project.File, crossplane + "  license: a\n  license: b\n", []string{":7: key \"license\" already set"}},
		"OtherDialect": {"fields of the other dialect are not read", project.File, crossplane + "  dependsOn: []\n", []string{":6: spec.dependsOn is a field of another kind of project file, and is not read: is it spec.dependencies?"}},
		"Operations":   {"v1alpha1 of Upbound has no operations", project.UpboundFile, upbound("v1alpha1", "  paths: {operations: o}\n"), []string{"spec.paths.operations is not a field of meta.dev.upbound.io/v1alpha1"}},
		"Provider":     {"a function that is named as a Provider is not called", project.File, crossplane + "  dependencies: [{type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: registry.example.org/function-x, version: v1}}]\n", []string{"of kind Provider, but its name is the name of a Function"}},
		"TypeScript":   {"a project of a newer crossplane CLI is read without its schemas for TypeScript", project.File, crossplane + "  schemas: {languages: [typescript]}\n", []string{`:6: spec.schemas.languages[0] is "typescript", for which no schemas are generated`}},
		"Type":         {"the type of a dependency says its source", project.File, crossplane + "  dependencies: [{type: k8s, http: {url: https://x/y.yaml}}]\n", []string{`type is "k8s", expected crd`}},
		"ImageConfig":  {"a misspelled kind of an ImageConfig is read", project.File, crossplane + "  imageConfigs: [{kind: ImageConfg, spec: {}}, {spec: {}}]\n", []string{`:6: spec.imageConfigs[0].kind is "ImageConfg", expected ImageConfig`}},
		"Scheme":       {"the prefixes of an ImageConfig have no scheme", project.File, crossplane + "  imageConfigs:\n  - spec:\n      matchImages: [{prefix: \"https://a/\"}]\n      rewriteImage: {prefix: \"https://b/\"}\n", []string{`:9: spec.imageConfigs[0].spec.rewriteImage.prefix is "https://b/"`, `:8: spec.imageConfigs[0].spec.matchImages[0].prefix is "https://a/", but no reference of an image has a scheme: write "a/"`}},
		"Slash":        {"both prefixes of a rewrite end in the same way", project.File, crossplane + "  imageConfigs:\n  - spec: {matchImages: [{prefix: a/}, {prefix: a/function-}], rewriteImage: {prefix: b/mirror}}\n  - spec: {matchImages: [{prefix: a/}], rewriteImage: {prefix: b/mirror-}}\n  - spec: {matchImages: [{prefix: c/*}], rewriteImage: {prefix: b/}}\n", []string{`:7: spec.imageConfigs[0].spec.rewriteImage.prefix is "b/mirror", and "a/", which it replaces, ends with /`, `:9: spec.imageConfigs[2].spec.matchImages[0].prefix is "c/*", but a prefix is not a pattern: write "c/"`}},
		"Verification": {"a verification that a cluster refuses is read", project.File, crossplane + "  imageConfigs:\n  - spec:\n      matchImages: [{prefix: a}]\n      verification: {provider: Cosgn, cosign: {authorities: []}}\n", []string{`:9: a cluster refuses this ImageConfig: spec.verification.provider: Unsupported value: "Cosgn": supported values: "Cosign", did you mean Cosign?`}},
		"Unquoted": {
			"a number or a boolean is read as a string, as the crossplane CLI does", project.File, strings.Replace(crossplane, "{name: demo}", "{name: demo, labels: {b: yes, x: 1.50}}", 1) + "  architectures: [386]\n",
			[]string{`:3: metadata.labels.b: expected a string, got a boolean, which is read as "true": put it in quotes`, `:3: metadata.labels.x: expected a string, got 1.5, which is read as "1.5"`, `:6: spec.architectures[0]: expected a string, got a number, which is read as "386"`},
		},
		"Architecture": {
			"any architecture is read, but listed once and with a warning if Go does not know it", project.File, crossplane + "  architectures: [amd64, amd64, arm46, vax]\n",
			[]string{`lists "amd64" twice`, `:6: spec.architectures[2] is "arm46", did you mean arm64?`, `:6: spec.architectures[3] is "vax", which is not an architecture`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := e2e.Must(project.Read(t.Context(), write(t, tc.name, tc.text)))(t)
			text := errors.Join(p.Warnings...)
			if text == nil || len(p.Warnings) != len(tc.want) {
				t.Fatalf("%s: got warnings %v, want %q", tc.reason, text, tc.want)
			}
			for i, want := range tc.want {
				e2e.Has(t, tc.reason, p.Warnings[i].Error(), want)
				if at := new(*manifest.Error); !errors.As(p.Warnings[i], at) || (*at).Line == 0 {
					t.Errorf("%s: the warning %q has no line", tc.reason, p.Warnings[i])
				}
			}
		})
	}
}

// The crossplane CLI never reads a file of Upbound, and up never reads a file of Crossplane.
func TestReadRefusesTheOtherDialect(t *testing.T) {
	for name, text := range map[string]string{project.File: upbound("v1alpha1", ""), project.UpboundFile: crossplane} {
		_, err := project.Read(t.Context(), write(t, name, text))
		if err == nil || !strings.Contains(err.Error(), "unsupported apiVersion") || !strings.HasPrefix(string(hint.Of(err)), "rename the file to ") {
			t.Errorf("%s: got %v with hint %q", name, err, hint.Of(err))
		}
		e2e.WantError(t, "a file of any other name has any dialect", e2e.Err(project.Read(t.Context(), write(t, "other.yaml", text))), "")
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Find(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: got %v", err)
	}
	second := filepath.Join(dir, project.UpboundFile)
	for _, want := range [][2]string{{second, ""}, {filepath.Join(dir, project.File), second}} {
		e2e.NoError(t, os.WriteFile(want[0], nil, 0o600))
		path, other, err := project.Find(dir)
		if err != nil || [2]string{path, other} != want {
			t.Errorf("got %q, %q, %v, want %q", path, other, err, want)
		}
	}
}

func TestRewritten(t *testing.T) {
	p := project.Project{Rewrites: []project.Rewrite{{From: "a.example.org/", To: "b.example.org/"}, {From: "a.example.org/x:v1", To: "c.example.org/y:v2"}, {From: "a.example.org/x", To: "d"}}}
	for from, want := range map[string]string{
		"a.example.org/x:v1": "c.example.org/y:v2", // the longest prefix applies, whatever the order
		"a.example.org/z":    "b.example.org/z",
		"e.example.org/z":    "e.example.org/z",
	} {
		e2e.Equal(t, from+" has the longest prefix that is rewritten", want, p.Rewritten(from))
	}
}

// The names follow Crossplane's rule for packages that are installed as dependencies.
func TestFunctionRef(t *testing.T) {
	for repository, want := range map[string]string{
		"registry.example.org/acme/demo": "acme-democompose",
		"127.0.0.1:5061/gold/basic":      "gold-basiccompose",
		"acme/demo":                      "acme-democompose",
	} {
		e2e.Equal(t, repository+": the name of the function begins with the repository", want, (&project.Project{Repository: repository}).FunctionRef("compose"))
	}
}

// A project file that is not a regular file, such as a pipe, is an error and is not opened.
func TestReadDirectory(t *testing.T) {
	e2e.ErrorHas(t, "a folder is an error", e2e.Err(project.Read(t.Context(), t.TempDir())), "expected a file, got ")
}
