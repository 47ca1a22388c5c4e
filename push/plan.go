package push

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/xpkg"
)

// A plan is what has to be in the registry.
type plan struct {
	artifact xpkg.Artifact
	result   Result
	// layers are those of all images, each once.
	layers []v1.Layer
	// size is that of the layers and configs.
	size int64
}

func planOf(ref name.Tag, a xpkg.Artifact) (*plan, error) {
	p := &plan{artifact: a, result: Result{Reference: ref.Name()}}
	var err error
	if p.result.Digest, err = a.Digest(); err != nil {
		return nil, err
	}
	if p.result.MediaType, err = a.MediaType(); err != nil {
		return nil, err
	}
	images, err := xpkg.Images(a)
	if err != nil {
		return nil, err
	}
	seen := map[v1.Hash]bool{}
	for _, i := range images {
		if i.Platform != nil {
			p.result.Platforms = append(p.result.Platforms, i.Platform.String())
		}
		if err := p.add(i.Image, seen); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *plan) add(img v1.Image, seen map[v1.Hash]bool) error {
	m, err := img.Manifest()
	if err != nil {
		return fmt.Errorf("reading a manifest: %w", err)
	}
	p.size += m.Config.Size
	for _, d := range m.Layers {
		if seen[d.Digest] {
			continue
		}
		seen[d.Digest] = true
		l, err := img.LayerByDigest(d.Digest)
		if err != nil {
			return fmt.Errorf("finding layer %s: %w", d.Digest, err)
		}
		p.layers = append(p.layers, l)
		p.size += d.Size
	}
	return nil
}
