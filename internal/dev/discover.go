package dev

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"golang.org/x/mod/modfile"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A Project is the folder of a function as a template makes it.
type Project struct {
	// XR and Composition are its example; XRD and Functions are "" if it has
	// none.
	XR, Composition, XRD, Functions string
	// Function is the name by which the example calls the function of the
	// folder, and Source the folder.
	Function, Source string
}

// Discover returns what there is in a folder with a function: go.mod, and below
// example/ xr.yaml and composition.yaml, beside which functions.yaml and
// definition.yaml may lie. Of the functions that the Composition calls the
// folder's is the one with the name of its package, or of its module, or the
// only one.
func Discover(fsys afero.Fs, dir string) (Project, error) {
	p := Project{Source: dir}
	for _, f := range []struct {
		name     string
		into     *string
		optional bool
	}{
		{"go.mod", new(string), false},
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
			return Project{}, hint.Wrap(fmt.Errorf("looking for a function in %q: there is no %s", dir, f.name),
				"name the files of the composite resource and the Composition, or go where 'xfn xpkg init' made a function")
		}
	}
	var err error
	p.Function, err = own(fsys, dir, p.Composition)
	return p, err
}

// own returns the function of the folder among those that a Composition calls.
func own(fsys afero.Fs, dir, composition string) (string, error) {
	called, err := calls(fsys, composition)
	for _, name := range []string{packageName(fsys, dir), moduleName(fsys, dir)} {
		// A Composition that cannot be read now may be one that is being written.
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
	return "", hint.Wrap(fmt.Errorf("looking for a function in %q: %s calls %s, of which none has the name of the package or the module", dir, composition, strings.Join(called, ", ")),
		"name it with "+hint.Package+" NAME="+hint.Hint(dir))
}

// calls returns the functions that a Composition calls, each once.
func calls(fsys afero.Fs, file string) ([]string, error) {
	obj, err := first(fsys, file)
	if err != nil {
		return nil, err
	}
	spec, _ := obj["spec"].(map[string]any)
	steps, _ := spec["pipeline"].([]any)
	var names []string
	for _, s := range steps {
		step, _ := s.(map[string]any)
		ref, _ := step["functionRef"].(map[string]any)
		if name, _ := ref["name"].(string); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, &manifest.Error{Path: file, Err: errors.New("the Composition calls no function")}
	}
	return names, nil
}

func first(fsys afero.Fs, file string) (map[string]any, error) {
	text, err := afero.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", file, err)
	}
	docs, err := manifest.Split(file, text)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, &manifest.Error{Path: file, Err: manifest.ErrEmpty}
	}
	return docs[0].Object()
}

// packageName is that of package/crossplane.yaml, or "".
func packageName(fsys afero.Fs, dir string) string {
	obj, err := first(fsys, filepath.Join(dir, "package", "crossplane.yaml"))
	if err != nil {
		return ""
	}
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}

// moduleName is the last part of the module's path, or "".
func moduleName(fsys afero.Fs, dir string) string {
	text, err := afero.ReadFile(fsys, filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	return path.Base(modfile.ModulePath(text))
}
