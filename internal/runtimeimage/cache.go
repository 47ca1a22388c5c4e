package runtimeimage

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/oci"
)

// FromCache returns the images at a reference for opts.Platforms. If opts names no platform,
// FromCache returns all images for Linux. It fetches what the cache in the directory dir does
// not have, unless pull or the policy forbids it. Layers are read from the cache. Errors name the reference.
func FromCache(ctx context.Context, dir string, ref name.Reference, policy image.Policy, pull image.Options, opts Options) (*Images, error) {
	all, err := create(nil, opts, func(s *spool) (*Images, error) {
		store, err := image.Open(dir)
		if err != nil {
			return nil, err
		}
		s.Add(store)
		requests, err := requests(ctx, store, image.Request{Reference: ref, Policy: policy}, pull, opts.Platforms)
		if err != nil {
			return nil, err
		}
		images, err := store.Images(ctx, requests, pull)
		if err != nil {
			return nil, err
		}
		return s.compressed(ctx, images)
	})
	if err != nil {
		return nil, fmt.Errorf("reading a runtime image: %w", err)
	}
	all.Reference = ref
	return all, nil
}

// requests returns a copy of r for each platform, or for each Linux platform of the image if
// no platform is given.
func requests(ctx context.Context, store *image.Store, r image.Request, pull image.Options, platforms []v1.Platform) (all []image.Request, err error) {
	if len(platforms) == 0 {
		ref := r.Reference
		if pull.Pin != nil {
			if ref, err = pull.Pin(ref); err != nil {
				return nil, err
			}
		}
		found, err := store.Resolve(ctx, ref, pull)
		if err != nil {
			return nil, err
		}
		for _, text := range found.Platforms {
			if p, err := v1.ParsePlatform(text); err == nil && p.OS == "linux" && p.Architecture != "" {
				platforms = append(platforms, *p)
			}
		}
	}
	if len(platforms) == 0 {
		return nil, fmt.Errorf("image %q has no platform of Linux", r.Reference.Name())
	}
	for _, p := range platforms {
		r.Platform = p
		all = append(all, r)
	}
	return all, nil
}

// compressed returns images without duplicates. If any of them has an uncompressed layer,
// their layers are copied into the spool.
func (s *spool) compressed(ctx context.Context, images []v1.Image) (*Images, error) {
	all := &Images{spool: s}
	var parts []oci.Parts
	var plain bool
	seen := map[v1.Hash]bool{}
	for _, img := range images {
		digest, err := img.Digest()
		if err != nil {
			return nil, err
		}
		if seen[digest] {
			continue
		}
		seen[digest] = true
		p, err := oci.PartsOf(img)
		if err != nil {
			return nil, err
		}
		plain = plain || slices.ContainsFunc(p.Descriptors, func(d v1.Descriptor) bool {
			return d.MediaType == types.OCIUncompressedLayer || d.MediaType == types.DockerUncompressedLayer
		})
		all.All, parts = append(all.All, img), append(parts, p)
	}
	if plain {
		return s.copyLayers(ctx, parts...)
	}
	return all, nil
}
