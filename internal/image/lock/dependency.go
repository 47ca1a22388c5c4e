package lock

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Dependency is a package that another one needs.
type Dependency struct {
	// Package is its repository, and Version a constraint of semantic versions or
	// a digest. If Version is empty, Package is a whole reference.
	Package, Version string
	// Path and Line say where it is written down, as in manifest.Error; Path may
	// be empty.
	Path string
	Line int
}

// IsMetadata reports whether an object is a package's metadata.
func IsMetadata(obj map[string]any) bool {
	apiVersion, _ := obj["apiVersion"].(string)
	return strings.HasPrefix(apiVersion, "meta.pkg.crossplane.io/")
}

// Functions returns the Functions that the package depends on whose metadata is
// obj, the object of doc, in every form that a version of the metadata has had.
// An error is a *manifest.Error.
func Functions(doc manifest.Document, obj map[string]any) ([]Dependency, error) {
	spec, _ := obj["spec"].(map[string]any)
	lines := doc.Lines()
	fault := func(field, text string) error {
		return &manifest.Error{Path: doc.Path, Line: lines.Of(field), Err: errors.New(text)}
	}
	list, ok := spec["dependsOn"].([]any)
	if !ok && spec["dependsOn"] != nil {
		return nil, fault("spec.dependsOn", "spec.dependsOn has to be a list")
	}
	all := inspect.Dependencies(obj)
	if len(all) != len(list) {
		return nil, fault("spec.dependsOn", "an entry of spec.dependsOn is not an object")
	}
	var functions []Dependency
	for i, d := range all {
		at := fmt.Sprintf("spec.dependsOn[%d]", i)
		switch {
		case d.Package == "":
			return nil, fault(at, at+" names no package")
		case d.Kind == "Function":
			functions = append(functions, Dependency{d.Package, d.Version, doc.Path, lines.Of(at)})
		}
	}
	return functions, nil
}

// IsPath reports whether the spec.package of a Function names a file or folder of
// this machine, and not a reference.
func IsPath(pkg string) bool {
	return filepath.IsAbs(pkg) || pkg == "." || pkg == ".." ||
		strings.HasPrefix(pkg, "./") || strings.HasPrefix(pkg, "../") ||
		strings.HasSuffix(pkg, ".xpkg")
}

// At says where err has come about, if that is known.
func (d Dependency) At(err error) error {
	if err == nil || d.Path == "" {
		return err
	}
	return &manifest.Error{Path: d.Path, Line: d.Line, Err: err}
}

// ObjectName is the name that Crossplane's package manager gives to what it
// installs for a dependency: the label of its repository's path, without the
// registry's host. It is "" for what is no repository.
func (d Dependency) ObjectName() string { return xpkg.Label(d.repositoryPath()) }

// repositoryPath is the path of the package's repository. Any registry but the
// library's default one leaves a short path as it is.
func (d Dependency) repositoryPath() string {
	ref, err := name.ParseReference(d.Package, name.WithDefaultRegistry("localhost"))
	if err != nil {
		return ""
	}
	return ref.Context().RepositoryStr()
}

// Named returns the dependency that a pipeline's functionRef names: the one with
// that ObjectName, or else the one whose repository ends in the name. It is false
// if there is none, or several are as good.
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

// only returns the last dependency that fits, and how many do.
func only(all []Dependency, fits func(Dependency) bool) (found Dependency, n int) {
	for _, d := range all {
		if fits(d) {
			found = d
			n++
		}
	}
	return found, n
}

// Metadata returns the file that holds a package's metadata if path is a package
// root, and else path itself.
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
