package project

import (
	"context"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// bases opens base images through the cache.
type bases struct {
	cache   flags.Cache
	offline bool
	options image.Options

	mu    sync.Mutex
	store *image.Store // nil until the first image is needed
}

// open returns the base images at a reference, one for each platform.
func (b *bases) open(ctx context.Context, f flags.Registries, reference string, platforms []v1.Platform) (*runtimeimage.Images, error) {
	ref, err := f.Reference(reference)
	if err != nil {
		return nil, err
	}
	store, err := b.opened()
	if err != nil {
		return nil, err
	}
	requests := make([]image.Request, len(platforms))
	for i, p := range platforms {
		requests[i] = image.Request{Reference: ref, Platform: p}
	}
	images, err := store.Images(ctx, requests, b.options)
	if err != nil {
		return nil, err
	}
	return &runtimeimage.Images{All: images}, nil
}

func (b *bases) opened() (*image.Store, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.store != nil {
		return b.store, nil
	}
	dir, err := b.cache.Path()
	if err == nil {
		b.store, err = image.Open(dir)
	}
	return b.store, err
}

// Close closes the cache. The base images cannot be read afterwards.
func (b *bases) Close() error {
	if b.store == nil {
		return nil
	}
	return b.store.Close()
}
