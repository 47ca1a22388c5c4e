package lock

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Dependency is a package that another package needs.
type Dependency struct {
	// Package is the repository of the package. Version is a version constraint or a digest. If
	// Version is empty, Package is a complete reference.
	Package, Version string
	// Path and Line are the position of the dependency in a file, as in manifest.Error. Path is
	// empty if the position is not known.
	Path string
	Line int
}

// A DependsOn is an entry of spec.dependsOn in package metadata.
type DependsOn struct {
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is Function, Configuration or Provider.
	Kind string `json:"kind"`
	// Package is the repository of the dependency. Version is a constraint on its tags, or a
	// digest.
	Package string `json:"package"`
	Version string `json:"version"`
}

// ReadDependsOn returns the entries of spec.dependsOn that are objects. An entry names its
// package in a field named after its kind, or has the fields apiVersion, kind and package.
func ReadDependsOn(meta map[string]any) []DependsOn {
	var all []DependsOn
	for _, v := range fieldpath.List(meta, "spec", "dependsOn") {
		if _, ok := v.(map[string]any); !ok {
			continue
		}
		text := func(key string) string { return fieldpath.Text(v, key) }
		d := DependsOn{text("apiVersion"), text("kind"), text("package"), text("version")}
		for _, kind := range packageKinds {
			if named := text(strings.ToLower(kind)); named != "" && d.Package == "" {
				d.Kind, d.Package = kind, named
			}
		}
		all = append(all, d)
	}
	return all
}

// IsMetadata reports whether an object is a package's metadata.
func IsMetadata(obj map[string]any) bool {
	return strings.HasPrefix(fieldpath.Text(obj, "apiVersion"), "meta.pkg.crossplane.io/")
}

// packageKinds are the kinds of packages in the group pkg.crossplane.io.
var packageKinds = []string{"Configuration", "Provider", "Function"}

// Functions returns the Functions that package metadata depends on. obj is the metadata, in
// any API version, and doc the document that contains it. An error wraps a *manifest.Error.
func Functions(doc manifest.Document, obj map[string]any) ([]Dependency, error) {
	lines := doc.Lines()
	fault := func(field, text string) error {
		return &manifest.Error{Path: doc.Path, Line: lines.Of(field), Err: errors.New(text)}
	}
	apiVersion, kind := fieldpath.Text(obj, "apiVersion"), fieldpath.Text(obj, "kind")
	if near := schema.SimilarKind(apiVersion, kind); near != "" {
		return nil, hint.Wrap(fault("kind", fmt.Sprintf("%s has no kind %s", apiVersion, kind)), hint.Meant("kind: ", near))
	}
	list := fieldpath.List(obj, "spec", "dependsOn")
	if list == nil && fieldpath.At(obj, "spec", "dependsOn") != nil {
		return nil, fault("spec.dependsOn", "spec.dependsOn has to be a list")
	}
	all := ReadDependsOn(obj)
	if len(all) != len(list) {
		return nil, fault("spec.dependsOn", "an entry of spec.dependsOn is not an object")
	}
	var functions []Dependency
	for i, d := range all {
		at := fmt.Sprintf("spec.dependsOn[%d]", i)
		switch {
		case d.Package == "":
			return nil, fault(at, at+" names no package")
		case strings.HasPrefix(d.APIVersion, "pkg.crossplane.io/") && !slices.Contains(packageKinds, d.Kind):
			err := fault(at+".kind", fmt.Sprintf("%s.kind is %q, which is not a kind of package", at, d.Kind))
			return nil, hint.Wrap(err, hint.Meant("kind: ", hint.Nearest(d.Kind, packageKinds)))
		case d.Kind == "Function":
			functions = append(functions, Dependency{d.Package, d.Version, doc.Path, lines.Of(at)})
		}
	}
	return functions, nil
}

// IsPath reports whether the spec.package of a Function is a local path and not an image
// reference.
func IsPath(pkg string) bool {
	return filepath.IsAbs(pkg) || pkg == "." || pkg == ".." ||
		strings.HasPrefix(pkg, "./") || strings.HasPrefix(pkg, "../") ||
		strings.HasSuffix(pkg, ".xpkg")
}

// At adds the dependency's position to err, if the position is known.
func (d Dependency) At(err error) error {
	if err == nil || d.Path == "" {
		return err
	}
	return &manifest.Error{Path: d.Path, Line: d.Line, Err: err}
}

// ObjectName returns the name that Crossplane's package manager gives to the object of a
// dependency: the path of the repository, without the host, as a label. It returns "" if the
// repository is not valid.
func (d Dependency) ObjectName() string { return xpkg.Label(d.repositoryPath()) }

// repositoryPath returns the path of the repository, without the host. It parses the
// package with "localhost" as the default registry: Docker Hub would add "library/" to
// short paths.
func (d Dependency) repositoryPath() string {
	ref, err := name.ParseReference(d.Package, name.WithDefaultRegistry("localhost"))
	if err != nil {
		return ""
	}
	return ref.Context().RepositoryStr()
}

// Named returns the dependency that the functionRef of a pipeline step names. It is the
// dependency whose ObjectName is name, or otherwise the dependency whose repository path
// has name as its last element. It returns false if no dependency matches, or more than
// one.
func Named(all []Dependency, name string) (Dependency, bool) {
	if name == "" {
		return Dependency{}, false
	}
	if d, n := only(all, func(d Dependency) bool { return d.ObjectName() == name }); n > 0 {
		return d, n == 1
	}
	d, n := only(all, func(d Dependency) bool { return path.Base(d.repositoryPath()) == name })
	return d, n == 1
}

// only returns the last dependency for which fits returns true. n is the number of
// dependencies for which fits returns true.
func only(all []Dependency, fits func(Dependency) bool) (found Dependency, n int) {
	for _, d := range all {
		if fits(d) {
			found = d
			n++
		}
	}
	return found, n
}

// Metadata returns the path of crossplane.yaml if path is a package root. Otherwise it
// returns path.
func Metadata(fsys afero.Fs, path string) string {
	file := filepath.Join(path, "crossplane.yaml")
	if dir, err := afero.IsDir(fsys, path); err != nil || !dir {
		return path
	}
	if there, err := afero.Exists(fsys, file); err != nil || !there {
		return path
	}
	return file
}
