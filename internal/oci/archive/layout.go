package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

const (
	layoutFile = "oci-layout"
	indexFile  = "index.json"
)

// files reads the files of an OCI image layout, in a tar or in a folder.
type files interface {
	// look returns a file by its path in the layout, or fs.ErrNotExist.
	look(name string) (content, error)
}

type content struct {
	size int64
	open func() (io.ReadCloser, error)
	// digest is the digest of the content, or the zero value if it is not known.
	digest v1.Hash
	// held is true for content in memory. Its size was already subtracted from the budget.
	held bool
}

// A layout is an OCI image layout (image-spec, image-layout.md).
type layout struct {
	files files
	// budget is the number of bytes that may still be read into memory.
	budget *int64
}

// one returns the only artifact of a layout. index.json may list the artifact several
// times, with different names.
func (l layout) one(ctx context.Context) (oci.Artifact, error) {
	artifacts, err := l.index()
	switch {
	case err != nil:
		return nil, err
	case len(artifacts) > 1:
		return nil, fmt.Errorf("%s lists %d images, expected one", indexFile, len(artifacts))
	default:
		return l.load(ctx, artifacts[0])
	}
}

// index returns the descriptors in index.json, without duplicate digests.
func (l layout) index() (artifacts []v1.Descriptor, err error) {
	raw, err := l.metadata(indexFile)
	if err != nil {
		return nil, err
	}
	idx, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("%s is not valid: %w", indexFile, hint.JSONError(err))
	}
	for _, d := range idx.Manifests {
		if !slices.ContainsFunc(artifacts, func(a v1.Descriptor) bool { return a.Digest == d.Digest }) {
			artifacts = append(artifacts, d)
		}
	}
	if len(artifacts) == 0 {
		return nil, oci.IncompleteError(indexFile + " lists no image")
	}
	return artifacts, nil
}

// Walk returns a Walk over the layout's manifests.
func (l layout) Walk() oci.Walk { return oci.Walk{Read: l.blob} }

func (l layout) load(ctx context.Context, top v1.Descriptor) (oci.Artifact, error) {
	return l.Walk().Load(ctx, top, l.Layer)
}

// lookup returns the content of a blob. It returns an error if the blob is missing, or if
// its size differs from the size in desc.
func (l layout) lookup(desc v1.Descriptor) (content, error) {
	if desc.Digest.Algorithm != "sha256" {
		return content{}, fmt.Errorf("digest %s is not a SHA-256 sum", desc.Digest)
	}
	c, err := l.files.look(blobPath(desc.Digest))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{}, oci.IncompleteError(fmt.Sprintf("blob %s is missing", desc.Digest))
	case err != nil:
		return content{}, fmt.Errorf("blob %s: %w", desc.Digest, err)
	case c.size != desc.Size:
		return content{}, fmt.Errorf("blob %s has %d bytes, and should have %d", desc.Digest, c.size, desc.Size)
	}
	return c, nil
}

// blob reads and verifies a manifest or config.
func (l layout) blob(_ context.Context, desc v1.Descriptor) ([]byte, error) {
	if _, err := l.lookup(desc); err != nil {
		return nil, err
	}
	data, err := l.metadata(blobPath(desc.Digest))
	if err != nil {
		return nil, err
	}
	if got, _, err := v1.SHA256(bytes.NewReader(data)); err != nil || got != desc.Digest {
		return nil, fmt.Errorf("blob %s has the digest %s", desc.Digest, got)
	}
	return data, nil
}

// metadata reads a file into memory, and subtracts its size from the budget.
func (l layout) metadata(name string) (_ []byte, err error) {
	c, err := l.files.look(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing", name)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if !c.held {
		if err := spend(l.budget, c.size); err != nil {
			return nil, err
		}
	}
	rc, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	data := make([]byte, c.size)
	if _, err := io.ReadFull(rc, data); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return data, nil
}

// spend subtracts a size from a budget. It returns an error if the budget is exceeded.
func spend(budget *int64, size int64) error {
	if *budget -= size; *budget < 0 {
		return fmt.Errorf("the manifests and configs are larger than %d MiB", maxMetadata>>20)
	}
	return nil
}

// Layer returns a layer of the layout.
func (l layout) Layer(desc v1.Descriptor, diffID v1.Hash) (v1.Layer, error) {
	c, err := l.lookup(desc)
	if err != nil {
		return nil, err
	}
	if c.digest != (v1.Hash{}) && c.digest != desc.Digest {
		return nil, fmt.Errorf("blob %s has the digest %s", desc.Digest, c.digest)
	}
	return oci.Stored(c.open, oci.Blob{Digest: desc.Digest, Size: desc.Size, DiffID: diffID, MediaType: desc.MediaType})
}

func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// A Folder is an open directory with an OCI image layout. Links that lead out of the
// directory are not followed.
type Folder struct {
	layout
	// Listed are the descriptors in index.json, without duplicate digests.
	Listed []v1.Descriptor

	root *os.Root
}

// Close closes the folder. Its layers cannot be read afterwards.
func (f *Folder) Close() error { return f.root.Close() }

// OpenFolder opens a directory with an OCI image layout (image-spec, image-layout.md)
// and reads its index.json. Errors name the directory.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", dir, notFolder(dir, fsx.Cause(err)))
	}
	budget := int64(maxMetadata)
	f := &Folder{layout: layout{folder{root}, &budget}, root: root}
	if _, err = f.files.look(layoutFile); errors.Is(err, fs.ErrNotExist) {
		err = hint.Wrap(fmt.Errorf("the directory is not an OCI image layout: it has no %s", layoutFile), layoutHint)
	} else {
		f.Listed, err = f.index()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", dir, err), root.Close())
	}
	return f, nil
}

// Artifact returns the image or index that index.json lists. If index.json lists several,
// Artifact returns an index of all of them. It reads only manifests and configs: a layer is
// verified when it is read. Errors name the directory.
func (f *Folder) Artifact(ctx context.Context) (oci.Artifact, error) {
	top := f.Listed[0]
	if len(f.Listed) > 1 {
		top = oci.Embed(oci.EncodeIndex(nil, f.Listed...))
	}
	a, err := f.load(ctx, top)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", f.root.Name(), err)
	}
	return a, nil
}

const layoutHint = "name the directory that contains oci-layout, index.json and blobs"

// notFolder returns err, or a clearer error if path is a file and not a directory.
func notFolder(path string, err error) error {
	if info, statErr := os.Stat(path); statErr == nil && !info.IsDir() {
		return hint.Wrap(errors.New("expected a directory, got a file"), layoutHint)
	}
	return err
}

// A folder is the files of an OCI image layout in a directory.
type folder struct{ root *os.Root }

func (f folder) look(name string) (content, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return content{}, fsx.Cause(err)
	}
	if !info.Mode().IsRegular() {
		return content{}, errors.New("the path is not a regular file")
	}
	return content{size: info.Size(), open: func() (io.ReadCloser, error) {
		file, err := f.root.Open(name)
		if err != nil {
			return nil, fsx.Cause(err)
		}
		return file, nil
	}}, nil
}
