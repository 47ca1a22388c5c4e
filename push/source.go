package push

import (
	"context"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
)

type source struct {
	client *remote.Client
	ref    name.Reference
	repo   *remote.Repository
	budget *oci.Budget
}

func (s *source) manifest(ctx context.Context, reference string) (remote.Manifest, error) {
	m, err := s.repo.Manifest(ctx, reference)
	return m, s.explain(reference, err)
}

// explain describes an error of the source registry about a tag or digest.
func (s *source) explain(reference string, err error) error {
	return s.client.Explain(referenceTo(s.ref.Context(), reference), err)
}

// plan reads all manifests of an artifact, beginning with m at the top, and
// returns the plan to copy it.
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
				return false, s.addBlob(p, d)
			}
			if d.Platform != nil && !oci.IsAttestation(d) {
				p.result.Platforms = append(p.result.Platforms, d.Platform.String())
			}
			return true, nil
		},
		After: func(m *oci.Manifest) error {
			p.addManifest(m)
			for _, d := range m.Blobs() {
				if err := s.addBlob(p, d); err != nil {
					return err
				}
			}
			return nil
		},
	}
	top := v1.Descriptor{MediaType: m.MediaType, Digest: m.Digest, Size: int64(len(m.Raw)), Data: m.Raw}
	return p, p.run(ctx, walk, top)
}

// addBlob adds a blob to p. Its bytes are read from the source while they are uploaded.
func (s *source) addBlob(p *plan, desc v1.Descriptor) error {
	sum, err := v1.Hasher(desc.Digest.Algorithm)
	b := remote.Blob{Descriptor: desc, OpenAt: (&checked{source: s, desc: desc, sum: sum}).open}
	if oci.IsEmbedded(desc) {
		b.OpenAt, b.Open = nil, opener(desc.Data)
	}
	p.addBlob(b)
	return err
}

// isManifest reports whether an index entry with this media type is a manifest.
// In the index of a build cache, entries are layers.
func isManifest(t types.MediaType) bool {
	const artifact = "application/vnd.oci.artifact.manifest.v1+json"
	return t == "" || t == artifact || t.IsImage() || t.IsIndex() || t.IsSchema1()
}

// checked is a blob of a source repository. Each byte is hashed when it is read for the
// first time. An upload that resumes may skip bytes or read them again. Then the registry
// verifies the digest, as the OCI distribution spec ("Pushing blobs") requires.
type checked struct {
	source *source
	desc   v1.Descriptor

	mu  sync.Mutex
	sum hash.Hash
	at  int64 // the number of bytes that sum has hashed
}

// open returns the blob's bytes from an offset on. If the blob does not have its
// digest, reading the end fails with a *oci.MismatchError. After such an error, open
// the blob from its start to compute the digest again.
func (c *checked) open(ctx context.Context, from int64) (io.ReadCloser, error) {
	return &checkedReader{c, c.source.repo.Stream(ctx, c.desc, from), from}, nil
}

// add hashes the bytes of p that were not hashed before; pos is the offset of p in the
// blob. After the last byte of the blob, add returns an error if the digest is wrong.
func (c *checked) add(p []byte, pos int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := pos + int64(len(p))
	if pos > c.at || end < c.at {
		return nil
	}
	c.sum.Write(p[c.at-pos:])
	if c.at = end; c.at < c.desc.Size {
		return nil
	}
	got := fmt.Sprintf("%x", c.sum.Sum(nil))
	if got == c.desc.Digest.Hex {
		return nil
	}
	c.sum.Reset()
	c.at = 0
	return &oci.MismatchError{Digest: c.desc.Digest, Sum: got}
}

type checkedReader struct {
	*checked
	stream io.ReadCloser
	pos    int64
}

// Read implements io.Reader. It does not return the last bytes of a blob with a
// wrong digest.
func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.stream.Read(p)
	if err := r.add(p[:n], r.pos); err != nil {
		return 0, r.explain(err)
	}
	r.pos += int64(n)
	if err != nil && err != io.EOF {
		err = r.explain(err)
	}
	return n, err
}

func (r *checkedReader) explain(err error) error {
	return r.source.client.Explain(r.source.ref, err)
}

// Close implements io.Closer.
func (r *checkedReader) Close() error { return r.stream.Close() }
