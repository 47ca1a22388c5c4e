package session

import (
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A content identifies a document by position and text, so that a changed file
// is decoded again.
type content struct {
	path string
	line int
	text string
}

func contentOf(doc manifest.Document) content {
	return content{doc.Path, doc.Line, string(doc.Text)}
}

// decoded caches the decoded documents of a session, because thousands of
// renders read the same Composition.
type decoded struct {
	compositions proc.Memo[content, checked]
	listings     proc.Memo[content, listing]
}

// A checked is a Composition and its problems, except missing functions.
type checked struct {
	composition.Entry
	problems []composition.Problem
	// duplicate is the error of a duplicate key, or nil.
	duplicate error
}

func (s *Session) composition(doc manifest.Document) (checked, error) {
	return s.decoded.compositions.Do(contentOf(doc), func() (checked, error) {
		e, err := composition.Decode(doc)
		if err != nil {
			return checked{}, err
		}
		_, duplicate := doc.StrictJSON()
		return checked{e, composition.Check(e, nil), duplicate}, nil
	})
}
