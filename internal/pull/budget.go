package pull

import (
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/xpkg"
	"github.com/xfn-dev/xfn/xpkg/oci"
)

const (
	// maxMetadata bounds the bytes of all manifests and configs together. An
	// .xpkg file may have 64 MiB, and adds an index of its own.
	maxMetadata = 63 << 20
	// maxBlobs bounds how many manifests, configs and layers there are.
	maxBlobs = 10_000
)

// A budget is what may still be fetched of an artifact's metadata.
type budget struct{ bytes, blobs int64 }

func newBudget() *budget { return &budget{maxMetadata, maxBlobs} }

// take asks for a manifest or config of so many bytes.
func (b *budget) take(size int64) error {
	if size < 0 {
		return errors.New("the size of a manifest or config is negative")
	}
	if b.bytes -= size; b.bytes < 0 {
		return fmt.Errorf("its manifests and configs are larger than %d MiB", maxMetadata>>20)
	}
	return b.count(1)
}

func (b *budget) count(blobs int) error {
	if b.blobs -= int64(blobs); b.blobs < 0 {
		return fmt.Errorf("it has more than %d manifests, configs and layers", maxBlobs)
	}
	return nil
}

// layers counts an image's layers and makes sure that they may be fetched.
func (b *budget) layers(descs []v1.Descriptor) error {
	var sum int64
	for _, d := range descs {
		if d.Size < 0 || d.Size > maxLayers {
			return fmt.Errorf("its layer %s has an impossible size of %d bytes", d.Digest, d.Size)
		}
		if sum += d.Size; sum > maxLayers {
			return fmt.Errorf("its layers are larger than %d GiB", maxLayers>>30)
		}
	}
	return b.count(len(descs))
}

// artifact returns a remote image or index with its metadata in memory: these
// bytes, and no others, are checked, written and asked again.
func (b *budget) artifact(a xpkg.Artifact, depth int) (xpkg.Artifact, error) {
	if depth > oci.MaxDepth {
		return nil, fmt.Errorf("its indexes are nested more than %d deep", oci.MaxDepth)
	}
	raw, err := a.RawManifest()
	if err != nil {
		return nil, err
	}
	if err := b.take(int64(len(raw))); err != nil {
		return nil, err
	}
	switch a := a.(type) {
	case v1.ImageIndex:
		return b.index(a, raw, depth)
	case v1.Image:
		return b.image(a, raw)
	default:
		return nil, errors.New("it is neither an image nor an index")
	}
}

func (b *budget) index(idx v1.ImageIndex, raw []byte, depth int) (xpkg.Artifact, error) {
	m, err := idx.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	children := make([]oci.Artifact, 0, len(m.Manifests))
	for _, desc := range m.Manifests {
		c, err := oci.Child(idx, desc)
		if err != nil {
			return nil, err
		}
		if size, err := c.Size(); err != nil {
			return nil, err
		} else if size != desc.Size {
			return nil, fmt.Errorf("its manifest %s has %d bytes, and should have %d", desc.Digest, size, desc.Size)
		}
		if c, err = b.artifact(c, depth+1); err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	return oci.Index(raw, children...)
}

func (b *budget) image(img v1.Image, raw []byte) (xpkg.Artifact, error) {
	m, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	if err := b.take(m.Config.Size); err != nil {
		return nil, err
	}
	if err := b.count(len(m.Layers)); err != nil {
		return nil, err
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading config %s: %w", m.Config.Digest, err)
	}
	layers := make([]v1.Layer, 0, len(m.Layers))
	for _, desc := range m.Layers {
		l, err := img.LayerByDigest(desc.Digest)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return oci.Image(raw, config, layers...)
}
