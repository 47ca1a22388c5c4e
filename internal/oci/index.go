package oci

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/hint"
)

// An Artifact is a v1.Image or a v1.ImageIndex.
type Artifact interface {
	partial.Describable
	partial.WithRawManifest
}

// Child returns the artifact in idx that desc describes. It returns an error if the media
// type is neither an image nor an index.
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

// EncodeIndex returns the manifest of an OCI index.
func EncodeIndex(annotations map[string]string, manifests ...v1.Descriptor) []byte {
	raw, _ := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: manifests, Annotations: annotations})
	return raw // Its types have no errors.
}

type index struct {
	manifest  []byte
	mediaType types.MediaType
	children  map[v1.Hash]Artifact
}

// Index returns an index whose manifest has exactly the given bytes. It returns an error if
// the manifest lists a digest that is not in children.
func Index(manifest []byte, children ...Artifact) (v1.ImageIndex, error) {
	m, err := v1.ParseIndexManifest(bytes.NewReader(manifest))
	if err != nil {
		return nil, fmt.Errorf("reading an image index: %w", hint.JSONError(err))
	}
	idx := &index{manifest, cmp.Or(m.MediaType, types.OCIImageIndex), map[v1.Hash]Artifact{}}
	for _, c := range children {
		digest, err := c.Digest()
		if err != nil {
			return nil, fmt.Errorf("finding the digest of an image: %w", err)
		}
		idx.children[digest] = c
	}
	for _, desc := range m.Manifests {
		if idx.children[desc.Digest] == nil {
			return nil, fmt.Errorf("image %s is missing", desc.Digest)
		}
	}
	return idx, nil
}

func (i *index) MediaType() (types.MediaType, error) { return i.mediaType, nil }
func (i *index) RawManifest() ([]byte, error)        { return i.manifest, nil }
func (i *index) Digest() (v1.Hash, error)            { return partial.Digest(i) }
func (i *index) Size() (int64, error)                { return partial.Size(i) }

func (i *index) IndexManifest() (*v1.IndexManifest, error) {
	return v1.ParseIndexManifest(bytes.NewReader(i.manifest))
}

func (i *index) Image(h v1.Hash) (v1.Image, error) {
	if img, ok := i.children[h].(v1.Image); ok {
		return img, nil
	}
	return nil, fmt.Errorf("the index has no image %s", h)
}

func (i *index) ImageIndex(h v1.Hash) (v1.ImageIndex, error) {
	if idx, ok := i.children[h].(v1.ImageIndex); ok {
		return idx, nil
	}
	return nil, fmt.Errorf("the index has no index %s", h)
}
