package runtimeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/ioerror"
	"github.com/xfn-dev/xfn/xpkg/archive"
)

// FromEngine returns the image that an engine has by a name or an id. It is taken
// out as a stream, into a temporary file that is there until the images are
// closed. Errors name the image.
func FromEngine(ctx context.Context, engine *dockerengine.Engine, image string, opts Options) (*Images, error) {
	s, err := newSpool(opts.TempDir)
	if err != nil {
		return nil, err
	}
	all, err := s.fromEngine(ctx, engine, image, opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taking a runtime image out of the engine: %w", err), s.Close())
	}
	return all, nil
}

func (s *spool) fromEngine(ctx context.Context, engine *dockerengine.Engine, image string, opts Options) (*Images, error) {
	opts.Progress.Step("reading " + image)
	path := filepath.Join(s.dir, "image.tar")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a temporary file: %w", ioerror.Cause(err))
	}
	if err := errors.Join(engine.Save(ctx, image, f, opts.Progress), f.Close()); err != nil {
		return nil, err
	}
	saved, err := archive.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", image, err)
	}
	s.keep(saved)
	all, err := s.imagesOf(ctx, saved.Artifact)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", image, err)
	}
	return all, nil
}
