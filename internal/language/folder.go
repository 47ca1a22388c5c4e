package language

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// SourcePath is the path of a function's source in an image that interprets it.
const SourcePath = "/src"

// A Folder is how an image interprets source.
type Folder struct {
	// Owner is the user who owns the source.
	Owner int
	// FollowLinks adds the targets of links. Without it, links are an error.
	FollowLinks bool
	// Env are environment variables, "KEY=value".
	Env []string
	// Endings are the endings of files with source. One such file is required.
	Endings []string
}

// BuildFolder adds the source as a folder at SourcePath to the base images. The layer is the
// same for all platforms.
func BuildFolder(ctx context.Context, src Source, f Folder, opts runtimeimage.Options) (*Result, error) {
	if src.Base == nil {
		return nil, errors.New("no base image is given")
	}
	folder := runtimeimage.Folder{Dir: src.Dir, Root: src.Root, At: SourcePath, Mode: 0o777, Owner: f.Owner, FollowLinks: f.FollowLinks}
	layer, err := folder.Layer(ctx, opts.Progress)
	if err == nil {
		err = f.check(src.Dir)
	}
	if err != nil {
		return nil, errors.Join(err, src.Base.Close())
	}
	config := runtimeimage.Config{Env: f.Env, Labels: src.Labels, Verbatim: true}
	images, err := runtimeimage.FromLayers(ctx, runtimeimage.Layered{
		Base: src.Base, Platforms: src.Platforms,
		Layers: func(context.Context, runtimeimage.Target) ([]runtimeimage.Layer, runtimeimage.Config, error) {
			return []runtimeimage.Layer{layer}, config, nil
		},
	}, opts)
	if err != nil {
		return nil, err
	}
	return NewResult(src, images, nil)
}

// check returns an error unless dir has source.
func (f Folder) check(dir string) error {
	found := false
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains(f.Endings, filepath.Ext(name)) {
			return err
		}
		found = true
		return fs.SkipAll
	})
	if err != nil || found {
		return fsx.Cause(err)
	}
	return hint.Wrap(fmt.Errorf("building the function in %q: expected a file with the ending %s", dir, strings.Join(f.Endings, " or ")), "name the folder that has the source, and its language")
}

// Root returns the folder of the project that dir is part of: that with a project file, or
// else that of the git repository, or else dir.
func Root(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root, found := dir, false
	for at := abs; ; at = filepath.Dir(at) {
		for _, name := range []string{"crossplane-project.yaml", "upbound.yaml"} {
			if _, err := os.Stat(filepath.Join(at, name)); err == nil {
				return at, nil
			}
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil && !found {
			root, found = at, true
		}
		if at == filepath.Dir(at) {
			return root, nil
		}
	}
}
