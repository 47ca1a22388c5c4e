package python

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// hatchBuild are the settings of builds with hatchling.
type hatchBuild struct {
	hatchTarget
	Targets struct{ Wheel hatchTarget }
}

// hatchTarget are the settings of one kind of build. Those of the wheel replace those of all
// builds (hatchling/builders/config.py).
type hatchTarget struct {
	Packages, Include, Exclude, Artifacts []string

	OnlyInclude  []string       `toml:"only-include"`
	ForceInclude map[string]any `toml:"force-include"`
	IgnoreVCS    *bool          `toml:"ignore-vcs"`
	Sources      any
	Hooks        map[string]any
}

// wheel returns the settings for a wheel.
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
	case len(w.ForceInclude) > 0 || w.Sources != nil || len(w.Include) > 0:
		return nil, needsBackend("hatchling", "the wheel has include, force-include or sources")
	}
	var roots []sourceRoot
	for _, p := range w.Packages {
		p = path.Clean(p)
		roots = append(roots, sourceRoot{from: p, to: path.Base(p)})
	}
	for _, p := range w.OnlyInclude {
		roots = append(roots, sourceRoot{from: path.Clean(p), to: path.Clean(p)})
	}
	var err error
	if len(roots) == 0 {
		if roots, err = in.module(dir, "", "", "src"); err != nil {
			return nil, err
		}
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
	return roots, nil
}

// gitignored returns the patterns of the .gitignore file that hatchling uses: that in dir, or
// in the closest folder above it that has one. The patterns apply to paths in dir. They do
// not apply if they exclude dir itself. Unlike hatchling, gitignored ignores files and names
// of folders outside of the git repository, which another clone does not have.
func gitignored(dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	var data []byte
	self := "*" // any name, because each clone may have another one
	for at, found := dir, false; ; at = filepath.Dir(at) {
		text, err := readText(filepath.Join(at, ".gitignore"))
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
