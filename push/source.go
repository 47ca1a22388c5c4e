package push

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
)

const (
	// maxManifests bounds the bytes of all manifests of a copy together: they
	// are held in memory.
	maxManifests = 63 << 20
	// maxParts bounds how many manifests and blobs there are.
	maxParts = 10_000
	// maxBlob bounds the bytes of a blob.
	maxBlob = 16 << 30
)

// A source is a repository that is copied from.
type source struct {
	client *remote.Client
	ref    name.Reference
	blobs  *remote.Blobs

	// mu guards what is counted.
	mu    sync.Mutex
	bytes int64
	parts int
}

func newSource(ctx context.Context, client *remote.Client, ref name.Reference) (*source, error) {
	b, err := client.Blobs(ctx, ref.Context())
	if err != nil {
		return nil, client.Explain(ref, err)
	}
	return &source{client: client, ref: ref, blobs: b}, nil
}

// manifest returns what is at a tag or digest.
func (s *source) manifest(ctx context.Context, reference string) (remote.Manifest, error) {
	m, err := s.blobs.Manifest(ctx, reference)
	return m, s.explain(reference, err)
}

// explain says what an error of the registry means.
func (s *source) explain(reference string, err error) error {
	ref := name.Reference(s.ref.Context().Tag(reference))
	if strings.Contains(reference, ":") {
		ref = s.ref.Context().Digest(reference)
	}
	return s.client.Explain(ref, err)
}

// plan reads all manifests of an artifact, of which m is the first.
func (s *source) plan(ctx context.Context, m remote.Manifest) (*plan, error) {
	p := &plan{seen: map[v1.Hash]bool{}}
	if err := s.add(ctx, p, m, 0); err != nil {
		return nil, err
	}
	top := p.manifests[len(p.manifests)-1]
	p.result.Digest, p.result.MediaType = top.digest, top.mediaType
	return p, nil
}

// take counts what is read, so that nobody makes it endless.
func (s *source) take(raw []byte, parts int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes += int64(len(raw)); s.bytes > maxManifests {
		return fmt.Errorf("its manifests are larger than %d MiB", maxManifests>>20)
	}
	if s.parts += parts; s.parts > maxParts {
		return fmt.Errorf("it has more than %d manifests and blobs", maxParts)
	}
	return nil
}

// add adds a manifest, after all that it points at.
func (s *source) add(ctx context.Context, p *plan, m remote.Manifest, depth int) error {
	if depth > oci.MaxDepth {
		return fmt.Errorf("its indexes are nested more than %d deep", oci.MaxDepth)
	}
	p.seen[m.Digest] = true
	d, err := parseDocument(m)
	if err != nil {
		return err
	}
	if err := s.take(m.Raw, 1+len(d.Manifests)+len(d.blobs())); err != nil {
		return err
	}
	p.addBase(d.Annotations)
	for _, desc := range d.Manifests {
		if err := s.addChild(ctx, p, desc, depth+1); err != nil {
			return err
		}
	}
	for _, desc := range d.blobs() {
		if err := s.addBlob(p, desc); err != nil {
			return err
		}
	}
	p.manifests = append(p.manifests, manifest{m.Digest, d.MediaType, m.Raw})
	return nil
}

// addChild adds what an index points at. That is a manifest, but for caches of
// builds, which are indexes of layers.
func (s *source) addChild(ctx context.Context, p *plan, desc v1.Descriptor, depth int) error {
	if !isManifest(desc.MediaType) {
		return s.addBlob(p, desc)
	}
	if desc.Platform != nil && desc.Platform.OS != "unknown" {
		p.result.Platforms = append(p.result.Platforms, desc.Platform.String())
	}
	if p.seen[desc.Digest] {
		return nil
	}
	if desc.Size > remote.MaxManifest {
		return fmt.Errorf("its manifest %s has %d bytes, more than the limit of %d", desc.Digest, desc.Size, remote.MaxManifest)
	}
	m, err := s.manifest(ctx, desc.Digest.String())
	if err != nil {
		return err
	}
	if int64(len(m.Raw)) != desc.Size {
		return fmt.Errorf("its manifest %s has %d bytes, and should have %d", desc.Digest, len(m.Raw), desc.Size)
	}
	return s.add(ctx, p, m, depth)
}

// addBlob adds a blob that streams from the source to where it is wanted.
func (s *source) addBlob(p *plan, desc v1.Descriptor) error {
	if desc.Size < 0 || desc.Size > maxBlob {
		return fmt.Errorf("its blob %s has an impossible size of %d bytes", desc.Digest, desc.Size)
	}
	if !desc.MediaType.IsDistributable() && len(desc.URLs) > 0 {
		return nil // Its URLs say where it is.
	}
	b := remote.Blob{Descriptor: desc, OpenAt: (&checked{source: s, desc: desc}).open}
	if isEmbedded(desc) {
		b.OpenAt, b.Open = nil, opener(desc.Data)
	}
	p.addBlob(b)
	return nil
}

// isEmbedded says whether a descriptor has the blob in it (OCI image spec,
// descriptor.md, "data"): then the registry need not have it.
func isEmbedded(desc v1.Descriptor) bool {
	sum, err := v1.Hasher(desc.Digest.Algorithm)
	if err != nil || len(desc.Data) == 0 || int64(len(desc.Data)) != desc.Size {
		return false
	}
	sum.Write(desc.Data)
	return fmt.Sprintf("%x", sum.Sum(nil)) == desc.Digest.Hex
}

// A document is what manifests of all kinds have in common.
type document struct {
	MediaType   types.MediaType
	Config      *v1.Descriptor
	Layers      []v1.Descriptor
	Blobs       []v1.Descriptor // of the artifact manifest of image spec v1.1-rc1
	Manifests   []v1.Descriptor
	Annotations map[string]string
	FSLayers    json.RawMessage // of Docker's schema 1
}

func (d *document) blobs() []v1.Descriptor {
	all := slices.Concat(d.Layers, d.Blobs)
	if d.Config != nil {
		all = append(all, *d.Config)
	}
	return all
}

// parseDocument reads a manifest. What could be taken for an index and for an
// image is an error (CVE-2021-41190).
func parseDocument(m remote.Manifest) (*document, error) {
	var d document
	if err := json.Unmarshal(m.Raw, &d); err != nil {
		return nil, fmt.Errorf("reading its manifest %s: it is not valid", m.Digest)
	}
	switch {
	case d.FSLayers != nil:
		return nil, fmt.Errorf("its manifest %s has Docker's schema 1, which nothing takes any more", m.Digest)
	case d.Manifests != nil && len(d.blobs()) > 0:
		return nil, fmt.Errorf("its manifest %s is an image and an index at once", m.Digest)
	case d.Manifests == nil && len(d.blobs()) == 0:
		return nil, fmt.Errorf("its manifest %s is neither an image nor an index", m.Digest)
	}
	if d.MediaType == "" {
		d.MediaType = m.MediaType
	}
	return &d, nil
}

// isManifest says whether an index's entry of this type is a manifest.
func isManifest(t types.MediaType) bool {
	const artifact = "application/vnd.oci.artifact.manifest.v1+json"
	return t == "" || t == artifact || t.IsImage() || t.IsIndex() || t.IsSchema1()
}
