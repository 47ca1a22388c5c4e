package fieldpath

import (
	"fmt"
	"strconv"
	"strings"
)

// A Path is the path from an object to a value. The empty path has no value.
type Path []Segment

// A Segment is the key of an object, or the index of a list.
type Segment struct {
	Key   string
	Index int
	// IsIndex is true if the Segment is an index.
	IsIndex bool
}

// Key returns the Segment for a key.
func Key(key string) Segment { return Segment{Key: key} }

// Index returns the Segment for an index, from 0.
func Index(i int) Segment { return Segment{Index: i, IsIndex: true} }

// MaxSegments is the maximum number of segments of a path.
const MaxSegments = 1000

// wildcard is the key that matches all keys and indexes in Path.Expand.
const wildcard = "*"

// Parse parses a field path. It consists of names separated by dots, and of
// brackets with an index below 2^32 or with a key. A key in brackets may contain
// dots. Parse removes quotes around a key.
func Parse(text string) (Path, error) {
	p := Path{}
	for at := 0; at < len(text); {
		var segment Segment
		var next int
		var err error
		switch {
		case text[at] == '[':
			segment, next, err = bracket(text, at)
		case text[at] == '.':
			at, err = at+1, checkPeriod(text, at)
			fallthrough
		default:
			if err == nil {
				segment, next, err = name(text, at)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("cannot parse path %q: %w", text, err)
		}
		if p, at = append(p, segment), next; len(p) > MaxSegments {
			return nil, fmt.Errorf("cannot parse path %.80q: it has more than %d segments", text, MaxSegments)
		}
	}
	return p, nil
}

// checkPeriod returns an error unless the period at position at is between a
// segment and a name.
func checkPeriod(text string, at int) error {
	switch {
	case at == 0 || at == len(text)-1:
		return unexpected(text, at)
	case text[at+1] == '.' || text[at+1] == '[':
		return unexpected(text, at+1)
	default:
		return nil
	}
}

func name(text string, at int) (segment Segment, next int, err error) {
	next = len(text)
	if i := strings.IndexAny(text[at:], ".[]"); i >= 0 {
		next = at + i
	}
	if next < len(text) && text[next] == ']' {
		return segment, next, unexpected(text, next)
	}
	return Key(unquote(text[at:next])), next, nil
}

func bracket(text string, at int) (segment Segment, next int, err error) {
	length := strings.IndexByte(text[at:], ']')
	if length < 0 {
		return segment, at, fmt.Errorf("unterminated '[' at position %d", at)
	}
	inner := text[at+1 : at+length]
	if inner == "" {
		return segment, at, unexpected(text, at+1)
	}
	if i := strings.IndexByte(inner, '['); i >= 0 {
		return segment, at, unexpected(text, at+1+i)
	}
	next = at + length + 1
	if i, err := strconv.ParseUint(inner, 10, 32); err == nil {
		return Index(int(i)), next, nil
	}
	return Key(unquote(inner)), next, nil
}

func unquote(key string) string { return strings.Trim(key, `'"`) }

func unexpected(text string, at int) error {
	return fmt.Errorf("unexpected %q at position %d", text[at], at)
}

// String returns the path for messages. Parse may not accept the text.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.IsIndex:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case s.Key == wildcard || strings.Contains(s.Key, "."):
			fmt.Fprintf(&b, "[%s]", s.Key)
		default:
			b.WriteString("." + s.Key)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}
