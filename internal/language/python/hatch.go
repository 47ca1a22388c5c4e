package python

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

type hatchBuild struct {
	hatchTarget
	Targets struct{ Wheel hatchTarget }
}

// hatchTarget are the settings of one kind of build. The settings of the wheel replace the
// settings of all builds (hatchling/builders/config.py).
type hatchTarget struct {
	Packages, Include, Exclude, Artifacts []string

	OnlyInclude  []string       `toml:"only-include"`
	ForceInclude map[string]any `toml:"force-include"`
	IgnoreVCS    *bool          `toml:"ignore-vcs"`
	Sources      any
	SharedData   map[string]any `toml:"shared-data"`
	Scripts      map[string]any `toml:"shared-scripts"`
	Hooks        map[string]any
}

func (b hatchBuild) wheel() hatchTarget {
	w := b.Targets.Wheel
	for _, list := range []struct{ own, all *[]string }{
		{&w.Packages, &b.Packages}, {&w.Include, &b.Include}, {&w.Exclude, &b.Exclude}, {&w.Artifacts, &b.Artifacts}, {&w.OnlyInclude, &b.OnlyInclude},
	} {
		if *list.own == nil {
			*list.own = *list.all
		}
	}
	if w.ForceInclude == nil {
		w.ForceInclude = b.ForceInclude
	}
	if w.IgnoreVCS == nil {
		w.IgnoreVCS = b.IgnoreVCS
	}
	if w.Sources == nil {
		w.Sources = b.Sources
	}
	return w
}

func (in *pyproject) hatch(dir string) ([]sourceRoot, error) {
	w := in.Tool.Hatch.Build.wheel()
	switch {
	case len(in.Tool.Hatch.Build.Hooks)+len(w.Hooks) > 0:
		return nil, needsBackend("hatchling", "the build has hooks")
	case len(w.SharedData)+len(w.Scripts) > 0:
		return nil, needsBackend("hatchling", "the wheel has shared-data or shared-scripts")
	}
	roots, err := in.selected(dir, w)
	if err != nil {
		return nil, err
	}
	exclude := w.Exclude
	if w.IgnoreVCS == nil || !*w.IgnoreVCS {
		ignored, err := gitignored(dir)
		if err != nil {
			return nil, err
		}
		exclude = append(exclude[:len(exclude):len(exclude)], ignored...)
	}
	for i := range roots {
		roots[i].exclude, roots[i].keep = exclude, w.Artifacts
	}
	for _, from := range slices.Sorted(maps.Keys(w.ForceInclude)) {
		to, ok := w.ForceInclude[from].(string)
		if !ok || !filepath.IsLocal(from) {
			return nil, needsBackend("hatchling", "force-include has a file outside of the project")
		}
		roots = append(roots, sourceRoot{from: path.Clean(from), to: path.Join(".", strings.TrimLeft(to, "/"))})
	}
	return roots, nil
}

// selected returns the files of the settings include, packages, only-include and sources, or
// else the package with the name of the project (hatchling/builders/wheel.py).
func (in *pyproject) selected(dir string, w hatchTarget) ([]sourceRoot, error) {
	rename, err := w.renaming()
	if err != nil {
		return nil, err
	}
	only, include := w.OnlyInclude, w.Include
	if len(only) == 0 {
		only = w.Packages
	}
	if len(include) > 0 {
		for _, p := range w.Packages {
			include = append(include[:len(include):len(include)], "/"+path.Clean(p)+"/")
		}
		if len(only) == 0 {
			only = []string{"."}
		}
	}
	var roots []sourceRoot
	for _, p := range only {
		roots = append(roots, sourceRoot{from: path.Clean(p), to: path.Clean(p), rename: rename, include: include})
	}
	if len(roots) > 0 {
		return roots, nil
	}
	if roots, err = in.module(dir, "", "", "src"); err != nil || len(roots) > 0 {
		return roots, err
	}
	name := strings.ReplaceAll(resolve.Normalize(in.Project.Name), "-", "_")
	found, err := fsx.Glob(dir, path.Join("*", name, "__init__.py"))
	if err == nil && len(found) == 1 { // a namespace package
		at := filepath.Base(filepath.Dir(filepath.Dir(found[0])))
		roots = []sourceRoot{{from: at, to: at}}
	}
	return roots, err
}

// renaming returns the function from the path of a file in the project to that in the wheel.
func (w hatchTarget) renaming() (func(file string) string, error) {
	type source struct{ from, to string }
	var all []source
	switch v := w.Sources.(type) {
	case nil:
	case map[string]any:
		for _, from := range slices.Sorted(maps.Keys(v)) {
			to, ok := v[from].(string)
			if !ok {
				return nil, fmt.Errorf("expected a path for the source %q of hatchling", from)
			}
			all = append(all, source{from, to})
		}
	default:
		list, err := stringsOf("sources", v)
		if err != nil {
			return nil, err
		}
		for _, from := range list {
			all = append(all, source{from, ""})
		}
	}
	for _, p := range w.Packages {
		if above := path.Dir(path.Clean(p)); above != "." && !slices.ContainsFunc(all, func(s source) bool { return path.Clean(s.from) == path.Clean(p) }) {
			all = append(all, source{above, ""})
		}
	}
	return func(file string) string {
		for _, s := range all {
			if s.from == "" {
				return path.Join(s.to, file)
			}
			if rest, ok := strings.CutPrefix(file, path.Clean(s.from)+"/"); ok {
				return path.Join(s.to, rest)
			}
		}
		return file
	}, nil
}

// gitignored returns the patterns of the .gitignore file that hatchling uses: the file in
// dir, or in the closest folder above dir that has such a file. The patterns apply to paths
// in dir. They do not apply if they exclude dir itself. Unlike hatchling, gitignored ignores
// files and names of folders outside of the git repository, which another clone does not
// have.
func gitignored(dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	var data []byte
	self := "*" // any name, because each clone may have another name
	for at, found := dir, false; ; at = filepath.Dir(at) {
		text, err := fsx.ReadFile(filepath.Join(at, ".gitignore"), maxText)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading .gitignore: %w", err)
		}
		if err == nil && !found {
			data, found = text, true
			if below, err := filepath.Rel(at, dir); err == nil && below != "." {
				self = filepath.ToSlash(below)
			}
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); found && at == dir || err == nil {
			break
		}
		if at == filepath.Dir(at) {
			return nil, nil
		}
	}
	var patterns []string
	for line := range strings.Lines(string(data)) {
		patterns = append(patterns, strings.TrimRight(line, "\r\n"))
	}
	if fsx.ParsePatterns(patterns).Match(self, true) {
		return nil, nil
	}
	return patterns, nil
}
