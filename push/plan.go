package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// A plan is what has to be in the registry.
type plan struct {
	result Result
	// blobs are the layers and configs of all images, each once.
	blobs []remote.Blob
	// layers are those among blobs.
	layers []v1.Layer
	// manifests are those of the package, each once: children before those that
	// point at them, so that the last one is the package itself.
	manifests []manifest
	// bases are the images that the package says it was made from.
	bases []string
	// size is that of the blobs.
	size int64

	seen map[v1.Hash]bool
}

type manifest struct {
	digest    v1.Hash
	mediaType types.MediaType
	raw       []byte
}

func planOf(a xpkg.Artifact) (*plan, error) {
	p := &plan{seen: map[v1.Hash]bool{}}
	images, err := xpkg.Images(a)
	if err != nil {
		return nil, err
	}
	for _, i := range images {
		if i.Platform != nil {
			p.result.Platforms = append(p.result.Platforms, i.Platform.String())
		}
	}
	if err := p.add(a, 0); err != nil {
		return nil, err
	}
	top := p.manifests[len(p.manifests)-1]
	p.result.Digest, p.result.MediaType = top.digest, top.mediaType
	return p, nil
}

// add adds an artifact, after all that it points at.
func (p *plan) add(a oci.Artifact, depth int) (err error) {
	if depth > oci.MaxDepth {
		return fmt.Errorf("indexes are nested more than %d deep", oci.MaxDepth)
	}
	var m manifest
	if m.digest, err = a.Digest(); err != nil {
		return err
	}
	if p.seen[m.digest] {
		return nil
	}
	p.seen[m.digest] = true
	switch a := a.(type) {
	case v1.ImageIndex:
		err = p.addChildren(a, depth)
	case v1.Image:
		err = p.addBlobs(a)
	default:
		err = errors.New("the artifact is neither an image nor an index")
	}
	if err != nil {
		return err
	}
	if m.mediaType, err = a.MediaType(); err != nil {
		return err
	}
	m.raw, err = a.RawManifest()
	p.manifests = append(p.manifests, m)
	return err
}

func (p *plan) addChildren(idx v1.ImageIndex, depth int) error {
	m, err := idx.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading an index: %w", err)
	}
	p.addBase(m.Annotations)
	for _, desc := range m.Manifests {
		child, err := oci.Child(idx, desc)
		if err != nil {
			return err
		}
		if err := p.add(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) addBlobs(img v1.Image) error {
	m, err := img.Manifest()
	if err != nil {
		return fmt.Errorf("reading a manifest: %w", err)
	}
	p.addBase(m.Annotations)
	for _, d := range m.Layers {
		if !d.MediaType.IsDistributable() {
			continue // Its URLs say where it is.
		}
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
	p.addBlob(remote.Blob{Descriptor: m.Config, Open: opener(config)})
	return nil
}

// addBlob returns false for one that is there already.
func (p *plan) addBlob(b remote.Blob) bool {
	if p.seen[b.Digest] {
		return false
	}
	p.seen[b.Digest] = true
	p.blobs = append(p.blobs, b)
	p.size += b.Size
	return true
}

// opener opens bytes that are in memory.
func opener(content []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
}

// maxUnpacked bounds the bytes that a layer unpacks to.
const maxUnpacked = 64 << 30

// prove makes sure that layers unpack to what their config says.
func (p *plan) prove(ctx context.Context, jobs int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs)
	for _, l := range p.layers {
		g.Go(func() error {
			left := int64(maxUnpacked)
			return oci.CheckDiffID(ctx, l, &left)
		})
	}
	return g.Wait()
}

func (p *plan) addBase(annotations map[string]string) {
	if base := annotations["org.opencontainers.image.base.name"]; base != "" {
		p.bases = append(p.bases, base)
	}
}

// neighbours are the repositories beside repo that may have blobs of the
// package: those that it was made from (OCI image spec, "Pre-Defined Annotation
// Keys"), and others, as the caller names them.
func (p *plan) neighbours(repo name.Repository, others []name.Repository) []name.Repository {
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
