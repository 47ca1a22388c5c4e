package archive

import (
	"bytes"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/xpkg/oci"
)

const (
	layoutFile = "oci-layout"
	indexFile  = "index.json"
)

// A notWholeError says what an OCI image layout lacks.
type notWholeError string

func (e notWholeError) Error() string { return string(e) }

// layout returns the one artifact of an OCI image layout, which may have
// several names.
func (t *tarball) layout() (oci.Artifact, error) {
	raw, err := t.metadata(indexFile)
	if err != nil {
		return nil, err
	}
	idx, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its %s is not valid: %w", indexFile, err)
	}
	var artifacts []v1.Descriptor
	for _, d := range idx.Manifests {
		if !slices.ContainsFunc(artifacts, func(a v1.Descriptor) bool { return a.Digest == d.Digest }) {
			artifacts = append(artifacts, d)
		}
	}
	switch len(artifacts) {
	case 0:
		return nil, notWholeError("its " + indexFile + " lists no image")
	case 1:
		return t.artifact(artifacts[0], 0)
	default:
		return nil, fmt.Errorf("its %s lists %d images, and must list one", indexFile, len(artifacts))
	}
}

// artifact returns what desc points at, depth indexes below the layout's.
func (t *tarball) artifact(desc v1.Descriptor, depth int) (oci.Artifact, error) {
	switch {
	case depth > oci.MaxDepth:
		return nil, fmt.Errorf("its indexes are nested more than %d deep", oci.MaxDepth)
	case desc.MediaType.IsImage():
		return t.image(desc)
	case desc.MediaType.IsIndex():
		return t.index(desc, depth)
	default:
		return nil, fmt.Errorf("its %s has media type %q, which is neither an image nor an index", desc.Digest, desc.MediaType)
	}
}

func (t *tarball) index(desc v1.Descriptor, depth int) (v1.ImageIndex, error) {
	raw, err := t.blob(desc)
	if err != nil {
		return nil, err
	}
	m, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its index %s is not valid: %w", desc.Digest, err)
	}
	children := make([]oci.Artifact, 0, len(m.Manifests))
	for _, d := range m.Manifests {
		c, err := t.artifact(d, depth+1)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	return oci.Index(raw, children...)
}

func (t *tarball) image(desc v1.Descriptor) (v1.Image, error) {
	raw, err := t.blob(desc)
	if err != nil {
		return nil, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its manifest %s is not valid: %w", desc.Digest, err)
	}
	config, err := t.blob(m.Config)
	if err != nil {
		return nil, err
	}
	diffIDs, err := diffIDsOf(m, config)
	if err != nil {
		return nil, err
	}
	layers := make([]v1.Layer, 0, len(m.Layers))
	for i, d := range m.Layers {
		l, err := t.layer(d, diffIDs[i])
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return oci.Image(raw, config, layers...)
}

// diffIDsOf returns the digests of the layers' tars. An artifact that is no
// image has none, and layers of any content: their own digests stand for them.
func diffIDsOf(m *v1.Manifest, config []byte) ([]v1.Hash, error) {
	if !oci.IsImage(m) {
		ids := make([]v1.Hash, 0, len(m.Layers))
		for _, d := range m.Layers {
			ids = append(ids, d.Digest)
		}
		return ids, nil
	}
	c, err := parseConfig(config, len(m.Layers))
	if err != nil {
		return nil, err
	}
	return c.RootFS.DiffIDs, nil
}

// parseConfig reads a config and makes sure that it is of so many layers.
func parseConfig(raw []byte, layers int) (*v1.ConfigFile, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its config is not valid: %w", err)
	}
	if n := len(c.RootFS.DiffIDs); n != layers {
		return nil, notWholeError(fmt.Sprintf("its config is of %d layers, and its manifest of %d", n, layers))
	}
	return c, nil
}

// lookup returns where a blob lies, if it is there and as long as desc says.
func (t *tarball) lookup(desc v1.Descriptor) (entry, error) {
	if desc.Digest.Algorithm != "sha256" {
		return entry{}, fmt.Errorf("its digest %s is not a SHA-256 sum", desc.Digest)
	}
	e, ok := t.find(blobPath(desc.Digest))
	if !ok {
		return entry{}, notWholeError(fmt.Sprintf("its blob %s is missing", desc.Digest))
	}
	if e.size != desc.Size {
		return entry{}, fmt.Errorf("its blob %s has %d bytes, and should have %d", desc.Digest, e.size, desc.Size)
	}
	return e, nil
}

// blob reads and checks a manifest or config.
func (t *tarball) blob(desc v1.Descriptor) ([]byte, error) {
	if _, err := t.lookup(desc); err != nil {
		return nil, err
	}
	data, err := t.metadata(blobPath(desc.Digest))
	if err != nil {
		return nil, err
	}
	if got, _, err := v1.SHA256(bytes.NewReader(data)); err != nil || got != desc.Digest {
		return nil, fmt.Errorf("its blob %s has the digest %s", desc.Digest, got)
	}
	return data, nil
}

func (t *tarball) layer(desc v1.Descriptor, diffID v1.Hash) (v1.Layer, error) {
	e, err := t.lookup(desc)
	if err != nil {
		return nil, err
	}
	return oci.Layer(t.section(e), oci.Blob{Digest: desc.Digest, Size: desc.Size, DiffID: diffID, MediaType: desc.MediaType})
}

// blobPath is where an OCI layout keeps a blob.
func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
