package pull

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// Options say how to pull. The zero value works.
type Options struct {
	// Remote reaches the registry. Nil means a new client without options.
	Remote *remote.Client
	// Progress is told the bytes that File has written, or that a Store has
	// fetched.
	Progress progress.Func
	// Offline keeps a Store from asking any registry: what is in the cache
	// counts, whatever a Request's policy, and what is not is an error.
	Offline bool
	// Pin, if not nil, says what is pulled in place of each reference: the digest
	// that a lock has for it. An error of its keeps the reference from being
	// pulled.
	Pin func(name.Reference) (name.Reference, error)
}

func (o Options) client() *remote.Client {
	if o.Remote == nil {
		return remote.New(remote.Options{})
	}
	return o.Remote
}

// Artifact returns the image or index at ref. All its manifests and configs
// are fetched now, up to 63 MiB, so that a tag stands for one digest from then
// on; a layer is fetched when it is asked for, until ctx is done, and checked as
// it is read. An error of such later reading is for remote.Client.Explain.
//
// An error is one sentence that names ref, or what it is pinned to, without any
// credential.
func Artifact(ctx context.Context, ref name.Reference, o Options) (xpkg.Artifact, error) {
	client := o.client()
	ref, err := o.pinned(ref)
	if err != nil {
		return nil, err
	}
	a, err := fetch(ref, client.Options(ctx))
	if err != nil {
		return nil, fmt.Errorf("pulling %q: %w", ref.Name(), client.Explain(ref, err))
	}
	return a, nil
}

// pinned returns what is pulled in place of ref.
func (o Options) pinned(ref name.Reference) (name.Reference, error) {
	if o.Pin == nil {
		return ref, nil
	}
	return o.Pin(ref)
}

func fetch(ref name.Reference, opts []ggcr.Option) (xpkg.Artifact, error) {
	desc, err := ggcr.Get(ref, opts...)
	if err != nil {
		return nil, err
	}
	var a xpkg.Artifact
	switch {
	case desc.MediaType.IsIndex():
		a, err = desc.ImageIndex()
	case desc.MediaType.IsImage():
		a, err = desc.Image()
	default:
		err = fmt.Errorf("it is neither an image nor an index, but %q", desc.MediaType)
	}
	if err != nil {
		return nil, err
	}
	return newBudget().artifact(a, 0)
}

// File writes the package at ref to path as an .xpkg file, the one that was
// pushed, and returns what it wrote. The file is there whole or not at all, and
// is one that xpkg.Open opens: an image that is no package is an error.
func File(ctx context.Context, ref name.Reference, path string, o Options) (xpkg.Artifact, error) {
	o.Remote = o.client()
	a, err := Artifact(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	err = checkPackage(ctx, a)
	if err == nil {
		err = xpkg.WriteFile(ctx, path, a, o.Progress)
	}
	if err != nil {
		return nil, fmt.Errorf("pulling %q: %w", ref.Name(), o.Remote.Explain(ref, err))
	}
	return a, nil
}

// checkPackage finds package.yaml in each image of a.
func checkPackage(ctx context.Context, a xpkg.Artifact) error {
	images, err := xpkg.Images(a)
	if err != nil {
		return err
	}
	for _, i := range images {
		if _, err := xpkg.PackageYAML(ctx, i.Image); err != nil {
			return err
		}
	}
	if len(images) == 0 {
		return errors.New("it holds no image")
	}
	return nil
}
