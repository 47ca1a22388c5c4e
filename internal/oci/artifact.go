package oci

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
)

// An Artifact is what a tag of a registry points at: a v1.Image or a
// v1.ImageIndex. A type switch tells them apart.
type Artifact interface {
	partial.Describable
	partial.WithRawManifest
}

// Child returns the artifact of idx that desc points at. A descriptor that is
// neither of an image nor of an index is an error.
func Child(idx v1.ImageIndex, desc v1.Descriptor) (Artifact, error) {
	switch {
	case desc.MediaType.IsImage():
		return idx.Image(desc.Digest)
	case desc.MediaType.IsIndex():
		return idx.ImageIndex(desc.Digest)
	default:
		return nil, fmt.Errorf("%s has media type %q, which is neither an image nor an index", desc.Digest, desc.MediaType)
	}
}
