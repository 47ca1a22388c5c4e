package image

import (
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
)

// A tree is what hangs on an artifact, each digest once.
type tree struct {
	seen map[v1.Hash]bool
	// layers are to be read, and have size bytes.
	layers []v1.Descriptor
	size   int64
	// metadata is the bytes of the manifests and configs.
	metadata  int64
	elsewhere []v1.Hash
}

// isNew notes a digest, and says whether it was not known.
func (t *tree) isNew(h v1.Hash) bool {
	if t.seen[h] {
		return false
	}
	t.seen[h] = true
	return true
}

// add adds an artifact whose depth is bounded.
func (t *tree) add(a oci.Artifact) error {
	desc, err := oci.Describe(a)
	if err != nil {
		return err
	}
	if !t.isNew(desc.Digest) {
		return nil
	}
	t.metadata += desc.Size
	switch a := a.(type) {
	case v1.ImageIndex:
		return t.index(a)
	case v1.Image:
		return t.image(a)
	default:
		return errors.New("it is neither an image nor an index")
	}
}

func (t *tree) index(idx v1.ImageIndex) error {
	m, err := idx.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading an index: %w", err)
	}
	for _, d := range m.Manifests {
		child, err := oci.Child(idx, d)
		if err != nil {
			return err
		}
		if err := t.add(child); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) image(img v1.Image) error {
	m, err := img.Manifest()
	if err != nil {
		return fmt.Errorf("reading a manifest: %w", err)
	}
	if t.isNew(m.Config.Digest) {
		t.metadata += m.Config.Size
	}
	for _, d := range m.Layers {
		switch {
		case !t.isNew(d.Digest):
		case !d.MediaType.IsDistributable():
			t.elsewhere = append(t.elsewhere, d.Digest)
		default:
			t.layers = append(t.layers, d)
			t.size += d.Size
		}
	}
	return nil
}
