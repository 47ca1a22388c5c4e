package oci

import (
	"context"
	"fmt"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const (
	// MaxDepth limits the number of levels of manifests below an index.
	MaxDepth = 4
	// MaxManifest limits the bytes of a manifest. The OCI distribution spec ("Pushing
	// Manifests") asks registries to accept at least this size, and few accept more.
	MaxManifest = 4 << 20
	// MaxMetadata limits the total bytes of all manifests and configs of an artifact. The
	// limit of an .xpkg file is 64 MiB, because that includes index.json.
	MaxMetadata = 63 << 20
	// maxParts limits the number of manifests, configs and layers of an artifact.
	maxParts = 10_000
	// maxLayers limits the bytes of one blob, and the total bytes of all layers of an image.
	maxLayers = 16 << 30
)

// A Budget limits the total size and number of the manifests, configs and layers of
// untrusted artifacts. Several Walks may share one concurrently. A nil Budget has no limits.
type Budget struct {
	mu           sync.Mutex
	bytes, parts int64
}

// NewBudget returns a Budget of MaxMetadata bytes and maxParts parts.
func NewBudget() *Budget { return &Budget{bytes: MaxMetadata, parts: maxParts} }

// spend subtracts one manifest or config of size bytes from the budget, and the number of
// blobs that it lists. It returns an error if the budget is exceeded.
func (b *Budget) spend(size int64, blobs ...v1.Descriptor) error {
	if b == nil {
		return nil
	}
	if size < 0 {
		return fmt.Errorf("the size of a manifest or config is negative: %d bytes", size)
	}
	for _, d := range blobs {
		if d.Size < 0 || d.Size > maxLayers {
			return fmt.Errorf("blob %s has an impossible size of %d bytes", d.Digest, d.Size)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes -= size; b.bytes < 0 {
		return fmt.Errorf("the manifests and configs are larger than %d MiB", MaxMetadata>>20)
	}
	if b.parts -= 1 + int64(len(blobs)); b.parts < 0 {
		return fmt.Errorf("the artifact has more than %d manifests, configs and layers", maxParts)
	}
	return nil
}

// A Walk visits a manifest and all manifests below it. Read determines where they are read
// from.
type Walk struct {
	// Read returns the bytes of a manifest or config. It must verify the digest.
	Read   func(ctx context.Context, d v1.Descriptor) ([]byte, error)
	Budget *Budget
	// Descend reports whether to visit the entry d of an index. Nil visits every entry.
	Descend func(v1.Descriptor) (bool, error)
	// Before is called with each manifest before the manifests that it lists are visited.
	// After is called when all of them were visited. Both may be nil.
	Before, After func(*Manifest) error
}

// Run visits top and all manifests below it. Each digest is visited once.
func (w Walk) Run(ctx context.Context, top v1.Descriptor) error {
	return w.visit(ctx, top, 0, map[v1.Hash]bool{})
}

func (w Walk) visit(ctx context.Context, d v1.Descriptor, depth int, seen map[v1.Hash]bool) error {
	if seen[d.Digest] {
		return nil
	}
	seen[d.Digest] = true
	if depth > MaxDepth {
		return fmt.Errorf("indexes are nested more than %d deep", MaxDepth)
	}
	m, err := w.Manifest(ctx, d)
	if err == nil && w.Before != nil {
		err = w.Before(m)
	}
	if err != nil {
		return err
	}
	for _, child := range m.Manifests {
		descend := true
		if w.Descend != nil {
			descend, err = w.Descend(child)
		}
		if err == nil && descend {
			err = w.visit(ctx, child, depth+1, seen)
		}
		if err != nil {
			return err
		}
	}
	if w.After == nil {
		return nil
	}
	return w.After(m)
}

// Manifest reads one manifest.
func (w Walk) Manifest(ctx context.Context, d v1.Descriptor) (*Manifest, error) {
	if w.Budget != nil && d.Size > MaxManifest {
		return nil, fmt.Errorf("manifest %s has %d bytes, more than the limit of %d", d.Digest, d.Size, MaxManifest)
	}
	raw, err := w.read(ctx, d)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(d, raw)
	if err != nil {
		return nil, err
	}
	return m, w.Budget.spend(0, m.Blobs()...)
}

// Config reads the config of the image m, or of another artifact whose manifest has the same
// format.
func (w Walk) Config(ctx context.Context, m *Manifest) ([]byte, error) {
	if m.Config == nil || m.MediaType != "" && !m.MediaType.IsImage() {
		return nil, fmt.Errorf("manifest %s is neither an image nor an index, but %q", m.Digest, m.MediaType)
	}
	var sum int64
	for _, d := range m.Layers {
		if sum += d.Size; w.Budget != nil && sum > maxLayers {
			return nil, fmt.Errorf("the layers are larger than %d GiB", maxLayers>>30)
		}
	}
	return w.read(ctx, *m.Config)
}

func (w Walk) read(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if err := w.Budget.spend(d.Size); err != nil {
		return nil, err
	}
	if IsEmbedded(d) {
		return d.Data, nil
	}
	raw, err := w.Read(ctx, d)
	if err == nil && int64(len(raw)) != d.Size {
		err = fmt.Errorf("manifest or config %s has %d bytes, and should have %d", d.Digest, len(raw), d.Size)
	}
	return raw, err
}

// Load returns the image or index that top describes. It reads all manifests and configs
// immediately, so that later checks and writes use the same bytes. layer returns the layers.
func (w Walk) Load(ctx context.Context, top v1.Descriptor, layer LayerFunc) (Artifact, error) {
	all := map[v1.Hash]Artifact{}
	w.Descend = func(d v1.Descriptor) (bool, error) {
		if !d.MediaType.IsImage() && !d.MediaType.IsIndex() && !IsEmbedded(d) {
			return false, fmt.Errorf("%s has media type %q, which is neither an image nor an index", d.Digest, d.MediaType)
		}
		return true, nil
	}
	if _, err := w.Descend(top); err != nil {
		return nil, err
	}
	w.After = func(m *Manifest) (err error) {
		if !m.IsIndex {
			var config []byte
			if config, err = w.Config(ctx, m); err == nil {
				all[m.Digest], err = m.Image(config, layer)
			}
			return err
		}
		var children []Artifact
		for _, d := range m.Manifests {
			children = append(children, all[d.Digest])
		}
		all[m.Digest], err = Index(m.Raw, children...)
		return err
	}
	err := w.Run(ctx, top)
	return all[top.Digest], err
}

// A Tree has the images and indexes of an artifact, by digest. Read adds the entries of each
// index that it reads.
type Tree map[v1.Hash]Artifact

// TreeOf returns the Tree of an artifact and the descriptor of the artifact.
func TreeOf(a Artifact) (Tree, v1.Descriptor, error) {
	top, err := Describe(a)
	return Tree{top.Digest: a}, top, err
}

// Read implements Walk.Read with the manifests of the artifact.
func (t Tree) Read(_ context.Context, d v1.Descriptor) ([]byte, error) {
	a := t[d.Digest]
	if a == nil {
		return nil, fmt.Errorf("the artifact has no manifest %s", d.Digest)
	}
	raw, err := a.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	idx, ok := a.(v1.ImageIndex)
	if !ok {
		return raw, nil
	}
	m, err := idx.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	for _, child := range m.Manifests {
		if t[child.Digest], err = Child(idx, child); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// Image returns the image whose manifest is m.
func (t Tree) Image(m *Manifest) (v1.Image, error) {
	if img, ok := t[m.Digest].(v1.Image); ok {
		return img, nil
	}
	return nil, fmt.Errorf("the artifact has no image %s", m.Digest)
}
