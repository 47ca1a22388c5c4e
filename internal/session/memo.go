package session

import (
	"sync"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// mostKept is how many documents a memo keeps what it decoded of.
const mostKept = 1000

// A memo decodes each document once: thousands of renders read the same
// Composition. What it returns must not be changed. It goes by what a document
// says, so a file that has changed is decoded again.
type memo[T any] struct {
	mu   sync.Mutex
	kept map[place]func() (T, error)
}

type place struct {
	path string
	line int
	text string
}

func (m *memo[T]) of(doc manifest.Document, decode func(manifest.Document) (T, error)) (T, error) {
	k := place{doc.Path, doc.Line, string(doc.Text)}
	m.mu.Lock()
	once, ok := m.kept[k]
	if !ok {
		if m.kept == nil || len(m.kept) >= mostKept {
			m.kept = map[place]func() (T, error){}
		}
		once = sync.OnceValues(func() (T, error) { return decode(doc) })
		m.kept[k] = once
	}
	m.mu.Unlock()
	return once()
}

// decoded are what a session has decoded.
type decoded struct {
	compositions memo[checked]
	listings     memo[listing]
}

// A checked is a Composition and what is wrong with it, but for functions that
// are not there.
type checked struct {
	composition.Entry
	problems []composition.Problem
	// duplicate is a key that occurs twice in one object, or nil.
	duplicate error
}

func (s *Session) composition(doc manifest.Document) (checked, error) {
	return s.decoded.compositions.of(doc, func(doc manifest.Document) (checked, error) {
		e, err := composition.Decode(doc)
		if err != nil {
			return checked{}, err
		}
		_, duplicate := doc.StrictJSON()
		return checked{e, composition.Check(e, nil), duplicate}, nil
	})
}
