package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// project removes the project file, or the root of a project, from files, and returns the other
// files and the dependencies of the project. It keeps the project for its rewrites, which also
// apply to the other files, so files may name one project only.
func (c *LockCmd) project(ctx context.Context, term *terminal.Terminal, sources lock.Sources, files []string) (others []string, wants []lock.Want, err error) {
	for _, f := range files {
		path, err := projectFile(f)
		if err != nil {
			return nil, nil, err
		}
		if path == "" {
			others = append(others, f)
			continue
		}
		if c.of != nil && c.of.Path != path {
			return nil, nil, &terminal.UsageError{Err: fmt.Errorf("a lock file can have the dependencies of only one project, got %q and %q", c.of.Path, path)}
		}
		if c.of, err = flags.ReadProject(ctx, term, path); err != nil {
			return nil, nil, err
		}
		for _, d := range c.of.Dependencies {
			locked := generate.LockedDependency(c.of, d)
			w := lock.API(locked)
			if d.XPkg != nil {
				if w, err = sources.Package(locked); err != nil {
					return nil, nil, w.At(err)
				}
			}
			wants = append(wants, w)
		}
	}
	return others, wants, nil
}

// projectFile returns the path of the project file that path names, or that is in the
// directory at path. It returns "" if there is none, or if the directory is a package root.
func projectFile(path string) (string, error) {
	if slices.Contains([]string{project.File, project.UpboundFile}, filepath.Base(path)) {
		return path, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return "", nil // Collect explains why path cannot be read.
	}
	if _, err := os.Stat(filepath.Join(path, "crossplane.yaml")); err == nil {
		return "", nil
	}
	found, _, err := project.Find(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return found, err
}
