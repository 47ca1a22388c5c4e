package generate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/remote"
)

// InitOptions are the options of Init.
type InitOptions struct {
	// Dir is the directory of the project. It may exist if it is empty, except for ".git".
	Dir, Name, Repository string
	Dialect               project.Dialect
}

// Init creates the directory of a project, with its project file and empty directories. It
// returns the path of the project file. If it fails, it removes what it has created.
func Init(ctx context.Context, o InitOptions) (_ string, err error) {
	if problems := validation.IsDNS1035Label(o.Name); len(problems) > 0 {
		return "", hint.Wrap(fmt.Errorf("%q cannot name a project", o.Name),
			"use at most 63 lower-case letters, digits and dashes, beginning with a letter, such as platform")
	}
	if err := remote.CheckRepository(o.Repository); err != nil {
		return "", err
	}
	if err := empty(o.Dir, ".git"); err != nil {
		return "", err
	}
	name, apiVersion := project.File, "dev.crossplane.io/v1alpha1"
	if o.Dialect == project.Upbound {
		name, apiVersion = project.UpboundFile, "meta.dev.upbound.io/v2alpha1"
	}
	path := filepath.Join(o.Dir, name)
	_, statErr := os.Stat(o.Dir)
	var made []string
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return "", fmt.Errorf("creating the directory %q: %w", o.Dir, fsx.Cause(err))
	}
	defer func() {
		if err == nil {
			return
		}
		err = errors.Join(err, removeAll(made))
		if errors.Is(statErr, fs.ErrNotExist) {
			_ = os.Remove(o.Dir) // Remove fails if another process has written to it.
		}
	}()
	for _, dir := range []string{"apis", "examples", "functions", "operations", "tests"} {
		dir = filepath.Join(o.Dir, dir)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", fmt.Errorf("creating the directory %q: %w", dir, fsx.Cause(err))
		}
		made = append(made, dir)
		if err := fsx.WriteFile(filepath.Join(dir, ".gitkeep"), 0o600, nil); err != nil {
			return "", err
		}
	}
	made = append(made, path)
	err = writeObject(path, 0o600, map[string]any{
		"apiVersion": apiVersion, "kind": "Project", "metadata": map[string]any{"name": o.Name}, "spec": map[string]any{"repository": o.Repository},
	})
	if err != nil {
		return "", err
	}
	_, err = project.Read(ctx, path)
	return path, err
}

// removeAll removes files, and directories with their content.
func removeAll(paths []string) error {
	var errs []error
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, fmt.Errorf("removing %q: %w", path, fsx.Cause(err)))
		}
	}
	return errors.Join(errs...)
}

// empty returns an error if a directory has files that are not in allowed.
func empty(dir string, allowed ...string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the directory %q: %w", dir, fsx.Cause(err))
	}
	for _, e := range entries {
		if !slices.Contains(allowed, e.Name()) {
			return hint.Wrap(fmt.Errorf("the directory %q is not empty: it has %s", dir, e.Name()), "name another directory, or remove its content")
		}
	}
	return nil
}
