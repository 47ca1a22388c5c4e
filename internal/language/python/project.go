package python

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

const (
	projectFile = "pyproject.toml"
	// program is the program that runs the function, by convention of the templates.
	program = "function"
)

// A pyproject is the part of a pyproject.toml that a build needs.
type pyproject struct {
	BuildSystem struct {
		Backend string   `toml:"build-backend"`
		Path    []string `toml:"backend-path"`
	} `toml:"build-system"`
	Project struct {
		Name, Version  string
		Dynamic        []string
		RequiresPython string `toml:"requires-python"`
		Dependencies   []string
		Scripts        map[string]string
		EntryPoints    map[string]map[string]string `toml:"entry-points"`
	}
	Tool tools
}

type project struct {
	dir string
	// file is the path of its pyproject.toml, for errors.
	file           string
	name, version  string
	requiresPython resolve.Specifiers
	required       []resolve.Requirement
	scripts        map[string]string
	// entryPointGroups are further groups of entry points, such as plugins.
	entryPointGroups map[string]map[string]string
	// roots are the folders and files that become the package.
	roots []sourceRoot
}

func readProject(dir string) (*project, error) {
	data, err := fsx.ReadFile(filepath.Join(dir, projectFile), maxText)
	if errors.Is(err, fs.ErrNotExist) {
		err = hint.Wrap(err, "name the folder that has "+projectFile)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", projectFile, err)
	}
	var in pyproject
	if err := resolve.Decode(projectFile, data, &in); err != nil {
		return nil, err
	}
	p, err := in.project(dir)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", projectFile, err)
	}
	return p, nil
}

func (in *pyproject) project(dir string) (_ *project, err error) {
	p := &project{dir: dir, file: projectFile, name: resolve.Normalize(in.Project.Name), version: in.Project.Version, scripts: in.Project.Scripts, entryPointGroups: in.Project.EntryPoints}
	if p.name == "" {
		return nil, errors.New("[project] has no name")
	}
	if p.requiresPython, err = resolve.ParseSpecifiers(in.Project.RequiresPython); err != nil {
		return nil, err
	}
	for _, text := range in.Project.Dependencies {
		r, err := resolve.ParseRequirement(text)
		if err != nil {
			return nil, err
		}
		p.required = append(p.required, r)
	}
	if slices.Contains(in.Project.Dynamic, "dependencies") {
		return nil, needsBackend(in.BuildSystem.Backend, "the dependencies are dynamic")
	}
	if p.version, err = in.version(dir); err != nil {
		return nil, err
	}
	if _, err := resolve.ParseVersion(p.version); err != nil {
		return nil, err
	}
	p.roots, err = in.roots(dir)
	return p, err
}

// entry returns the name of the program that runs the function, or "".
func (p *project) entry() string {
	if _, ok := p.scripts[program]; ok {
		return program
	}
	if names := slices.Collect(maps.Keys(p.scripts)); len(names) == 1 {
		return names[0]
	}
	return ""
}

// localPaths returns the paths of the source folders that the project and the lock file name.
func (p *project) localPaths(lock *resolve.Lock) ([]string, error) {
	var paths []string
	for _, r := range p.required {
		local, ok := strings.CutPrefix(r.URL, "file:")
		switch {
		case r.URL == "":
		case ok && !strings.HasSuffix(local, ".whl"):
			paths = append(paths, strings.TrimPrefix(local, "//"))
		case !lock.Has(r.Name):
			return paths, fmt.Errorf("%s requires %s: expected a version, or a folder as file:PATH", projectFile, r.Name)
		}
	}
	for _, at := range lock.Directories() {
		paths = append(paths, path.Join(lock.Above(), at))
	}
	return paths, nil
}

// pathDependencies returns the source folders that the project and the lock file name, which
// must be in root.
func (p *project) pathDependencies(root string, lock *resolve.Lock) ([]*project, error) {
	paths, err := p.localPaths(lock)
	if err != nil {
		return nil, err
	}
	var all []*project
	seen := map[string]bool{}
	for _, at := range paths {
		dir, err := inside(root, p.dir, at)
		if err != nil {
			return nil, err
		}
		if seen[dir] {
			continue
		}
		seen[dir] = true
		local, err := readProject(dir)
		if err != nil {
			return nil, fmt.Errorf("reading the dependency %q: %w", at, err)
		}
		local.file = filepath.ToSlash(filepath.Join(at, projectFile))
		all = append(all, local)
	}
	return all, nil
}

// inside returns the folder at a path relative to dir. It returns an error if the folder is
// not in root.
func inside(root, dir, at string) (string, error) {
	if filepath.IsAbs(at) {
		return "", fmt.Errorf("the dependency %q must be a relative path", at)
	}
	real, err := realPath(filepath.Join(dir, filepath.FromSlash(at)))
	if err != nil {
		return "", fmt.Errorf("finding the dependency %q: %w", at, err)
	}
	realRoot, err := realPath(root)
	if err != nil {
		return "", err
	}
	if !fsx.IsWithin(realRoot, real) {
		return "", fmt.Errorf("the dependency %q is outside of the project %q", at, root)
	}
	return real, nil
}

// realPath returns the absolute path without symbolic links.
func realPath(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
