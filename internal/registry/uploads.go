package registry

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// uploads receives blobs into files: OCI distribution spec, "Pushing blobs".
type uploads struct {
	blobs        *blobs
	repositories *manifests
	sessions     *sessions
}

func newUploads(b *blobs, m *manifests) *uploads {
	return &uploads{blobs: b, repositories: m, sessions: &sessions{dir: filepath.Join(b.dir, "uploads"), open: map[string]*session{}}}
}

// begin mounts a blob, stores a blob that is in the request, or opens a
// session.
func (u *uploads) begin(w http.ResponseWriter, r *http.Request, repository string) {
	if !allowed(w, r, http.MethodPost) {
		return
	}
	query := r.URL.Query()
	if h, err := v1.NewHash(query.Get("mount")); err == nil && u.repositories.holds(query.Get("from"), h) {
		u.keep(w, repository, h)
		return
	}
	s := u.sessions.begin(repository)
	if s == nil {
		refuse(w, http.StatusTooManyRequests, "TOOMANYREQUESTS", "too many uploads are open")
		return
	}
	if err := os.WriteFile(s.path, nil, 0o644); err != nil {
		refuseBody(w, errors.Join(err, u.sessions.end(s)))
		return
	}
	if query.Has("digest") {
		// No other request knows this session: it ends with this
		// request.
		defer func() { _ = u.sessions.end(s) }()
		u.finish(w, r, s)
		return
	}
	defer u.sessions.release(s)
	s.status(w, http.StatusAccepted)
}

// serve handles a request to an open session.
func (u *uploads) serve(w http.ResponseWriter, r *http.Request, repository, id string) {
	if !allowed(w, r, http.MethodGet, http.MethodPatch, http.MethodPut, http.MethodDelete) {
		return
	}
	s, busy := u.sessions.hold(repository, id)
	if busy {
		refuse(w, http.StatusConflict, "BLOB_UPLOAD_INVALID", "another request is writing to this upload")
		return
	}
	if s == nil {
		refuse(w, http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "the upload does not exist")
		return
	}
	defer u.sessions.release(s)
	switch r.Method {
	case http.MethodGet:
		s.status(w, http.StatusNoContent)
	case http.MethodPatch:
		if u.take(w, r, s) {
			s.status(w, http.StatusAccepted)
		}
	case http.MethodPut:
		u.finish(w, r, s)
	case http.MethodDelete:
		if err := u.sessions.end(s); err != nil {
			refuseBody(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (u *uploads) finish(w http.ResponseWriter, r *http.Request, s *session) {
	h, err := v1.NewHash(r.URL.Query().Get("digest"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID", errors.Join(err, u.sessions.end(s)).Error())
		return
	}
	if !u.take(w, r, s) {
		return
	}
	switch err := errors.Join(u.blobs.keep(s.path, h), u.sessions.end(s)); {
	case errors.Is(err, errDigest):
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID", err.Error())
	case err != nil:
		refuseBody(w, err)
	default:
		u.keep(w, s.repository, h)
	}
}

// keep adds the blob to the repository and answers.
func (u *uploads) keep(w http.ResponseWriter, repository string, h v1.Hash) {
	if err := u.repositories.link(repository, h); err != nil {
		refuseBody(w, err)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/%s", repository, h))
	w.Header().Set("Docker-Content-Digest", h.String())
	w.WriteHeader(http.StatusCreated)
}

// take appends the request's body to the upload. On failure it answers the
// request and returns false. If the body breaks off, the bytes received are
// kept, so that the client can resume; any other failure ends the upload.
func (u *uploads) take(w http.ResponseWriter, r *http.Request, s *session) bool {
	length, ok := s.chunk(r.Header.Get("Content-Range"))
	if !ok {
		s.status(w, http.StatusRequestedRangeNotSatisfiable)
		return false
	}
	body := &source{from: http.MaxBytesReader(w, r.Body, max(maxBlob-s.size, 0))}
	n, err := appendTo(s.path, body)
	if err == nil && length >= 0 && n != length {
		// The length differs from Content-Range: discard the chunk.
		if err = os.Truncate(s.path, s.size); err == nil {
			s.status(w, http.StatusRequestedRangeNotSatisfiable)
			return false
		}
	}
	if err == nil {
		s.size += n
		return true
	}
	var tooLarge *http.MaxBytesError
	if body.err != nil && !errors.As(body.err, &tooLarge) {
		s.size += n
		refuse(w, http.StatusBadRequest, "BLOB_UPLOAD_INVALID", "the request body ended early")
		return false
	}
	refuseBody(w, errors.Join(err, u.sessions.end(s)))
	return false
}

// contentRange matches the header of a chunk: OCI distribution spec, "Pushing a
// blob in chunks".
var contentRange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+)-([0-9]+)$`) })

// chunk returns the length in a Content-Range, and whether the chunk is the
// next one. Without the header, any body is the next chunk, and the length is
// -1.
func (s *session) chunk(header string) (length int64, ok bool) {
	if header == "" {
		return -1, true
	}
	part := contentRange().FindStringSubmatch(header)
	if part == nil {
		return 0, false
	}
	first, err := strconv.ParseInt(part[1], 10, 64)
	last, err2 := strconv.ParseInt(part[2], 10, 64)
	if err != nil || err2 != nil || first != s.size || last < first {
		return 0, false
	}
	return last - first + 1, true
}

// A source remembers read errors, to distinguish them from write errors.
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

// status answers with the location and the received range of the upload.
func (s *session) status(w http.ResponseWriter, code int) {
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/uploads/%s", s.repository, s.id))
	w.Header().Set("Range", fmt.Sprintf("0-%d", max(s.size-1, 0)))
	w.WriteHeader(code)
}

// remove removes the file of the upload, if it exists.
func (s *session) remove() error {
	if err := os.Remove(s.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
