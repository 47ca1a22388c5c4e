package push

import (
	"context"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
)

// A source is a repository that is copied from.
type source struct {
	client *remote.Client
	ref    name.Reference
	repo   *remote.Repository
	budget *oci.Budget
}

func newSource(ctx context.Context, client *remote.Client, ref name.Reference) (*source, error) {
	repo, err := client.Repository(ctx, ref.Context())
	if err != nil {
		return nil, client.Explain(ref, err)
	}
	return &source{client, ref, repo, oci.NewBudget()}, nil
}

// manifest returns the manifest at a tag or digest.
func (s *source) manifest(ctx context.Context, reference string) (remote.Manifest, error) {
	m, err := s.repo.Manifest(ctx, reference)
	return m, s.explain(reference, err)
}

// explain describes an error of the registry.
func (s *source) explain(reference string, err error) error {
	return s.client.Explain(referenceTo(s.ref.Context(), reference), err)
}

// plan reads all manifests of an artifact, of which m is the first.
func (s *source) plan(ctx context.Context, m remote.Manifest) (*plan, error) {
	p := &plan{seen: map[v1.Hash]bool{}}
	walk := oci.Walk{
		Budget: s.budget,
		Read: func(ctx context.Context, d v1.Descriptor) ([]byte, error) {
			m, err := s.manifest(ctx, d.Digest.String())
			return m.Raw, err
		},
		Descend: func(d v1.Descriptor) (bool, error) {
			if !isManifest(d.MediaType) {
				s.addBlob(p, d)
				return false, nil
			}
			if d.Platform != nil && !oci.IsAttestation(d) {
				p.result.Platforms = append(p.result.Platforms, d.Platform.String())
			}
			return true, nil
		},
		After: func(m *oci.Manifest) error {
			p.addManifest(m)
			for _, d := range m.Blobs() {
				s.addBlob(p, d)
			}
			return nil
		},
	}
	top := v1.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: int64(len(m.Raw)), Data: m.Raw}
	return p, p.run(ctx, walk, top)
}

// addBlob adds a blob that is streamed from the source to the target.
func (s *source) addBlob(p *plan, desc v1.Descriptor) {
	b := remote.Blob{Descriptor: desc, OpenAt: (&checked{source: s, desc: desc}).open}
	if oci.IsEmbedded(desc) {
		b.OpenAt, b.Open = nil, opener(desc.Data)
	}
	p.addBlob(b)
}

// isManifest reports whether an index's entry of this type is a manifest. Build
// caches are indexes of layers.
func isManifest(t types.MediaType) bool {
	const artifact = "application/vnd.oci.artifact.manifest.v1+json"
	return t == "" || t == artifact || t.IsImage() || t.IsIndex() || t.IsSchema1()
}
