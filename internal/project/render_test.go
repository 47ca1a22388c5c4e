package project_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/project"
)

// Renders find dependencies on their lines of the project file, and functions by the name
// that Compositions call.
func TestFunctionDocuments(t *testing.T) {
	text := crossplane + `  dependencies:
  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: registry.example.org/p, version: v1}}
  - type: xpkg
    xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/f, version: v2}
  - {type: xpkg, xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/g, version: v3, apiOnly: true}}
  functions:
  - {source: Directory, directory: {name: compose}}
  - {source: Tarball, tarball: {name: other, pathPrefix: images/o}}
`
	path := lay(t, files(map[string]string{project.File: text, "images/o-amd64.tar.gz": "x"}), false)
	p := e2e.Must(project.Read(t.Context(), path))(t)
	docs, err := p.FunctionDocuments("amd64")
	if err != nil || len(docs) != 3 {
		t.Fatalf("got %d documents, %v, want 3", len(docs), err)
	}
	dependencies, err := lock.Functions(docs[0], e2e.Must(docs[0].Object())(t))
	if want := (lock.Dependency{Package: "registry.example.org/f", Version: "v2", Path: path, Line: 8}); err != nil || len(dependencies) != 1 || dependencies[0] != want {
		t.Errorf("got %v, %v, want %v", dependencies, err, want)
	}
	for i, want := range []string{"./functions/compose", "./images/o-amd64.tar.gz"} {
		if got := string(docs[i+1].Text); !strings.Contains(got, want) || docs[i+1].Line != 12+i {
			t.Errorf("got %s on line %d, want %s on line %d", got, docs[i+1].Line, want, 12+i)
		}
	}
	e2e.ErrorHas(t, "a missing tarball for the architecture is an error", e2e.Err(p.FunctionDocuments("arm64")), `architecture "arm64"`)
}

// The Composition and the XRD of a type may be in one file.
func TestAPIsFor(t *testing.T) {
	path := lay(t, files(map[string]string{"apis/definition.yaml": "", "apis/composition.yaml": "", "apis/all.yaml": xrd + "---\n" + composition}), false)
	p := e2e.Must(project.Read(t.Context(), path))(t)
	apis, err := p.APIsFor("example.org/v1", "App")
	all := filepath.Join(filepath.Dir(path), "apis", "all.yaml")
	if err != nil || apis.Composition.Position() != all+":14" || apis.XRD.Position() != all+":1" || apis.Claim {
		t.Errorf("got %+v, %v", apis, err)
	}
	e2e.Error(t, "another version of the type has no API", e2e.Err(p.APIsFor("example.org/v2", "App")))
}
