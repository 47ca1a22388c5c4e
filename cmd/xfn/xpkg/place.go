package xpkg

import (
	"context"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A place is where images are: in one of these.
type place struct {
	engine, tarball, layout string
	remote                  name.Reference
}

// place is the one that a flag names, if one does.
func (f *runtimeFlags) place() (at place, ok bool, err error) {
	at = place{engine: f.EmbedRuntimeImage, tarball: f.EmbedRuntimeImageTarball, layout: f.EmbedRuntimeLayout}
	if f.EmbedRuntimeRemote != "" {
		at.remote, err = f.Reference(f.EmbedRuntimeRemote)
	}
	return at, at != place{}, err
}

// parsePlace reads an image's name as skopeo does, "TRANSPORT:DETAILS"
// (containers-transports(5)), or without a transport: what is there is local,
// and anything else a reference, unless it looks like a path.
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

// images returns the images there, which must be closed.
func (p place) images(ctx context.Context, client *remote.Client, program terminal.Program, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	switch {
	case p.engine != "":
		return fromEngine(ctx, program, p.engine, opts)
	case p.tarball != "":
		return runtimeimage.FromTarball(ctx, p.tarball, opts)
	case p.layout != "":
		return runtimeimage.FromLayout(ctx, p.layout, opts)
	default:
		return runtimeimage.FromRemote(ctx, client, p.remote, opts)
	}
}
