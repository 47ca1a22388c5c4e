package remotetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Sessions receives uploads for h, as registries do that keep what arrived of
// an upload that broke (OCI distribution spec, "Resuming an upload"). Each
// blob goes on to h in one request once it is whole.
type Sessions struct {
	next http.Handler

	mu   sync.Mutex
	last int
	open map[string]*received
}

// received is what arrived in a session. One request at a time writes to it.
type received struct {
	mu sync.Mutex
	bytes.Buffer
}

// NewSessions returns Sessions for h.
func NewSessions(h http.Handler) *Sessions {
	return &Sessions{next: h, open: map[string]*received{}}
}

// Expire forgets all sessions.
func (s *Sessions) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.open)
}

// ServeHTTP implements http.Handler.
func (s *Sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repository, id, found := strings.Cut(r.URL.Path, "/blobs/uploads/")
	switch {
	case !found || r.URL.Query().Has("mount"):
		s.next.ServeHTTP(w, r)
	case id == "":
		s.start(w, repository)
	default:
		s.proceed(w, r, repository, id)
	}
}

func (s *Sessions) start(w http.ResponseWriter, repository string) {
	s.mu.Lock()
	s.last++
	id := fmt.Sprint(s.last)
	s.open[id] = &received{}
	s.mu.Unlock()
	status(w, http.StatusAccepted, repository, id, 0)
}

func status(w http.ResponseWriter, code int, repository, id string, size int) {
	w.Header().Set("Location", repository+"/blobs/uploads/"+id)
	w.Header().Set("Range", fmt.Sprintf("0-%d", max(size-1, 0)))
	w.WriteHeader(code)
}

// proceed goes on with a session. What arrived stays, whether or not all did.
func (s *Sessions) proceed(w http.ResponseWriter, r *http.Request, repository, id string) {
	s.mu.Lock()
	blob, ok := s.open[id]
	s.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	blob.mu.Lock()
	defer blob.mu.Unlock()
	var from int
	if n, _ := fmt.Sscanf(r.Header.Get("Content-Range"), "%d-", &from); n == 1 && from != blob.Len() {
		status(w, http.StatusRequestedRangeNotSatisfiable, repository, id, blob.Len())
		return
	}
	if _, err := io.Copy(blob, r.Body); err != nil {
		return
	}
	switch r.Method {
	case http.MethodGet:
		status(w, http.StatusNoContent, repository, id, blob.Len())
	case http.MethodPatch:
		status(w, http.StatusAccepted, repository, id, blob.Len())
	default:
		put := r.Clone(r.Context())
		put.Method = http.MethodPost
		put.URL.Path = repository + "/blobs/uploads/"
		put.Body = io.NopCloser(bytes.NewReader(blob.Bytes()))
		put.ContentLength = int64(blob.Len())
		s.next.ServeHTTP(w, put)
	}
}
