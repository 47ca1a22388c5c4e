package lock_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/remote"
)

func TestFunctions(t *testing.T) {
	const head = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\n"
	cases := map[string]struct {
		reason, yaml string
		want         []lock.Dependency
		err          string
	}{
		"None":      {"dependencies are optional", head, nil, ""},
		"OldForm":   {"a Function may have its own field", head + "spec:\n  dependsOn:\n  - function: a/f\n    version: v1\n", []lock.Dependency{{"a/f", "v1", "p", 5}}, ""},
		"NewForm":   {"a Function may have apiVersion, kind and package", head + "spec:\n  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1, kind: Function, package: a/f, version: v1}\n", []lock.Dependency{{"a/f", "v1", "p", 5}}, ""},
		"Others":    {"other packages are ignored", head + "spec:\n  dependsOn:\n  - {provider: a/p, version: v1}\n  - {configuration: a/c, version: v1}\n  - {function: a/f, version: v1}\n", []lock.Dependency{{"a/f", "v1", "p", 7}}, ""},
		"NoList":    {"dependsOn must be a list", head + "spec:\n  dependsOn: {a: b}\n", nil, "p:4: spec.dependsOn has to be a list"},
		"NoObject":  {"an entry must be an object", head + "spec:\n  dependsOn:\n  - a/f\n", nil, "p:4: an entry of spec.dependsOn is not an object"},
		"BadKind":   {"a kind of package that does not exist is an error", head + "spec:\n  dependsOn:\n  - {apiVersion: pkg.crossplane.io/v1, kind: Funktion, package: a/f, version: v1}\n", nil, `p:5: spec.dependsOn[0].kind is "Funktion", which is not a kind of package`},
		"NoPackage": {"an entry must name a package", head + "spec:\n  dependsOn:\n  - version: v1\n", nil, "p:5: spec.dependsOn[0] names no package"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			doc := manifest.Document{Path: "p", Line: 1, Text: []byte(tc.yaml)}
			obj, err := doc.Object()
			if err != nil || !lock.IsMetadata(obj) {
				t.Fatalf("the object is not metadata: %v", err)
			}
			got, err := lock.Functions(doc, obj)
			e2e.Equal(t, tc.reason, tc.err, text(err))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestDependencyNamed(t *testing.T) {
	of := func(packages ...string) (all []lock.Dependency) {
		for _, p := range packages {
			all = append(all, lock.Dependency{Package: p})
		}
		return all
	}
	cases := map[string]struct {
		reason     string
		all        []lock.Dependency
		name, want string
	}{
		"ObjectName":  {"the object has the name of the repository's path", of("registry.example.org/acme/f", "registry.example.org/other/f"), "acme-f", "registry.example.org/acme/f"},
		"LastPart":    {"the last part of the repository is a name", of("registry.example.org/acme/f", "registry.example.org/acme/g"), "f", "registry.example.org/acme/f"},
		"ObjectFirst": {"the name of the object has priority", of("registry.example.org/acme/a-f", "registry.example.org/a/f"), "a-f", "registry.example.org/a/f"},
		"Ambiguous":   {"two repositories with one last part are ambiguous", of("registry.example.org/acme/f", "registry.example.org/other/f"), "f", ""},
		"SameObject":  {"two repositories with one object name are ambiguous", of("one.example.org/acme/f", "two.example.org/acme/f"), "acme-f", ""},
		"Dots":        {"dots become dashes", of("registry.example.org/acme/f.x"), "acme-f-x", "registry.example.org/acme/f.x"},
		"NoRegistry":  {"the registry is ignored", of("f"), "f", "f"},
		"NotThere":    {"another name has no dependency", of("registry.example.org/acme/f"), "g", ""},
		"NoReference": {"an invalid reference has no name", of("a b"), "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := lock.Named(tc.all, tc.name)
			if ok != (tc.want != "") || ok && got.Package != tc.want {
				t.Errorf("%s: got %v, %v, want %q", tc.reason, got, ok, tc.want)
			}
		})
	}
}

// A tags implements lock.Tags with the same tags for every repository.
type tags struct {
	all    []string
	listed *int
	err    error
}

func (g tags) Has(_ context.Context, tag name.Tag) (bool, error) {
	for _, t := range g.all {
		if t == tag.TagStr() {
			return true, g.err
		}
	}
	return false, g.err
}

func (g tags) List(context.Context, name.Repository) ([]string, error) {
	*g.listed++
	return g.all, g.err
}

func TestResolve(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	many := []string{"latest", "v1", "v1.0.0", "v1.2.0", "1.10.0", "v1.9.0", "v2.0.0-rc.1", "not.a.version"}
	cases := map[string]struct {
		reason, version string
		tags            []string
		want, err       string
		lists           int
	}{
		"Highest":        {"the highest version is used, not the last tag", ">=v1.0.0", many, ":1.10.0", "", 1},
		"Caret":          {"constraints have the syntax of Masterminds", "^v1.2.0, <v1.9.0", many, ":v1.2.0", "", 1},
		"Prerelease":     {"a prerelease is used if the constraint names one", ">=v2.0.0-0", many, ":v2.0.0-rc.1", "", 1},
		"NoPrerelease":   {"other constraints ignore prereleases", ">=v2.0.0", many, "", "none of the 8 tags matches \">=v2.0.0\"\nhint: name a version that exists, such as v2.0.0-rc.1", 1},
		"Exact":          {"an exact version is a tag, without a list", "v1.2.0", many, ":v1.2.0", "", 0},
		"ExactOtherwise": {"a tag may spell the version differently", "v1.10.0", many, ":1.10.0", "", 1},
		"SameVersion":    {"the full tag of one version is used", "1.0.0", many, ":v1.0.0", "", 1},
		"Digest":         {"a version may be a digest", digest, nil, "@" + digest, "", 0},
		"Build":          {"build metadata cannot be in a tag", "v1.2.0+build", many, ":v1.2.0", "", 1},
		"NoVersion":      {"a reference must have a tag", "", many, "", "has no tag", 0},
		"NoConstraint":   {"latest is not a constraint", "latest", many, "", `reading the version "latest" of "acme/f": it is neither a constraint nor a digest` + "\nhint: name a version such as v1.2.0", 0},
		"NoTags":         {"a repository may have no tags", ">=v1", nil, "", "none of the 0 tags matches \">=v1\"\nhint: push the package with a tag that is a version", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lists := 0
			ref, err := lock.Dependency{Package: "acme/f", Version: tc.version}.Resolve(t.Context(), tags{tc.tags, &lists, nil}, parse)
			if (err == nil) != (tc.err == "") || !strings.Contains(text(err)+"\nhint: "+string(hint.Of(err)), tc.err) {
				t.Fatalf("%s: got %v (hint %q), want %q", tc.reason, err, hint.Of(err), tc.err)
			}
			if err == nil && ref.Name() != "registry.example.org/acme/f"+tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, ref, tc.want)
			}
			e2e.Equal(t, tc.reason+": lists of tags", tc.lists, lists)
		})
	}
}

