package registry

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/uuid"
)

const (
	// maxBlob limits the size of an upload.
	maxBlob = 16 << 30
	// maxOpen limits the number of open uploads. A further upload ends the upload that was
	// not used for the longest time.
	maxOpen = 1000
	// maxIdle is the time after which an upload is removed if no request has used it.
	maxIdle = time.Hour
)

// uploads are the uploads that have begun and not ended. dir contains their files.
type uploads struct {
	dir string

	mu   sync.Mutex
	open map[string]*upload
}

// An upload receives a blob into a file: OCI distribution spec, "Pushing blobs".
type upload struct {
	repository, id, path string
	// mu is locked while a request uses the upload.
	mu sync.Mutex
	// size is the number of bytes received.
	size int64
	used atomic.Int64 // the Unix time in nanoseconds of the last request
}

// begin opens a new upload and locks it.
func (all *uploads) begin(repository string) (*upload, error) {
	all.mu.Lock()
	all.expire()
	oldest := func(a, b *upload) int { return cmp.Compare(a.used.Load(), b.used.Load()) }
	ended := func(u *upload) bool { return all.endUnused(u, math.MaxInt64) }
	if len(all.open) >= maxOpen && !slices.ContainsFunc(slices.SortedFunc(maps.Values(all.open), oldest), ended) {
		all.mu.Unlock()
		return nil, refuse(http.StatusTooManyRequests, "TOOMANYREQUESTS", "too many uploads are in use")
	}
	id := uuid.NewString() // a UUID, as the OCI distribution spec recommends in "POST then PUT"
	u := &upload{repository: repository, id: id, path: filepath.Join(all.dir, id)}
	u.mu.Lock()
	all.open[id] = u
	all.mu.Unlock()
	if err := os.WriteFile(u.path, nil, 0o644); err != nil {
		return nil, errors.Join(err, all.end(u))
	}
	return u, nil
}

// expire ends uploads that no request has used for maxIdle.
func (all *uploads) expire() {
	late := time.Now().Add(-maxIdle).UnixNano()
	for _, u := range all.open {
		all.endUnused(u, late)
	}
}

// endUnused ends an upload, unless a request uses it or has used it after late, a Unix time in
// nanoseconds. It reports whether the upload has ended.
func (all *uploads) endUnused(u *upload, late int64) bool {
	if !u.mu.TryLock() {
		return false
	}
	defer u.mu.Unlock()
	// used is read after TryLock, because requests set it before they unlock the upload.
	if u.used.Load() > late || u.remove() != nil {
		return false
	}
	delete(all.open, u.id)
	return true
}

// hold returns the open upload with the given id, locked. It returns an error if the
// repository has no such upload.
func (all *uploads) hold(repository, id string) (*upload, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.expire()
	u := all.open[id]
	if u == nil || u.repository != repository {
		return nil, refuse(http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "the upload does not exist")
	}
	if !u.mu.TryLock() {
		return nil, refuse(http.StatusConflict, "BLOB_UPLOAD_INVALID", "another request is writing to this upload")
	}
	return u, nil
}

// release unlocks the upload, which stays open for further requests.
func (u *upload) release() {
	u.used.Store(time.Now().UnixNano())
	u.mu.Unlock()
}

func (all *uploads) end(u *upload) error {
	err := u.remove()
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, u.id)
	return err
}

