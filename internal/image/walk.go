package image

import (
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
)

// A candidate is an image that can be chosen for a platform: an image of an index, or an
// image without an index.
type candidate struct {
	desc     v1.Descriptor
	platform v1.Platform
	// manifest and config are nil until they are read. They need not be read for an image whose
	// platform is listed in an index.
	manifest *oci.Manifest
	config   []byte
}

// find returns the image for a platform, of the image or index top. It reads other images
// only if the index does not list their platforms.
func find(ctx context.Context, w oci.Walk, top v1.Descriptor, want v1.Platform) (candidate, error) {
	all, err := candidates(ctx, w, top)
	if err != nil {
		return candidate{}, err
	}
	available := make([]v1.Platform, len(all))
	for i, c := range all {
		available[i] = c.platform
	}
	i, err := Choose(available, want)
	if err != nil {
		return candidate{}, err
	}
	if all[i].manifest != nil {
		return all[i], nil
	}
	m, err := w.Manifest(ctx, all[i].desc)
	if err != nil {
		return candidate{}, err
	}
	return load(ctx, w, m)
}

// candidates returns the images of the image or index top, without attestations and other
// artifacts.
func candidates(ctx context.Context, w oci.Walk, top v1.Descriptor) (all []candidate, err error) {
	w.Descend = func(d v1.Descriptor) (bool, error) {
		switch {
		case oci.IsAttestation(d):
			return false, nil
		case d.MediaType.IsImage() && d.Platform != nil && d.Platform.OS != "":
			all = append(all, candidate{desc: d, platform: *d.Platform})
			return false, nil
		default:
			return d.MediaType.IsImage() || d.MediaType.IsIndex(), nil
		}
	}
	w.After = func(m *oci.Manifest) error {
		switch {
		case m.IsIndex, m.Digest != top.Digest && !m.IsImage():
			return nil
		case m.Config != nil && !m.IsImage():
			return fmt.Errorf("the artifact is not an image, but %q", m.Config.MediaType)
		}
		c, err := load(ctx, w, m)
		all = append(all, c)
		return err
	}
	return all, w.Run(ctx, top)
}

func load(ctx context.Context, w oci.Walk, m *oci.Manifest) (candidate, error) {
	config, err := w.Config(ctx, m)
	if err != nil {
		return candidate{}, err
	}
	c, err := oci.ParseConfig(config, len(m.Layers))
	if err != nil {
		return candidate{}, err
	}
	return candidate{v1.Descriptor{Digest: m.Digest}, oci.PlatformOf(c), m, config}, nil
}
