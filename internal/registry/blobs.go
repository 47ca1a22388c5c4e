package registry

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// blobs keeps blobs in a directory. All repositories share them.
type blobs struct{ dir string }

var (
	_ registry.BlobHandler     = (*blobs)(nil)
	_ registry.BlobStatHandler = (*blobs)(nil)
)

func (b *blobs) path(h v1.Hash) string { return filepath.Join(b.dir, "blobs", h.Algorithm, h.Hex) }

// Get implements registry.BlobHandler.
func (b *blobs) Get(_ context.Context, _ string, h v1.Hash) (io.ReadCloser, error) {
	f, err := os.Open(b.path(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, registry.ErrNotFound
	}
	return f, err
}

// Stat implements registry.BlobStatHandler. It does not read the blob again:
// nothing gets its name without having its digest.
func (b *blobs) Stat(_ context.Context, _ string, h v1.Hash) (int64, error) {
	fi, err := os.Stat(b.path(h))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, registry.ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// errDigest means that an upload is not what it was said to be.
var errDigest = errors.New("the content does not have this digest")

// keep makes the finished file at path the blob h, if it has that digest. The
// file is gone afterwards, whatever the outcome.
func (b *blobs) keep(path string, h v1.Hash) (err error) {
	defer func() {
		if rm := os.Remove(path); !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}()
	if err := verify(path, h); err != nil {
		return err
	}
	if _, err := os.Stat(b.path(h)); err == nil {
		return nil
	}
	return os.Rename(path, b.path(h))
}

// verify hashes the file and forces it to disk.
func verify(path string, h v1.Hash) (err error) {
	hasher, err := v1.Hasher(h.Algorithm)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(hasher, f); err != nil {
		return err
	}
	if hex.EncodeToString(hasher.Sum(nil)) != h.Hex {
		return errDigest
	}
	return f.Sync()
}
