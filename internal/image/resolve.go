package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

// useOnline says how something gets into the cache: asking what it means does
// not put it there.
const useOnline = "run a command that uses it, such as xfn render, once without " + hint.Offline

// A Resolved reference is what one means now.
type Resolved struct {
	// Digest is that of its manifest or index.
	Digest v1.Hash
	// Platforms are those that there are images for, as "linux/arm64/v8", sorted.
	// It is empty for an image that names none.
	Platforms []string
}

// Resolve asks the registry what a reference means; with Options.Offline, what it
// meant when it was pulled. Nothing but manifests, and the config of a single
// image, is fetched. An error is one sentence that names the reference.
func (s *Store) Resolve(ctx context.Context, ref name.Reference, o Options) (Resolved, error) {
	up := newUpstream(ctx, ref, o.client(), s.blobs)
	if !o.Offline {
		top, err := up.manifest(ctx, ref.Identifier())
		if err != nil {
			return Resolved{}, up.explain(err)
		}
		r, err := resolved(ctx, up.walk(), top)
		return r, up.explain(err)
	}
	h, err := s.known(ref)
	var top v1.Descriptor
	if err == nil {
		top, err = s.top(h)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = hint.Wrap(fmt.Errorf("image %q is not in the cache, and must not be fetched", ref.Name()), useOnline)
	}
	if err != nil {
		return Resolved{}, err
	}
	return resolved(ctx, s.walk(), top)
}

func resolved(ctx context.Context, w oci.Walk, top v1.Descriptor) (Resolved, error) {
	images, err := candidates(ctx, w, top)
	if err != nil {
		return Resolved{}, err
	}
	r := Resolved{Digest: top.Digest}
	for _, i := range images {
		if i.platform.OS != "" {
			r.Platforms = append(r.Platforms, i.platform.String())
		}
	}
	slices.Sort(r.Platforms)
	r.Platforms = slices.Compact(r.Platforms)
	return r, nil
}