// remove removes the file of the upload, if it exists.
func (u *upload) remove() error {
	if err := os.Remove(u.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// setStatus sets the response headers that describe an upload: its location and the range of
// bytes that were received.
func (u *upload) setStatus(w http.ResponseWriter) {
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/uploads/%s", u.repository, u.id))
	w.Header().Set("Range", fmt.Sprintf("0-%d", max(u.size-1, 0)))
}

// beginUpload handles a request that begins an upload. It mounts an existing blob, or stores
// the blob in the request, or opens an upload.
func (reg *Registry) beginUpload(w http.ResponseWriter, r *http.Request, repository, _ string) error {
	query := r.URL.Query()
	if h, err := v1.NewHash(query.Get("mount")); err == nil && reg.store.holds(query.Get("from"), h) {
		return reg.linkBlob(w, repository, h)
	}
	u, err := reg.uploads.begin(repository)
	if err != nil {
		return err
	}
	if query.Has("digest") {
		// The client does not get the location of this upload, so the upload ends with this
		// request.
		defer func() { _ = reg.uploads.end(u) }()
		return reg.finishUpload(w, r, u)
	}
	defer u.release()
	u.setStatus(w)
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (reg *Registry) serveUpload(w http.ResponseWriter, r *http.Request, repository, id string) error {
	u, err := reg.uploads.hold(repository, id)
	if err != nil {
		return err
	}
	defer u.release()
	status := http.StatusNoContent
	switch r.Method {
	case http.MethodGet:
		u.setStatus(w)
	case http.MethodPatch:
		if err := reg.receive(w, r, u); err != nil {
			return err
		}
		u.setStatus(w)
		status = http.StatusAccepted
	case http.MethodPut:
		return reg.finishUpload(w, r, u)
	case http.MethodDelete:
		if err := reg.uploads.end(u); err != nil {
			return err
		}
	}
	w.WriteHeader(status)
	return nil
}

func (reg *Registry) finishUpload(w http.ResponseWriter, r *http.Request, u *upload) error {
	h, err := v1.NewHash(r.URL.Query().Get("digest"))
	if err != nil {
		_ = reg.uploads.end(u)
		return refuse(http.StatusBadRequest, "DIGEST_INVALID", err.Error())
	}
	if err := reg.receive(w, r, u); err != nil {
		return err
	}
	if err := errors.Join(reg.keep(u.path, h), reg.uploads.end(u)); err != nil {
		return err
	}
	return reg.linkBlob(w, u.repository, h)
}

// linkBlob adds a blob, which another repository has, to this repository, and responds as to a
// finished upload.
func (reg *Registry) linkBlob(w http.ResponseWriter, repository string, h v1.Hash) error {
	reg.store.changing.Lock()
	defer reg.store.changing.Unlock()
	if !reg.store.holds(repository, h) {
		if err := reg.store.commit(change{Method: link, Repository: repository, Reference: h.String()}); err != nil {
			return err
		}
	}
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/%s", repository, h))
	w.Header().Set("Docker-Content-Digest", h.String())
	w.WriteHeader(http.StatusCreated)
	return nil
}

// receive appends the request's body to the upload. If the connection breaks, the bytes that
// were received are kept, so that the client can resume. If the disk fails or the blob is
// too large, the upload is removed.
func (reg *Registry) receive(w http.ResponseWriter, r *http.Request, u *upload) error {
	length, err := u.chunk(r.Header.Get("Content-Range"))
	if err != nil {
		u.setStatus(w)
		return err
	}
	body := &source{from: http.MaxBytesReader(w, r.Body, max(maxBlob-u.size, 0))}
	n, err := appendTo(u.path, body)
	if err == nil && length >= 0 && n != length {
		// The length of the body differs from Content-Range: discard the chunk.
		if err = os.Truncate(u.path, u.size); err == nil {
			u.setStatus(w)
			return errRange
		}
	}
	if err == nil {
		u.size += n
		return nil
	}
	if body.err != nil && !errors.As(body.err, new(*http.MaxBytesError)) {
		u.size += n
		return refuse(http.StatusBadRequest, "BLOB_UPLOAD_INVALID", "the request body ended early")
	}
	return errors.Join(err, reg.uploads.end(u))
}

// errRange is the error of a chunk whose Content-Range does not continue the upload, or
// does not match the length of the body.
var errRange = errors.New("the chunk does not continue the upload")

// chunk returns the length of the chunk in a Content-Range header, "FIRST-LAST". The chunk
// must begin where the upload ended (OCI distribution spec, "Pushing a blob in chunks").
// Without the header, the body has any length, and chunk returns -1.
func (u *upload) chunk(header string) (length int64, err error) {
	if header == "" {
		return -1, nil
	}
	from, to, _ := strings.Cut(header, "-")
	first, err := strconv.ParseUint(from, 10, 62)
	last, err2 := strconv.ParseUint(to, 10, 62)
	if err != nil || err2 != nil || int64(first) != u.size || last < first {
		return 0, errRange
	}
	return int64(last-first) + 1, nil
}

// A source is a request's body. It remembers errors of reading it, to distinguish them from
// errors of writing to the disk.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func appendTo(path string, body io.Reader) (n int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.Copy(f, body)
}

// blobPath returns the path of the file of a blob. All repositories share the file. It is
// never deleted, because another repository may use the blob.
func (reg *Registry) blobPath(h v1.Hash) string {
	return filepath.Join(reg.dir, "blobs", h.Algorithm, h.Hex)
}

// getBlob responds with a blob of the repository, or a range of it: OCI distribution
// spec, "Pulling blobs".
func (reg *Registry) getBlob(w http.ResponseWriter, r *http.Request, repository, digest string) error {
	h, err := v1.NewHash(digest)
	if err != nil {
		return refuse(http.StatusBadRequest, "DIGEST_INVALID", err.Error())
	}
	if !reg.store.holds(repository, h) {
		return refuse(http.StatusNotFound, "BLOB_UNKNOWN", "the repository has no such blob")
	}
	f, err := os.Open(reg.blobPath(h))
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, "BLOB_UNKNOWN", "the blob's file was removed")
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	setDigest(w, h)
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

// keep verifies that the file at path has the digest h, syncs it to disk, and renames it to
// the blob's path. If the blob already exists, keep leaves the file where it is.
func (reg *Registry) keep(path string, h v1.Hash) error {
	hasher, _ := v1.Hasher(h.Algorithm) // v1.NewHash has accepted the algorithm.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(hasher, f)
	if err == nil && hex.EncodeToString(hasher.Sum(nil)) != h.Hex {
		err = errDigest
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	blob := reg.blobPath(h)
	if _, err := os.Stat(blob); !errors.Is(err, fs.ErrNotExist) {
		return err // The blob exists, and its content was verified.
	}
	err = os.Rename(path, blob)
	// Windows does not replace a blob that another request stored since then and a client reads.
	if _, absent := os.Stat(blob); err != nil && absent == nil {
		return nil
	}
	return err
}
