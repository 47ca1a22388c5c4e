package languages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// sourcePath is the path of a function's source in an image that interprets it.
const sourcePath = "/src"

// interpreted says how the image of an existing function interprets source. Its build adds the
// folder with the source to that image.
type interpreted struct {
	// owner is the user who owns the source.
	owner int
	// followLinks adds the targets of links. Without it, links are an error.
	followLinks bool
	// env are environment variables, "KEY=value".
	env []string
	// endings are the endings of files with source. One such file is required.
	endings []string
}

// build adds the source as a folder at sourcePath to the base images. The layer is the same
// for all platforms.
func (f interpreted) build(ctx context.Context, src language.Source, opts runtimeimage.Options) (*language.Result, error) {
	if src.Base == nil {
		return nil, errors.New("no base image is given")
	}
	source := runtimeimage.Folder{Dir: src.Dir, Root: src.Root, At: sourcePath, Mode: 0o777, Owner: f.owner, FollowLinks: f.followLinks}
	layer, err := source.Layer(ctx, opts.Progress)
	if err == nil {
		err = f.check(src)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("building the function in %q: %w", src.Dir, err), src.Base.Close())
	}
	config := runtimeimage.Config{Env: f.env, Labels: src.Labels, Verbatim: true}
	images, err := runtimeimage.FromLayers(ctx, runtimeimage.Layered{
		Base: src.Base, Platforms: src.Platforms,
		Layers: func(context.Context, runtimeimage.Target) ([]runtimeimage.Layer, runtimeimage.Config, error) {
			return []runtimeimage.Layer{layer}, config, nil
		},
	}, opts)
	if err != nil {
		return nil, err
	}
	return language.NewResult(src, images, nil)
}

// check returns an error unless the folder has source.
func (f interpreted) check(src language.Source) error {
	found := false
	err := filepath.WalkDir(src.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains(f.endings, filepath.Ext(name)) {
			return err
		}
		found = true
		return fs.SkipAll
	})
	if err != nil || found {
		return fsx.Cause(err)
	}
	return hint.Wrap(fmt.Errorf("expected a file with the ending %s", strings.Join(f.endings, " or ")), "name the folder that has the source, and its language")
}
