package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
)

// maxLayers bounds the bytes of an image's layers as they are stored.
const maxLayers = 16 << 30

// found is the image that a reference means on a platform, but for its layers.
type found struct {
	desc             v1.Descriptor
	manifest, config []byte
	layers           []v1.Descriptor
	diffIDs          []v1.Hash
	platform         v1.Platform
	configDesc       v1.Descriptor
}

// A walk goes from a manifest to the image for a platform.
type walk struct {
	// read returns a manifest or config, checked against its digest.
	read   func(context.Context, v1.Descriptor) ([]byte, error)
	budget *budget
}

// image returns what top, a manifest or an index, has for a platform.
func (w walk) image(ctx context.Context, top []byte, want v1.Platform) (*found, error) {
	if err := w.budget.take(int64(len(top))); err != nil {
		return nil, err
	}
	all, err := w.images(ctx, top, describe(top), 0)
	if err != nil {
		return nil, err
	}
	there := make([]v1.Platform, 0, len(all))
	for _, f := range all {
		there = append(there, f.platform)
	}
	i, err := Choose(there, want)
	if err != nil {
		return nil, err
	}
	if all[i].manifest != nil {
		return all[i], nil
	}
	return w.load(ctx, all[i].desc)
}

// describe returns the descriptor of a manifest.
func describe(raw []byte) v1.Descriptor {
	h, size, _ := v1.SHA256(bytes.NewReader(raw)) // Reading memory does not fail.
	return v1.Descriptor{Digest: h, Size: size}
}

// images returns the images of a manifest that was read. Those whose platform
// an index tells are not read yet.
func (w walk) images(ctx context.Context, raw []byte, desc v1.Descriptor, depth int) ([]*found, error) {
	index, err := isIndex(raw)
	if err != nil {
		return nil, err
	}
	if depth > oci.MaxDepth {
		return nil, fmt.Errorf("its indexes are nested more than %d deep", oci.MaxDepth)
	}
	if !index {
		f, err := w.parse(ctx, raw, desc)
		return []*found{f}, err
	}
	m, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	var all []*found
	for _, d := range m.Manifests {
		more, err := w.child(ctx, d, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// child returns the images of an index's entry. Attestations, whose platform is
// "unknown", and what is no image are left out.
func (w walk) child(ctx context.Context, d v1.Descriptor, depth int) ([]*found, error) {
	switch {
	case d.Platform != nil && d.Platform.OS == "unknown":
		return nil, nil
	case d.MediaType.IsImage() && d.Platform != nil && d.Platform.OS != "":
		return []*found{{desc: d, platform: *d.Platform}}, nil
	case !d.MediaType.IsImage() && !d.MediaType.IsIndex():
		return nil, nil
	}
	raw, err := w.manifest(ctx, d)
	if err != nil {
		return nil, err
	}
	all, err := w.images(ctx, raw, d, depth)
	if errors.As(err, new(artifactError)) {
		return nil, nil
	}
	return all, err
}

// load reads the image that an index's entry is of.
func (w walk) load(ctx context.Context, d v1.Descriptor) (*found, error) {
	raw, err := w.manifest(ctx, d)
	if err != nil {
		return nil, err
	}
	if index, err := isIndex(raw); err != nil || index {
		return nil, errors.Join(fmt.Errorf("its manifest %s is not the image that its index says", d.Digest), err)
	}
	return w.parse(ctx, raw, d)
}

func (w walk) manifest(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if d.Size > remote.MaxManifest {
		return nil, fmt.Errorf("its manifest %s has %d bytes, more than the limit of %d", d.Digest, d.Size, remote.MaxManifest)
	}
	return w.metadata(ctx, d)
}

// metadata reads a manifest or config within the budget.
func (w walk) metadata(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if err := w.budget.take(d.Size); err != nil {
		return nil, err
	}
	raw, err := w.read(ctx, d)
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) != d.Size {
		return nil, fmt.Errorf("its manifest or config %s has %d bytes, and should have %d", d.Digest, len(raw), d.Size)
	}
	return raw, nil
}

// parse reads the rest of an image's metadata.
func (w walk) parse(ctx context.Context, raw []byte, desc v1.Descriptor) (*found, error) {
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	if !oci.IsImage(m) {
		return nil, artifactError(m.Config.MediaType)
	}
	if err := w.budget.layers(m.Layers); err != nil {
		return nil, err
	}
	config, err := w.metadata(ctx, m.Config)
	if err != nil {
		return nil, err
	}
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil {
		return nil, errors.New("its config is not valid")
	}
	if n := len(c.RootFS.DiffIDs); n != len(m.Layers) {
		return nil, fmt.Errorf("its config is of %d layers, and its manifest of %d", n, len(m.Layers))
	}
	return &found{
		desc: desc, manifest: raw, config: config, configDesc: m.Config,
		layers: m.Layers, diffIDs: c.RootFS.DiffIDs,
		platform: v1.Platform{OS: c.OS, Architecture: c.Architecture, Variant: c.Variant, OSVersion: c.OSVersion, OSFeatures: c.OSFeatures},
	}, nil
}

// An artifactError is the type of something that is stored like an image, and
// is none.
type artifactError types.MediaType

// Error implements error.
func (e artifactError) Error() string { return fmt.Sprintf("it is no image, but %q", string(e)) }

// isIndex tells an index from an image, by itself and not by what a registry
// says of it. What could be taken for either is an error (CVE-2021-41190).
func isIndex(raw []byte) (bool, error) {
	var m struct {
		MediaType                 types.MediaType
		Manifests, Layers, Config json.RawMessage
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return false, errors.New("reading a manifest: it is not valid JSON")
	}
	index, image := m.Manifests != nil, m.Layers != nil || m.Config != nil
	switch {
	case index && image:
		return false, errors.New("its manifest is an image and an index at once")
	case index && (m.MediaType == "" || m.MediaType.IsIndex()):
		return true, nil
	case image && (m.MediaType == "" || m.MediaType.IsImage()):
		return false, nil
	default:
		return false, fmt.Errorf("it is neither an image nor an index, but %q", m.MediaType)
	}
}

// An opener opens a blob that has so many bytes.
type opener func(h v1.Hash, size int64) (io.ReadCloser, error)

// assemble returns the image whose layers open opens.
func (f *found) assemble(open opener) (v1.Image, error) {
	layers := make([]v1.Layer, 0, len(f.layers))
	for i, d := range f.layers {
		l, err := partial.CompressedToLayer(&layer{d, f.diffIDs[i], open})
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return oci.Image(f.manifest, f.config, layers...)
}

// A layer is opened each time that it is read.
type layer struct {
	desc   v1.Descriptor
	diffID v1.Hash
	open   opener
}

func (l *layer) Digest() (v1.Hash, error)            { return l.desc.Digest, nil }
func (l *layer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *layer) Size() (int64, error)                { return l.desc.Size, nil }
func (l *layer) MediaType() (types.MediaType, error) { return l.desc.MediaType, nil }
func (l *layer) Compressed() (io.ReadCloser, error)  { return l.open(l.desc.Digest, l.desc.Size) }
