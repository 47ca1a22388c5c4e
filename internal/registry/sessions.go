package registry

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// maxOpen bounds the uploads that are open at a time.
	maxOpen = 1000
	// maxIdle is how long an upload stays open that nobody writes to.
	maxIdle = time.Hour
)

// A session is an upload that has begun and not ended. One request at a time
// holds it.
type session struct {
	repository, id, path string
	// size is how much has arrived.
	size int64

	// These two are under the lock of sessions.
	held bool
	used time.Time
}

// sessions are the uploads that are open.
type sessions struct {
	dir string

	mu   sync.Mutex
	open map[string]*session
}

// begin opens a session, held by its caller. It is nil if too many are open.
func (all *sessions) begin(repository string) *session {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.expire(time.Now())
	if len(all.open) >= maxOpen {
		return nil
	}
	id := uuid.NewString() // OCI distribution spec, "POST then PUT", asks for one
	s := &session{repository: repository, id: id, path: filepath.Join(all.dir, id), held: true}
	all.open[id] = s
	return s
}

// expire ends what nobody uses any more.
func (all *sessions) expire(now time.Time) {
	for id, s := range all.open {
		if !s.held && now.Sub(s.used) >= maxIdle && s.remove() == nil {
			delete(all.open, id)
		}
	}
}

// hold gives an open session of the repository to its caller, or nil if there
// is none. It is busy if another request holds it.
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

// release lets go of a session that stays open.
func (all *sessions) release(s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s.held, s.used = false, time.Now()
}

// end removes a session and what arrived of it.
func (all *sessions) end(s *session) error {
	err := s.remove()
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, s.id)
	return err
}
