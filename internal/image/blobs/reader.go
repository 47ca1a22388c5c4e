package blobs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
)

// A Reader reads the blobs of a folder, each at sha256/ and the hexadecimal
// digits of its digest, as an OCI image layout has them (image-spec,
// image-layout.md, "Blobs").
type Reader struct{ folder fs.FS }

// NewReader returns a Reader of a folder.
func NewReader(folder fs.FS) Reader { return Reader{folder} }

// Size returns how many bytes the blob has where it lies. A blob that is not
// there is fs.ErrNotExist.
func (r Reader) Size(h v1.Hash) (int64, error) {
	name, err := nameOf(h)
	if err != nil {
		return 0, err
	}
	info, err := fs.Stat(r.folder, name)
	if err != nil {
		return 0, fmt.Errorf("finding blob %s: %w", h, fsx.Cause(err))
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("finding blob %s: it is not a regular file", h)
	}
	return info.Size(), nil
}

// Read returns a blob of at most limit bytes, after checking its digest.
func (r Reader) Read(h v1.Hash, limit int64) (_ []byte, err error) {
	size, err := r.Size(h)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("reading blob %s: it has %d bytes, more than the limit of %d", h, size, limit)
	}
	rc, err := r.Open(h, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	data, err := io.ReadAll(rc)
	if err != nil {
		return nil, fmt.Errorf("reading blob %s: %w", h, fsx.Cause(err))
	}
	return data, nil
}

// Open returns a reader of a blob that fails at the end if it has not the
// digest, or not that size.
func (r Reader) Open(h v1.Hash, size int64) (io.ReadCloser, error) {
	if _, err := r.Size(h); err != nil {
		return nil, err
	}
	f, err := r.folder.Open("sha256/" + h.Hex)
	if err != nil {
		return nil, fmt.Errorf("opening blob %s: %w", h, fsx.Cause(err))
	}
	return oci.Verify(f, h, size)
}

func nameOf(h v1.Hash) (string, error) {
	if h.Algorithm != "sha256" {
		return "", fmt.Errorf("digest %q is not a SHA-256 sum", h)
	}
	return "sha256/" + h.Hex, nil
}
