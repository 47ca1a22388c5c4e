package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
)

const (
	layoutFile = "oci-layout"
	indexFile  = "index.json"
)

// files are those of an OCI image layout, in a tar or in a folder.
type files interface {
	// look finds a file by its path in the layout. One that is not there is
	// fs.ErrNotExist.
	look(name string) (content, error)
}

// A content is that of a file.
type content struct {
	size int64
	open func() (io.ReadCloser, error)
	// digest is that of the file, if it is known already.
	digest v1.Hash
	// held is true if the file is in memory, and the budget has paid for it.
	held bool
}

// A layout is an OCI image layout (image-spec, image-layout.md).
type layout struct {
	files files
	// budget is how many bytes of metadata may still be read.
	budget *int64
}

// one returns the one artifact of a layout, which may have several names.
func (l layout) one(ctx context.Context) (oci.Artifact, error) {
	artifacts, err := l.index()
	switch {
	case err != nil:
		return nil, err
	case len(artifacts) > 1:
		return nil, fmt.Errorf("its %s lists %d images, and must list one", indexFile, len(artifacts))
	default:
		return l.load(ctx, artifacts[0])
	}
}

// index reads index.json, and returns what it lists, each once.
func (l layout) index() (artifacts []v1.Descriptor, err error) {
	raw, err := l.metadata(indexFile)
	if err != nil {
		return nil, err
	}
	idx, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its %s is not valid: %w", indexFile, err)
	}
	for _, d := range idx.Manifests {
		if !slices.ContainsFunc(artifacts, func(a v1.Descriptor) bool { return a.Digest == d.Digest }) {
			artifacts = append(artifacts, d)
		}
	}
	if len(artifacts) == 0 {
		return nil, oci.IncompleteError("its " + indexFile + " lists no image")
	}
	return artifacts, nil
}

// Walk returns a Walk over the layout's manifests.
func (l layout) Walk() oci.Walk { return oci.Walk{Read: l.blob} }

func (l layout) load(ctx context.Context, top v1.Descriptor) (oci.Artifact, error) {
	return l.Walk().Load(ctx, top, l.Layer)
}

// lookup returns a blob, if it is there and as long as desc says.
func (l layout) lookup(desc v1.Descriptor) (content, error) {
	if desc.Digest.Algorithm != "sha256" {
		return content{}, fmt.Errorf("its digest %s is not a SHA-256 sum", desc.Digest)
	}
	c, err := l.files.look(blobPath(desc.Digest))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{}, oci.IncompleteError(fmt.Sprintf("its blob %s is missing", desc.Digest))
	case err != nil:
		return content{}, fmt.Errorf("its blob %s: %w", desc.Digest, err)
	case c.size != desc.Size:
		return content{}, fmt.Errorf("its blob %s has %d bytes, and should have %d", desc.Digest, c.size, desc.Size)
	}
	return c, nil
}

// blob reads and checks a manifest or config.
func (l layout) blob(_ context.Context, desc v1.Descriptor) ([]byte, error) {
	if _, err := l.lookup(desc); err != nil {
		return nil, err
	}
	data, err := l.metadata(blobPath(desc.Digest))
	if err != nil {
		return nil, err
	}
	if got, _, err := v1.SHA256(bytes.NewReader(data)); err != nil || got != desc.Digest {
		return nil, fmt.Errorf("its blob %s has the digest %s", desc.Digest, got)
	}
	return data, nil
}

// metadata reads a file whole, within the budget.
func (l layout) metadata(name string) ([]byte, error) { return readMetadata(l.files, name, l.budget) }

// readMetadata reads a file whole, and takes its size from a budget.
func readMetadata(f files, name string, budget *int64) (_ []byte, err error) {
	c, err := f.look(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("it has no %s", name)
	case err != nil:
		return nil, fmt.Errorf("its %s: %w", name, err)
	}
	if err := pay(c, budget); err != nil {
		return nil, err
	}
	rc, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("reading its %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	data := make([]byte, c.size)
	if _, err := io.ReadFull(rc, data); err != nil {
		return nil, fmt.Errorf("reading its %s: %w", name, err)
	}
	return data, nil
}

// pay takes the size of a file from a budget.
func pay(c content, budget *int64) error {
	if c.held {
		return nil
	}
	if *budget -= c.size; *budget < 0 {
		return fmt.Errorf("its manifests and configs are larger than %d MiB", maxMetadata>>20)
	}
	return nil
}

// Layer returns a layer that is in the layout, in full.
func (l layout) Layer(desc v1.Descriptor, diffID v1.Hash) (v1.Layer, error) {
	c, err := l.lookup(desc)
	if err != nil {
		return nil, err
	}
	if c.digest != (v1.Hash{}) && c.digest != desc.Digest {
		return nil, fmt.Errorf("its blob %s has the digest %s", desc.Digest, c.digest)
	}
	return oci.Stored(c.open, oci.Blob{Digest: desc.Digest, Size: desc.Size, DiffID: diffID, MediaType: desc.MediaType})
}

// blobPath is where an OCI layout keeps a blob.
func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
