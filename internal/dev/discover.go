package dev

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"golang.org/x/mod/modfile"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Project is a folder with the source of a function and an example that calls it.
type Project struct {
	// XR, Composition, XRD and Functions are paths of files in the folder example
	// of the project. XRD and Functions are "" if the files do not exist.
	XR, Composition, XRD, Functions string
	// Function is the name that the example uses for the function in the folder.
	// Source is the path of the folder.
	Function, Source string
}

// Discover returns the Project in the folder dir. The folder must have the source of a
// function, in itself or in its folder function, and the files example/xr.yaml and
// example/composition.yaml. It may have example/functions.yaml and example/definition.yaml.
// Project.Function is the function in the Composition that has the name of the package or of
// the Go module, or else its only function.
func Discover(ctx context.Context, fsys afero.Fs, dir string) (Project, error) {
	p, hasModule := Project{Source: dir}, true
	lang, source, unknown := languages.Find(dir)
	if unknown == nil {
		p.Source, hasModule = source, lang.Name == "go" && source == dir
	}
	for _, f := range []struct {
		name     string
		into     *string
		optional bool
	}{
		{"go.mod", new(string), !hasModule},
		{"example/xr.yaml", &p.XR, false},
		{"example/composition.yaml", &p.Composition, false},
		{"example/functions.yaml", &p.Functions, true},
		{"example/definition.yaml", &p.XRD, true},
	} {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		switch ok, err := afero.Exists(fsys, path); {
		case err != nil:
			return Project{}, fmt.Errorf("looking for a function in %q: %w", dir, err)
		case ok:
			*f.into = path
		case !f.optional:
			err := fmt.Errorf("looking for a function in %q: there is no %s", dir, f.name)
			if unknown != nil {
				err = fmt.Errorf("looking for a function in %q: %w", dir, unknown)
			}
			return Project{}, hint.Wrap(err,
				"name the files of the composite resource and the Composition, or change to a folder that 'xfn xpkg init' created")
		}
	}
	var err error
	p.Function, err = ownFunction(ctx, fsys, dir, p.Composition)
	return p, err
}

// ownFunction returns the name by which the Composition calls the function in the
// folder dir.
func ownFunction(ctx context.Context, fsys afero.Fs, dir, composition string) (string, error) {
	called, err := calls(ctx, fsys, composition)
	for _, name := range []string{packageName(ctx, fsys, dir), moduleName(fsys, dir)} {
		// If the Composition cannot be read, the user may be editing it. Its
		// functions are not compared then.
		if name != "" && (err != nil || slices.Contains(called, name)) {
			return name, nil
		}
	}
	if err != nil {
		return "", err
	}
	if len(called) == 1 {
		return called[0], nil
	}
	return "", hint.Wrap(fmt.Errorf("looking for a function in %q: %s calls %s, but not a function with the name of the package or the module", dir, composition, strings.Join(called, ", ")),
		"name the function with "+hint.Package+" NAME="+hint.Hint(dir))
}

// calls returns the names of the functions that the Composition in a file calls,
// without duplicates.
func calls(ctx context.Context, fsys afero.Fs, file string) ([]string, error) {
	obj, _, err := manifest.Reader{FS: fsys}.FirstObject(ctx, file)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range fieldpath.List(obj, "spec", "pipeline") {
		if name := fieldpath.Text(s, "functionRef", "name"); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, &manifest.Error{Path: file, Err: errors.New("the Composition calls no function")}
	}
	return names, nil
}

// packageName returns the name of the package in package/crossplane.yaml, or "".
func packageName(ctx context.Context, fsys afero.Fs, dir string) string {
	obj, _, _ := manifest.Reader{FS: fsys}.FirstObject(ctx, filepath.Join(dir, "package", "crossplane.yaml"))
	return fieldpath.Text(obj, "metadata", "name")
}

// moduleName returns the last element of the module path in go.mod, or "".
func moduleName(fsys afero.Fs, dir string) string {
	text, err := afero.ReadFile(fsys, filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	return path.Base(modfile.ModulePath(text))
}
