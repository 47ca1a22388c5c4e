package xpkg

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

func connect(ctx context.Context, program terminal.Program) (*dockerengine.Engine, error) {
	return dockerengine.Connect(ctx, dockerengine.FromEnviron(os.Environ()), program.UserAgent())
}

// fromEngine takes a runtime image out of the engine.
func fromEngine(ctx context.Context, program terminal.Program, img string, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	engine, err := connect(ctx, program)
	if err != nil {
		return nil, err
	}
	images, err := runtimeimage.FromEngine(ctx, engine, img, opts)
	return images, errors.Join(err, engine.Close())
}

// load gives a package file to the engine, under a name without a registry: what
// of it is for the engine's platform.
func load(ctx context.Context, term *terminal.Terminal, program terminal.Program, file, as string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("loading %q into Docker: %w", file, err)
		}
	}()
	tag, err := name.NewTag(as)
	if err != nil {
		return err
	}
	engine, err := connect(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	platform, err := engine.Platform(ctx)
	if err != nil {
		return err
	}
	pkg, err := image.OpenLocal(ctx, file, platform)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pkg.Close()) }()
	if err := engine.Load(ctx, tag, pkg.Image); err != nil {
		return err
	}
	term.Note(fmt.Sprintf("Docker has %s as image %s:%s", file, as, tag.TagStr()))
	return nil
}
