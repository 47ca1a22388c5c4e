package runtimeimage

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
)

// FromRemote returns the image at a reference, or the images of an index. Layers
// are as in FromTarball. Errors name the reference.
func FromRemote(ctx context.Context, client *remote.Client, ref name.Reference, opts Options) (*Images, error) {
	s, err := newSpool(opts)
	if err != nil {
		return nil, err
	}
	opts.Progress.Step("reading " + ref.Name())
	all, err := s.fromRemote(ctx, ref, image.Options{Remote: client, Pin: opts.Pin})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading a runtime image: %w", err), s.Close())
	}
	return all, nil
}

func (s *spool) fromRemote(ctx context.Context, ref name.Reference, o image.Options) (*Images, error) {
	a, err := image.Artifact(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	all, err := s.imagesOf(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("pulling %q: %w", ref.Name(), o.Remote.Explain(ref, err))
	}
	return all, nil
}
