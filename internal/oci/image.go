package oci

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/hint"
)

type image struct {
	manifest, config []byte
	mediaType        types.MediaType
	layers           map[v1.Hash]v1.Layer
}

// Image returns an image whose manifest and config have exactly the given bytes. It returns
// an error if the manifest lists a layer that is not in layers. It also returns an error if
// the config's digest differs from the digest in the manifest.
func Image(manifest, config []byte, layers ...v1.Layer) (v1.Image, error) {
	m, err := v1.ParseManifest(bytes.NewReader(manifest))
	if err != nil {
		return nil, fmt.Errorf("reading an image manifest: %w", hint.JSONError(err))
	}
	if digest := Sum("sha256", config); digest != m.Config.Digest {
		return nil, fmt.Errorf("the digest of the image's config is %s, but the manifest says %s", digest, m.Config.Digest)
	}
	img := &image{manifest, config, cmp.Or(m.MediaType, types.OCIManifestSchema1), map[v1.Hash]v1.Layer{}}
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return nil, fmt.Errorf("finding the digest of a layer: %w", err)
		}
		img.layers[digest] = l
	}
	for _, desc := range m.Layers {
		l, ok := img.layers[desc.Digest]
		if !ok {
			return nil, fmt.Errorf("layer %s is missing", desc.Digest)
		}
		img.layers[desc.Digest] = typed{l, desc.MediaType}
	}
	return partial.CompressedToImage(img)
}

// A typed layer returns the media type that the manifest gives it.
type typed struct {
	v1.Layer
	mediaType types.MediaType
}

func (t typed) MediaType() (types.MediaType, error) { return t.mediaType, nil }

func (i *image) MediaType() (types.MediaType, error) { return i.mediaType, nil }
func (i *image) RawManifest() ([]byte, error)        { return i.manifest, nil }
func (i *image) RawConfigFile() ([]byte, error)      { return i.config, nil }

func (i *image) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if l, ok := i.layers[h]; ok {
		return l, nil
	}
	return nil, fmt.Errorf("the image has no layer %s", h)
}

// IsImage reports whether m is the manifest of an image. Another artifact, such as a
// signature, has a config of another type (OCI image spec, "Guidelines for Artifact
// Usage").
func IsImage(m *v1.Manifest) bool {
	return m.Config.MediaType == "" || m.Config.MediaType.IsConfig()
}

// Assemble returns an image of config and layers, with a new OCI manifest that contains
// descs. There must be a layer for each descriptor in descs.
func Assemble(config []byte, descs []v1.Descriptor, layers ...v1.Layer) (v1.Image, error) {
	return assemble(types.OCIManifestSchema1, types.OCIConfigJSON, config, descs, layers...)
}

func assemble(manifestType, configType types.MediaType, config []byte, descs []v1.Descriptor, layers ...v1.Layer) (v1.Image, error) {
	if descs == nil {
		descs = []v1.Descriptor{}
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: manifestType, Config: v1.Descriptor{MediaType: configType, Digest: Sum("sha256", config), Size: int64(len(config))}, Layers: descs}
	raw, _ := json.Marshal(m) // Its types have no errors.
	return Image(raw, config, layers...)
}

// Parts are the parts of an image.
type Parts struct {
	Config []byte
	// Descriptors are the descriptors of Layers, in the same order.
	Descriptors []v1.Descriptor
	Layers      []v1.Layer
}

// PartsOf returns the config, descriptors and layers of an image. Assemble creates an image
// of such parts.
func PartsOf(img v1.Image) (p Parts, err error) {
	if p.Config, err = img.RawConfigFile(); err != nil {
		return p, fmt.Errorf("reading the image's config: %w", err)
	}
	m, err := img.Manifest()
	if err != nil {
		return p, fmt.Errorf("reading the image's manifest: %w", err)
	}
	p.Descriptors = m.Layers
	if p.Layers, err = img.Layers(); err != nil {
		return p, fmt.Errorf("reading the image's layers: %w", err)
	}
	return p, nil
}

// ConfigObject decodes the config so that callers can change it. It keeps unknown fields,
// and does not round numbers.
func (p Parts) ConfigObject() (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(p.Config))
	dec.UseNumber()
	var config map[string]any
	if err := dec.Decode(&config); err != nil || config == nil {
		return nil, errors.New("reading the image's config: it is not a JSON object")
	}
	return config, nil
}

// Describe returns the descriptor of an image, index or layer. Only the media type, size and
// digest of the descriptor are set.
func Describe(d partial.Describable) (desc v1.Descriptor, err error) {
	if desc.Digest, err = d.Digest(); err != nil {
		return desc, fmt.Errorf("finding a digest: %w", err)
	}
	if desc.Size, err = d.Size(); err != nil {
		return desc, fmt.Errorf("finding the size of %s: %w", desc.Digest, err)
	}
	if desc.MediaType, err = d.MediaType(); err != nil {
		return desc, fmt.Errorf("finding the media type of %s: %w", desc.Digest, err)
	}
	return desc, nil
}

// Annotate returns img with annotations in place of the annotations in its manifest. All
// other fields of the manifest are kept, including unknown ones.
func Annotate(img v1.Image, annotations map[string]string) (v1.Image, error) {
	raw, err := img.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, errors.New("reading a manifest: it is not a JSON object")
	}
	delete(fields, "annotations")
	if len(annotations) > 0 {
		fields["annotations"], _ = json.Marshal(annotations) // Strings have no errors.
	}
	raw, _ = json.Marshal(fields) // Its values are JSON.
	p, err := PartsOf(img)
	if err != nil {
		return nil, err
	}
	return Image(raw, p.Config, p.Layers...)
}

// dockerTypes maps media types of OCI to media types of Docker's image manifest version 2, schema
// 2.
var dockerTypes = map[types.MediaType]types.MediaType{
	types.OCILayer: types.DockerLayer, types.OCIUncompressedLayer: types.DockerUncompressedLayer,
}

// Docker returns img with the media types of Docker and without annotations of its manifest.
// It keeps the annotations of layers.
func Docker(img v1.Image) (v1.Image, error) {
	p, err := PartsOf(img)
	if err != nil {
		return nil, err
	}
	descs := slices.Clone(p.Descriptors)
	for i, d := range descs {
		descs[i] = v1.Descriptor{MediaType: cmp.Or(dockerTypes[d.MediaType], d.MediaType), Size: d.Size, Digest: d.Digest, Annotations: d.Annotations}
	}
	return assemble(types.DockerManifestSchema2, types.DockerConfigJSON, p.Config, descs, p.Layers...)
}