func parse(s string) (name.Reference, error) { return remote.ParseReference(s, "registry.example.org") }

func TestResolveFails(t *testing.T) {
	broken, lists := errors.New("the registry is unreachable"), 0
	for _, version := range []string{"v1.0.0", ">=v1"} {
		e2e.ErrorIs(t, "an unreachable registry is an error for version "+version, e2e.Err(lock.Dependency{Package: "acme/f", Version: version}.Resolve(t.Context(), tags{nil, &lists, broken}, parse)), broken)
	}
	e2e.ErrorHas(t, "a package with a tag is an error, because it is not a repository", e2e.Err(lock.Dependency{Package: "acme/f:v1", Version: ">=v1"}.Resolve(t.Context(), tags{nil, &lists, nil}, parse)), "acme/f:v1")
}

func TestMetadata(t *testing.T) {
	fsys := afero.NewMemMapFs()
	for _, path := range []string{"root/crossplane.yaml", "functions/a.yaml"} {
		e2e.NoError(t, afero.WriteFile(fsys, path, nil, 0o600))
	}
	for path, want := range map[string]string{
		"root": "root/crossplane.yaml", "root/crossplane.yaml": "root/crossplane.yaml", "functions": "functions", "absent": "absent", "-": "-",
	} {
		e2e.Equal(t, path+" has its metadata", want, filepath.ToSlash(lock.Metadata(fsys, path)))
	}
}

func TestIsPath(t *testing.T) {
	for pkg, want := range map[string]bool{
		".": true, "..": true, "./f": true, "../f": true, "f.xpkg": true,
		"registry.example.org/acme/f:v1": false, "acme/f": false, "": false, ".hidden": false, ".hidden/f": false,
	} {
		e2e.Equal(t, fmt.Sprintf("only a path is a path: %q", pkg), want, lock.IsPath(pkg))
	}
}
