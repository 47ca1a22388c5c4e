package oci

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/hint"
)

// A Manifest is the manifest of an image, an index or another artifact.
type Manifest struct {
	Digest v1.Hash
	// MediaType is the mediaType field of the manifest. If the manifest has none, it is the
	// media type of the manifest's descriptor.
	MediaType types.MediaType
	Raw       []byte
	// IsIndex is true if the manifest lists other manifests. An index has no config and no
	// layers.
	IsIndex   bool
	Manifests []v1.Descriptor
	// Config is nil for an index, and for a manifest without a config.
	Config      *v1.Descriptor
	Layers      []v1.Descriptor
	Annotations map[string]string
}

// Blobs returns the descriptors of the layers and the config.
func (m *Manifest) Blobs() []v1.Descriptor {
	if m.Config == nil {
		return m.Layers
	}
	return append(slices.Clone(m.Layers), *m.Config)
}

// parseManifest decodes a manifest. It determines the kind of the manifest from the content,
// not from the media type that a registry returns. A manifest that clients could read both
// as an image and as an index is an error (CVE-2021-41190).
func parseManifest(d v1.Descriptor, raw []byte) (*Manifest, error) {
	var has struct {
		// Blobs is a field of the artifact manifest of image spec v1.1-rc1. FSLayers is a field
		// of Docker's manifest schema 1.
		Manifests, Layers, Config, Blobs, FSLayers json.RawMessage
	}
	var fields struct {
		MediaType                types.MediaType
		Manifests, Layers, Blobs []v1.Descriptor
		Config                   *v1.Descriptor
		Annotations              map[string]string
	}
	if !json.Valid(raw) {
		return nil, errors.New("reading a manifest: it is not valid JSON")
	}
	if err := cmp.Or(json.Unmarshal(raw, &has), json.Unmarshal(raw, &fields)); err != nil {
		return nil, fmt.Errorf("reading a manifest: it is not valid: %w", hint.JSONError(err))
	}
	index, image := has.Manifests != nil, has.Layers != nil || has.Config != nil || has.Blobs != nil
	mediaType := cmp.Or(fields.MediaType, d.MediaType)
	switch {
	case has.FSLayers != nil:
		return nil, fmt.Errorf("manifest %s has Docker's schema 1, which is not supported", d.Digest)
	case index && image:
		return nil, fmt.Errorf("manifest %s is an image and an index at once", d.Digest)
	case index == image, index && mediaType != "" && !mediaType.IsIndex(), image && mediaType.IsIndex():
		return nil, fmt.Errorf("manifest %s is neither an image nor an index, but %q", d.Digest, mediaType)
	case index && d.MediaType.IsImage(), image && d.MediaType.IsIndex():
		return nil, fmt.Errorf("manifest %s is not of the media type %q that its descriptor names", d.Digest, d.MediaType)
	}
	return &Manifest{
		Digest: d.Digest, MediaType: mediaType, Raw: raw, IsIndex: index, Manifests: fields.Manifests,
		Config: fields.Config, Layers: slices.Concat(fields.Layers, fields.Blobs), Annotations: fields.Annotations,
	}, nil
}

// IsImage reports whether m is the manifest of an image and not of another artifact. It
// has the rule of the function IsImage.
func (m *Manifest) IsImage() bool {
	return m.Config != nil && IsImage(&v1.Manifest{Config: *m.Config})
}

// A LayerFunc returns the layer that a descriptor describes. diffID is the digest of the
// layer's uncompressed tar.
type LayerFunc func(d v1.Descriptor, diffID v1.Hash) (v1.Layer, error)

// Image returns the image of this manifest and its config. It calls layer for each layer.
func (m *Manifest) Image(config []byte, layer LayerFunc) (v1.Image, error) {
	ids, err := m.diffIDs(config)
	if err != nil {
		return nil, err
	}
	layers := make([]v1.Layer, len(m.Layers))
	for i, d := range m.Layers {
		if layers[i], err = layer(d, ids[i]); err != nil {
			return nil, err
		}
	}
	return Image(m.Raw, config, layers...)
}

// diffIDs returns the diff IDs of the layers. An artifact that is not an image has no diff
// IDs: for it, the digests of the layers are returned.
func (m *Manifest) diffIDs(config []byte) ([]v1.Hash, error) {
	if m.IsImage() {
		c, err := ParseConfig(config, len(m.Layers))
		if err != nil {
			return nil, err
		}
		return c.RootFS.DiffIDs, nil
	}
	ids := make([]v1.Hash, len(m.Layers))
	for i, d := range m.Layers {
		ids[i] = d.Digest
	}
	return ids, nil
}

// ParseConfig decodes the config of an image with this number of layers. If the config lists
// another number of layers, the error is an IncompleteError.
func ParseConfig(raw []byte, layers int) (*v1.ConfigFile, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the config is not valid: %v", hint.JSONError(err)) // io.EOF, the error for an empty config, must not be wrapped.
	}
	if n := len(c.RootFS.DiffIDs); n != layers {
		return nil, IncompleteError(fmt.Sprintf("the config lists %d layers, but the manifest lists %d", n, layers))
	}
	return c, nil
}

// An IncompleteError says which part of an image or a layout is missing.
type IncompleteError string

// Error implements error.
func (e IncompleteError) Error() string { return string(e) }

// PlatformOf returns the platform that an image's config names.
func PlatformOf(c *v1.ConfigFile) v1.Platform {
	return v1.Platform{OS: c.OS, Architecture: c.Architecture, Variant: c.Variant, OSVersion: c.OSVersion, OSFeatures: c.OSFeatures}
}

// IsAttestation reports whether an entry of an index is an attestation of Docker (BuildKit),
// which has the platform "unknown".
func IsAttestation(d v1.Descriptor) bool { return d.Platform != nil && d.Platform.OS == "unknown" }

// IsElsewhere reports whether a registry need not store a layer, because the layer can be
// downloaded from the URLs in its descriptor (OCI image spec, "Non-Distributable Layers").
func IsElsewhere(d v1.Descriptor) bool { return !d.MediaType.IsDistributable() && len(d.URLs) > 0 }

// IsEmbedded reports whether a descriptor contains the content that it describes (OCI
// image spec, descriptor.md, "data"), which a registry need not store.
func IsEmbedded(d v1.Descriptor) bool {
	return d.Data != nil && int64(len(d.Data)) == d.Size && d.Digest.Hex != "" && Sum(d.Digest.Algorithm, d.Data) == d.Digest
}

// Sum returns the digest of content, or the zero value for an unknown algorithm.
func Sum(algorithm string, content []byte) v1.Hash {
	sum, err := v1.Hasher(algorithm)
	if err != nil {
		return v1.Hash{}
	}
	sum.Write(content)
	return v1.Hash{Algorithm: algorithm, Hex: hex.EncodeToString(sum.Sum(nil))}
}

// Embed returns a descriptor that contains raw, as IsEmbedded requires.
func Embed(raw []byte) v1.Descriptor {
	return v1.Descriptor{Digest: Sum("sha256", raw), Size: int64(len(raw)), Data: raw}
}
