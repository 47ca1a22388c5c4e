package fieldpath

import (
	"fmt"
	"strconv"
	"strings"
)

// A Path leads from an object to a value in it. The empty path leads nowhere.
type Path []Segment

// A Segment is one step of a Path: the key of an object, or the index of an
// element of a list.
type Segment struct {
	Key   string
	Index int
	// IsIndex tells which of the two it is.
	IsIndex bool
}

// Key returns the Segment that leads to the value of a key.
func Key(key string) Segment { return Segment{Key: key} }

// Index returns the Segment that leads to the i-th element of a list, from 0.
func Index(i int) Segment { return Segment{Index: i, IsIndex: true} }

// MaxSegments is how many segments a path may have.
const MaxSegments = 1000

// wildcard is the key that Expand takes for all there are.
const wildcard = "*"

// Parse reads a path: names with dots between them, and brackets. What is in
// brackets is an index if it is a number below 2^32, and else a key, in which
// dots mean nothing. Quotes around a key do not belong to it.
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

// checkPeriod says what is wrong with the period at an offset: it has to be
// between two segments, of which the second is a name.
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

// String returns the path as Parse reads it, for people: a key with quotes
// around it or brackets in it does not survive.
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
