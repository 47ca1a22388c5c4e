package language

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// SourcePath is the path of a function's source in an image that interprets it.
const SourcePath = "/src"

// BuildFolder adds the source as a folder at SourcePath to the base images, and sets
// environment variables, "KEY=value". The layer is the same for all platforms.
func BuildFolder(ctx context.Context, src Source, owner int, followLinks bool, env []string, opts runtimeimage.Options) (*Result, error) {
	if src.Base == nil {
		return nil, errors.New("no base image is given")
	}
	folder := runtimeimage.Folder{Dir: src.Dir, Root: src.Root, At: SourcePath, Mode: 0o777, Owner: owner, FollowLinks: followLinks}
	layer, err := folder.Layer(ctx, opts.Progress)
	if err != nil {
		return nil, errors.Join(err, src.Base.Close())
	}
	config := runtimeimage.Config{Env: env, Labels: src.Labels, Verbatim: true}
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
