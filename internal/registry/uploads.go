package registry

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// uploads receives blobs (OCI distribution spec, "Pushing blobs") straight
// into files, as go-containerregistry's handler would hold them in memory, one
// at a time.
type uploads struct {
	blobs *blobs
	// busy holds the sessions that a request is writing to.
	busy sync.Map
}

// A session is one request to one upload.
type session struct {
	repository, id, path string
}

func (u *uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	part := uploadPath.FindStringSubmatch(r.URL.Path)
	s := session{repository: part[1], id: part[2]}
	if (s.id == "") != (r.Method == http.MethodPost) {
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "uploads are started by POST, and only those")
		return
	}
	if s.id == "" {
		s.id = newID()
	}
	s.path = filepath.Join(u.blobs.dir, "uploads", s.id)
	if _, taken := u.busy.LoadOrStore(s.id, true); taken {
		refuse(w, http.StatusConflict, "BLOB_UPLOAD_INVALID", "another request is writing to this upload")
		return
	}
	defer u.busy.Delete(s.id)
	switch r.Method {
	case http.MethodPost:
		u.start(w, r, s)
	case http.MethodPatch:
		u.receive(w, r, s)
	case http.MethodPut:
		u.finish(w, r, s)
	case http.MethodGet:
		s.status(w, http.StatusNoContent)
	case http.MethodDelete:
		s.cancel(w)
	default:
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "an upload knows GET, PATCH, PUT and DELETE")
	}
}

func newID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func (u *uploads) start(w http.ResponseWriter, r *http.Request, s session) {
	if err := os.WriteFile(s.path, nil, 0o644); err != nil {
		refuseBody(w, errors.Join(err, s.end()))
		return
	}
	if r.URL.Query().Has("digest") {
		u.finish(w, r, s)
		return
	}
	s.status(w, http.StatusAccepted)
}

func (u *uploads) receive(w http.ResponseWriter, r *http.Request, s session) {
	if s.take(w, r) {
		s.status(w, http.StatusAccepted)
	}
}

func (u *uploads) finish(w http.ResponseWriter, r *http.Request, s session) {
	h, err := v1.NewHash(r.URL.Query().Get("digest"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID", errors.Join(err, s.end()).Error())
		return
	}
	if !s.take(w, r) {
		return
	}
	switch err := u.blobs.keep(s.path, h); {
	case errors.Is(err, errDigest):
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID", err.Error())
	case err != nil:
		refuseBody(w, err)
	default:
		w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/%s", s.repository, h))
		w.Header().Set("Docker-Content-Digest", h.String())
		w.WriteHeader(http.StatusCreated)
	}
}

// take appends the request's body to the upload. If it cannot, it answers the
// request and returns false. A body that breaks ends the upload: clients start
// a new one, and nobody would remove what is left of this.
func (s session) take(w http.ResponseWriter, r *http.Request) bool {
	size, ok := s.size(w)
	if !ok {
		return false
	}
	if from, _, ok := strings.Cut(r.Header.Get("Content-Range"), "-"); ok && from != strconv.FormatInt(size, 10) {
		s.status(w, http.StatusRequestedRangeNotSatisfiable)
		return false
	}
	if err := appendTo(s.path, http.MaxBytesReader(w, r.Body, max(maxBlob-size, 0))); err != nil {
		refuseBody(w, errors.Join(err, s.end()))
		return false
	}
	return true
}

func appendTo(path string, body io.Reader) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, body)
	return err
}

// size returns how much of the upload has arrived, or answers that there is no
// such upload.
func (s session) size(w http.ResponseWriter) (size int64, ok bool) {
	fi, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		refuse(w, http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "there is no such upload")
		return 0, false
	}
	if err != nil {
		refuseBody(w, err)
		return 0, false
	}
	return fi.Size(), true
}

// status answers with where the upload is and how much of it has arrived.
func (s session) status(w http.ResponseWriter, code int) {
	size, ok := s.size(w)
	if !ok {
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/uploads/%s", s.repository, s.id))
	w.Header().Set("Range", fmt.Sprintf("0-%d", max(size-1, 0)))
	w.WriteHeader(code)
}

func (s session) cancel(w http.ResponseWriter) {
	if _, ok := s.size(w); !ok {
		return
	}
	if err := s.end(); err != nil {
		refuseBody(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// end removes what arrived, if anything did.
func (s session) end() error {
	if err := os.Remove(s.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
