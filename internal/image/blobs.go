package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

const (
	blobsFolder = "blobs"
	partsFolder = "partial"
	usesFolder  = "uses"
	lockFile    = "lock"
	sumFolder   = "sha256"
	fileMode    = 0o600
	folderMode  = 0o700
)

// A BlobDir is a directory of blobs. Its folder blobs/sha256 has complete blobs, partial has
// incomplete blobs, and uses has the lock files of Hold.
type BlobDir struct {
	path  string
	blobs fs.FS
}

// unopened returns the error for a cache that cannot be opened.
func unopened(dir string, err error) error {
	return hint.Wrap(fmt.Errorf("opening cache %q: %w", dir, fsx.Cause(err)), "name another directory with "+hint.CacheDir+" or XFN_CACHE_DIR")
}

// OpenBlobDir opens the BlobDir at path, and creates it if it does not exist.
func OpenBlobDir(path string) (*BlobDir, error) {
	for _, folder := range []string{filepath.Join(blobsFolder, sumFolder), partsFolder, usesFolder} {
		if err := os.MkdirAll(filepath.Join(path, folder), folderMode); err != nil {
			return nil, unopened(path, err)
		}
	}
	return &BlobDir{path, os.DirFS(filepath.Join(path, blobsFolder, sumFolder))}, nil
}

func (d *BlobDir) file(h v1.Hash) string { return filepath.Join(d.path, blobsFolder, sumFolder, h.Hex) }

// Has reports whether a blob of that digest and size exists. It does not read the blob. The
// digest was verified before the blob was stored, and is verified again when the blob is
// read.
func (d *BlobDir) Has(h v1.Hash, size int64) bool {
	there, err := d.Size(h)
	return err == nil && there == size
}

// Size returns the size of a blob. If the blob does not exist, the error is fs.ErrNotExist.
func (d *BlobDir) Size(h v1.Hash) (int64, error) {
	if h.Algorithm != sumFolder {
		return 0, fmt.Errorf("digest %q is not a SHA-256 sum", h)
	}
	info, err := fs.Stat(d.blobs, h.Hex)
	if err != nil {
		return 0, fmt.Errorf("finding blob %s: %w", h, fsx.Cause(err))
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("finding blob %s: it is not a regular file", h)
	}
	return info.Size(), nil
}

// Read returns a blob of at most limit bytes, and verifies its digest. If the blob is
// damaged, Read removes it, and the error is fs.ErrNotExist.
func (d *BlobDir) Read(h v1.Hash, limit int64) ([]byte, error) {
	data, err := d.Peek(h, limit)
	if err != nil && d.removeDamaged(h) {
		return nil, fmt.Errorf("reading blob %s: it was damaged: %w", h, fs.ErrNotExist)
	}
	return data, err
}

// Peek is Read, except that it does not remove a damaged blob.
func (d *BlobDir) Peek(h v1.Hash, limit int64) ([]byte, error) {
	size, err := d.Size(h)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("reading blob %s: it has %d bytes, more than the limit of %d", h, size, limit)
	}
	rc, err := d.open(h, size)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(rc)
	if err := errors.Join(err, rc.Close()); err != nil {
		return nil, fmt.Errorf("reading blob %s: %w", h, fsx.Cause(err))
	}
	return data, nil
}

// Open returns a reader of a blob that verifies its size and, at the end, its digest. If the
// digest differs, the reader removes the blob, so that it can be fetched again.
func (d *BlobDir) Open(h v1.Hash, size int64) (io.ReadCloser, error) {
	rc, err := d.open(h, size)
	if err != nil {
		return nil, err
	}
	return &checkedBlob{blob: rc, dir: d, hash: h}, nil
}

func (d *BlobDir) open(h v1.Hash, size int64) (io.ReadCloser, error) {
	if _, err := d.Size(h); err != nil {
		return nil, err
	}
	f, err := d.blobs.Open(h.Hex)
	if err != nil {
		return nil, fmt.Errorf("opening blob %s: %w", h, fsx.Cause(err))
	}
	return oci.Verify(f, h, size)
}

// Link makes path a second name of a blob. It does not verify the blob.
func (d *BlobDir) Link(h v1.Hash, path string) error { return os.Link(d.file(h), path) }

// A checkedBlob reads a blob of the cache, and removes it if its content has another digest.
type checkedBlob struct {
	blob   io.ReadCloser
	dir    *BlobDir
	hash   v1.Hash
	closed bool
}

func (m *checkedBlob) Read(p []byte) (int, error) {
	n, err := m.blob.Read(p)
	if err == nil || errors.Is(err, io.EOF) || m.closed {
		return n, err
	}
	// Windows does not remove a file that is open.
	if m.Close() == nil && m.dir.removeDamaged(m.hash) {
		err = hint.Wrap(fmt.Errorf("the cache was damaged: %w", err), "run the command again: it fetches the damaged blob again")
	}
	return n, err
}

func (m *checkedBlob) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	return m.blob.Close()
}

// removeDamaged removes the blob with the digest h if its content has another digest. It reports
// whether it removed the blob.
func (d *BlobDir) removeDamaged(h v1.Hash) bool {
	f, err := os.Open(d.file(h))
	if err != nil {
		return false
	}
	got, _, err := v1.SHA256(f)
	_ = f.Close()
	return err == nil && got != h && os.Remove(d.file(h)) == nil
}

// Put adds a blob. The caller must have verified its digest.
func (d *BlobDir) Put(ctx context.Context, h v1.Hash, data []byte) error {
	if d.Has(h, int64(len(data))) {
		return nil
	}
	return d.shared(ctx, func() error { return fsx.WriteFile(d.file(h), fileMode, data) })
}
