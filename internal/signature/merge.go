package signature

import (
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// IsList reports whether cosign stores a list at tag to which others may add: the
// signatures or the attestations of a digest.
func IsList(tag string) bool {
	return strings.HasSuffix(tag, ".sig") || strings.HasSuffix(tag, ".att")
}

// Merge returns a copy of img with the layers of more that img lacks. Both are images of
// signatures, or both of attestations. If img has all layers of more, Merge returns img.
func Merge(img, more v1.Image) (v1.Image, error) {
	have, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of signatures: %w", err)
	}
	add, err := more.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of signatures: %w", err)
	}
	// Signatures of one image by several keys have the same payload, and thus the same digest.
	// RSA signatures of one key are equal, but only one may have the proof of a log.
	type id struct {
		digest        v1.Hash
		value, bundle string
	}
	of := func(d v1.Descriptor) id {
		return id{d.Digest, d.Annotations[annotation], d.Annotations[bundleAnnotation]}
	}
	seen := map[id]bool{}
	for _, d := range have.Layers {
		seen[of(d)] = true
	}
	var added []mutate.Addendum
	for _, d := range add.Layers {
		if seen[of(d)] {
			continue
		}
		l, err := more.LayerByDigest(d.Digest)
		if err != nil {
			return nil, fmt.Errorf("finding layer %s: %w", d.Digest, err)
		}
		added = append(added, mutate.Addendum{Layer: l, Annotations: d.Annotations, MediaType: d.MediaType})
	}
	switch n := len(have.Layers) + len(added); {
	case len(added) == 0:
		return img, nil
	case n > maxSignatures:
		return nil, fmt.Errorf("there would be %d signatures, more than the limit of %d", n, maxSignatures)
	}
	if img, err = mutate.Append(img, added...); err != nil {
		return nil, fmt.Errorf("merging signatures: %w", err)
	}
	return img, nil
}
