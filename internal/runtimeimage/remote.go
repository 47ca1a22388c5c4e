package runtimeimage

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
)

// FromRemote returns the image at a reference, or the images of an index. Layers
// are as in FromTarball. Errors name the reference.
func FromRemote(ctx context.Context, client *remote.Client, ref name.Reference, opts Options) (*Images, error) {
	all, err := read(ref.Name(), opts, func(s *spool) (*Images, error) {
		a, err := image.Artifact(ctx, ref, image.Options{Remote: client, Pin: opts.Pin})
		if err != nil {
			return nil, err
		}
		all, err := s.imagesOf(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("pulling %q: %w", ref.Name(), client.Explain(ref, err))
		}
		return all, nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image: %w", err)
	}
	return all, nil
}
