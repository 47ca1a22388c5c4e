package templates_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/templates"
)

func TestNames(t *testing.T) {
	want := []string{
		"go", "go-minimal", "go-templating", "kcl", "python", "typescript",
		"function-template-go", "function-template-python",
		"configuration-template", "provider-template", "provider-template-upjet",
	}
	e2e.Equal(t, "the names are the well-known ones", want, templates.Names())
}

func TestLookup(t *testing.T) {
	cases := map[string]struct {
		reason, name, url string
		files, found      bool
	}{
		"Bundled":      {"go is a bundled template", "go", "", true, true},
		"SameName":     {"a short name is usually the name of the repository", "function-template-go", "https://github.com/crossplane/function-template-go", false, true},
		"OtherName":    {"a short name may differ from the name of the repository", "provider-template-upjet", "https://github.com/crossplane/upjet-provider-template", false, true},
		"Unknown":      {"an unknown name is not found", "function-template-ruby", "", false, false},
		"OtherCase":    {"names are case-sensitive", "Go", "", false, false},
		"Empty":        {"an empty name is not found", "", "", false, false},
		"NotByAPrefix": {"the prefix of a name is not found", "function-template", "", false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, found := templates.Lookup(tc.name)
			if found != tc.found || got.URL != tc.url || (got.Files != nil) != tc.files {
				t.Errorf("%s: got %t, URL %q, files %t", tc.reason, found, got.URL, got.Files != nil)
			}
		})
	}
}

func TestEachHasOneSource(t *testing.T) {
	for _, name := range templates.Names() {
		got, _ := templates.Lookup(name)
		if (got.URL == "") == (got.Files == nil) {
			t.Errorf("%q has to have a URL or files, and not both", name)
		}
		if u, err := url.Parse(got.URL); err != nil || got.URL != "" && (u.Scheme != "https" || u.User != nil) {
			t.Errorf("%q: %q is not a public https URL", name, got.URL)
		}
	}
}

func TestBundledGo(t *testing.T) {
	tmpl, _ := templates.Lookup("go")
	for _, name := range []string{"go.mod.tmpl", "main.go", "fn.go", "package/crossplane.yaml"} {
		data, err := fs.ReadFile(tmpl.Files, name)
		if err != nil {
			t.Errorf("the template is incomplete: %v", err)
			continue
		}
		if slices.Contains([]string{"go.mod.tmpl", "package/crossplane.yaml"}, name) && !strings.Contains(string(data), templates.Placeholder) {
			t.Errorf("%s does not name %q, so it cannot be given another name", name, templates.Placeholder)
		}
	}
}

// TestCrossplaneVersion checks that functions from the template can be installed in
// pre-releases of Crossplane. A constraint without a pre-release accepts none.
func TestCrossplaneVersion(t *testing.T) {
	for _, path := range []string{"_go/package/crossplane.yaml", "_go-minimal/package/crossplane.yaml", "_go-templating/package/crossplane.yaml", "_kcl/package/crossplane.yaml", "_python/package/crossplane.yaml", "_typescript/package-function/crossplane.yaml", "../examples/platform/apis/crossplane.yaml", "../examples/platform/function/package/crossplane.yaml"} {
		text := e2e.Must(os.ReadFile(path))(t)
		var meta struct {
			Spec struct{ Crossplane struct{ Version string } }
		}
		e2e.NoError(t, yaml.Unmarshal(text, &meta))
		c := e2e.Must(semver.NewConstraint(meta.Spec.Crossplane.Version))(t)
		for version, want := range map[string]bool{"v1.20.0": false, "v2.0.0": true, "v2.4.0-rc.0": true} {
			if got := c.Check(semver.MustParse(version)); got != want {
				t.Errorf("%s: %q accepts Crossplane %s: got %t", path, meta.Spec.Crossplane.Version, version, got)
			}
		}
	}
}

// The template go and examples/platform require the same versions of modules as xfn, so
// that the go command compiles each package once. With different versions, make demo and
// make test compile the Kubernetes API several times.
func TestVersionsAreThoseOfXfn(t *testing.T) {
	own := requirements(t, "../go.mod")
	for _, path := range []string{"_go/go.mod.tmpl", "_go-minimal/go.mod.tmpl", "../examples/platform/function/go.mod"} {
		for module, version := range requirements(t, path) {
			if want, ok := own[module]; ok && version != want {
				t.Errorf("%s requires %s %s, xfn %s", path, module, version, want)
			}
		}
	}
}

func requirements(t *testing.T, path string) map[string]string {
	t.Helper()
	text := e2e.Must(os.ReadFile(path))(t)
	file := e2e.Must(modfile.Parse(path, text, nil))(t)
	versions := map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions
}

// Each bundled template has an example, package metadata, documentation, a suite and a CI
// workflow. The first template has its tests in Go.
func TestBundledFiles(t *testing.T) {
	for _, name := range templates.Names() {
		tmpl, _ := templates.Lookup(name)
		if tmpl.Files == nil {
			continue
		}
		want := []string{"README.md", "NOTES.txt", ".gitignore", "example/xr.yaml", "example/composition.yaml", "example/functions.yaml", "example/definition.yaml"}
		if name != "go" {
			want = append(want, "tests/suite.yaml", ".github/workflows/ci.yaml")
		}
		for _, file := range want {
			e2e.WantError(t, fmt.Sprintf("template %q has %s", name, file), e2e.Err(fs.Stat(tmpl.Files, file)), "")
		}
		root := "package"
		if name == "typescript" {
			root = "package-function"
		}
		meta, err := fs.ReadFile(tmpl.Files, root+"/crossplane.yaml")
		if err != nil || !strings.Contains(string(meta), templates.Placeholder) {
			t.Errorf("template %q: the metadata does not name %q: %v", name, templates.Placeholder, err)
		}
	}
}
