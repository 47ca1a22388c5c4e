package registry

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// blobs stores blobs as files that all repositories share. Blobs are never
// deleted, because another repository might use them.
type blobs struct{ dir string }

func (b *blobs) path(h v1.Hash) string { return filepath.Join(b.dir, "blobs", h.Algorithm, h.Hex) }

// has reports whether the blob exists. Its content was verified when it was
// stored.
func (b *blobs) has(h v1.Hash) (bool, error) {
	_, err := os.Stat(b.path(h))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// serve answers with a blob, or a range of it, if held reports that the
// repository has it: OCI distribution spec, "Pulling blobs".
func (b *blobs) serve(w http.ResponseWriter, r *http.Request, digest string, held func(v1.Hash) bool) {
	if !allowed(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	h, err := v1.NewHash(digest)
	if err != nil {
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID", err.Error())
		return
	}
	if !held(h) {
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN", "the repository has no such blob")
		return
	}
	f, err := os.Open(b.path(h))
	if errors.Is(err, fs.ErrNotExist) {
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN", "the blob's file was removed")
		return
	}
	if err != nil {
		refuseBody(w, err)
		return
	}
	defer func() { _ = f.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Docker-Content-Digest", h.String())
	w.Header().Set("Etag", `"`+h.String()+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
}

// errDigest is returned for an upload whose content does not match its digest.
var errDigest = errors.New("the content does not have this digest")

// keep moves the file at path to the blob h if it has that digest. It removes
// the file in any case.
func (b *blobs) keep(path string, h v1.Hash) (err error) {
	defer func() {
		if rm := os.Remove(path); !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}()
	if err := verify(path, h); err != nil {
		return err
	}
	if there, err := b.has(h); there || err != nil {
		return err
	}
	return os.Rename(path, b.path(h))
}

// verify checks the digest of the file and syncs it to disk.
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
