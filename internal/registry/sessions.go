package registry

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// maxOpen limits the number of open uploads.
	maxOpen = 1000
	// maxIdle is the time after which an unused upload is removed.
	maxIdle = time.Hour
)

// A session is an open upload. Only one request at a time may hold it.
type session struct {
	repository, id, path string
	// size is the number of bytes received.
	size int64

	// held and used are guarded by the mutex of sessions.
	held bool
	used time.Time
}

// sessions has the open uploads.
type sessions struct {
	dir string

	mu   sync.Mutex
	open map[string]*session
}

// begin opens a session, which the caller holds. It returns nil if too many are
// open.
func (all *sessions) begin(repository string) *session {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.expire(time.Now())
	if len(all.open) >= maxOpen {
		return nil
	}
	id := uuid.NewString() // a UUID, as recommended by the OCI distribution spec, "POST then PUT"
	s := &session{repository: repository, id: id, path: filepath.Join(all.dir, id), held: true}
	all.open[id] = s
	return s
}

// expire ends sessions that are not held and have been idle for maxIdle.
func (all *sessions) expire(now time.Time) {
	for id, s := range all.open {
		if !s.held && now.Sub(s.used) >= maxIdle && s.remove() == nil {
			delete(all.open, id)
		}
	}
}

// hold returns an open session of the repository, or nil if there is none. It
// returns busy if another request holds the session.
func (all *sessions) hold(repository, id string) (s *session, busy bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.expire(time.Now())
	s = all.open[id]
	if s == nil || s.repository != repository {
		return nil, false
	}
	if s.held {
		return nil, true
	}
	s.held = true
	return s, false
}

// release releases a session that stays open.
func (all *sessions) release(s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s.held, s.used = false, time.Now()
}

// end removes a session and its file.
func (all *sessions) end(s *session) error {
	err := s.remove()
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, s.id)
	return err
}
