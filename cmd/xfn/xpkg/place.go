package xpkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A place is where images are. One of its fields is set.
type place struct {
	engine, tarball, layout string
	remote                  name.Reference
}

// parsePlace parses an image's name as skopeo does, "TRANSPORT:DETAILS"
// (containers-transports(5)). A name without a transport is an existing file or
// directory, or a reference unless it looks like a path.
func (f *runtimeFlags) parsePlace(image string) (place, error) {
	transport, details, _ := strings.Cut(image, ":")
	if details == "" {
		transport = ""
	}
	switch transport {
	case "docker-daemon":
		return place{engine: details}, nil
	case "docker-archive", "oci-archive":
		return place{tarball: details}, nil
	case "oci":
		return place{layout: details}, nil
	case "docker":
		if after, ok := strings.CutPrefix(details, "//"); ok {
			ref, err := f.Reference(after)
			return place{remote: ref}, err
		}
	}
	info, err := os.Stat(image)
	switch {
	case err == nil && info.IsDir():
		return place{layout: image}, nil
	case isFile(image):
		return place{tarball: image}, nil
	}
	ref, err := f.reference(image)
	return place{remote: ref}, err
}

// images returns the images of the place. The caller closes them.
func (p place) images(ctx context.Context, client *remote.Client, program terminal.Program, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	switch {
	case p.engine != "":
		engine, err := connect(ctx, program)
		if err != nil {
			return nil, err
		}
		images, err := runtimeimage.FromEngine(ctx, engine, p.engine, opts)
		return images, errors.Join(err, engine.Close())
	case p.tarball != "":
		return runtimeimage.FromTarball(ctx, p.tarball, opts)
	case p.layout != "":
		return runtimeimage.FromLayout(ctx, p.layout, opts)
	default:
		return runtimeimage.FromRemote(ctx, client, p.remote, opts)
	}
}

func connect(ctx context.Context, program terminal.Program) (*dockerengine.Engine, error) {
	return dockerengine.Connect(ctx, dockerengine.FromEnviron(os.Environ()), program.UserAgent())
}

// load loads the image of a package file for the engine's platform into the engine,
// under a name without a registry.
func load(ctx context.Context, term *terminal.Terminal, program terminal.Program, file, as string) (err error) {
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
