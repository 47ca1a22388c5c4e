package push

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// A plan lists the blobs and manifests that the registry must have.
type plan struct {
	result Result
	// blobs are the layers and configs of all images, each once.
	blobs []remote.Blob
	// layers are the layers among blobs. They are set only for a local artifact.
	layers []v1.Layer
	// manifests are the manifests of the package, each once. Children come
	// before their index, so the last one is the package itself.
	manifests []*oci.Manifest
	// bases are the references of the base images in the package's annotations.
	bases []string
	// size is the total size of the blobs.
	size int64

	seen map[v1.Hash]bool
}

// planOf returns the blobs and manifests of a local artifact, each once.
func planOf(ctx context.Context, a xpkg.Artifact) (*plan, error) {
	images, err := xpkg.Images(a)
	if err != nil {
		return nil, err
	}
	tree, top, err := oci.TreeOf(a)
	if err != nil {
		return nil, err
	}
	p := &plan{seen: map[v1.Hash]bool{}}
	for _, i := range images {
		if i.Platform != nil {
			p.result.Platforms = append(p.result.Platforms, i.Platform.String())
		}
	}
	walk := oci.Walk{Read: tree.Read, After: func(m *oci.Manifest) error {
		p.addManifest(m)
		if m.IsIndex {
			return nil
		}
		img, err := tree.Image(m)
		if err != nil {
			return err
		}
		return p.addImage(img, m)
	}}
	return p, p.run(ctx, walk, top)
}

func (p *plan) run(ctx context.Context, w oci.Walk, top v1.Descriptor) error {
	if err := w.Run(ctx, top); err != nil {
		return err
	}
	last := p.manifests[len(p.manifests)-1]
	p.result.Digest, p.result.MediaType = last.Digest, last.MediaType
	return nil
}

func (p *plan) addManifest(m *oci.Manifest) {
	p.manifests = append(p.manifests, m)
	if base := m.Annotations["org.opencontainers.image.base.name"]; base != "" {
		p.bases = append(p.bases, base)
	}
}

func (p *plan) addImage(img v1.Image, m *oci.Manifest) error {
	for _, d := range m.Layers {
		l, err := img.LayerByDigest(d.Digest)
		if err != nil {
			return fmt.Errorf("finding layer %s: %w", d.Digest, err)
		}
		if p.addBlob(remote.Blob{Descriptor: d, Open: l.Compressed}) {
			p.layers = append(p.layers, l)
		}
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return fmt.Errorf("reading a config: %w", err)
	}
	p.addBlob(remote.Blob{Descriptor: *m.Config, Open: opener(config)})
	return nil
}

// addBlob adds a blob to the plan. It returns false if the plan has it already,
// or if the blob is a non-distributable layer, which registries need not store.
func (p *plan) addBlob(b remote.Blob) bool {
	if p.seen[b.Digest] || oci.IsElsewhere(b.Descriptor) {
		return false
	}
	p.seen[b.Digest] = true
	p.blobs = append(p.blobs, b)
	p.size += b.Size
	return true
}

func opener(content []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
}

// prove checks that each uncompressed layer has the diff ID that its image config states.
func (p *plan) prove(ctx context.Context, jobs int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs)
	for _, l := range p.layers {
		g.Go(func() error {
			left := int64(oci.MaxUnpacked)
			return oci.CheckDiffID(ctx, l, &left)
		})
	}
	return g.Wait()
}

// neighbors returns other repositories of the registry that may have blobs of the
// package: the repositories of its base images (OCI image spec, "Pre-Defined Annotation
// Keys"), and others, which the caller names.
func (p *plan) neighbors(repo name.Repository, others []name.Repository) []name.Repository {
	for _, base := range p.bases {
		if !strings.HasPrefix(base, repo.RegistryStr()+"/") {
			continue
		}
		if ref, err := name.ParseReference(base); err == nil && remote.IsRepository(ref.Context().RepositoryStr()) {
			others = append(others, ref.Context())
		}
	}
	var all []name.Repository
	seen := map[string]bool{repo.Name(): true}
	for _, n := range others {
		if n.RegistryStr() == repo.RegistryStr() && !seen[n.Name()] {
			seen[n.Name()] = true
			all = append(all, n)
		}
	}
	return all
}
