package runtimeimage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// FromEngine returns the image that an engine has by a name or an id: the one
// that FromTarball returns of a file of docker save. It is taken out as a stream,
// and its layers are compressed as they come. Errors name the image.
func FromEngine(ctx context.Context, engine *dockerengine.Engine, image string, opts Options) (*Images, error) {
	all, err := read(image, opts, func(s *spool) (*Images, error) { return s.fromEngine(ctx, engine, image) })
	if err != nil {
		return nil, fmt.Errorf("taking a runtime image out of the engine: %w", err)
	}
	return all, nil
}

// errEnough stops an engine whose image is refused.
var errEnough = errors.New("no more is needed")

func (s *spool) fromEngine(ctx context.Context, engine *dockerengine.Engine, image string) (*Images, error) {
	r, w := io.Pipe()
	saved := make(chan error, 1)
	go func() {
		err := engine.Save(ctx, image, w, s.report)
		w.CloseWithError(err)
		saved <- err
	}()
	f, err := archive.Read(ctx, r, s.draft.Draft)
	r.CloseWithError(errEnough)
	if err := <-saved; err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", image, err)
	}
	all, err := s.imagesOf(ctx, f.Artifact)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", image, err)
	}
	return all, nil
}
