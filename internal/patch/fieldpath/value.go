package fieldpath

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxIndex is the largest list index in a path that Set accepts.
const MaxIndex = 1024

// notFound is the text of an error for which IsNotFound is true.
type notFound string

func (e notFound) Error() string { return string(e) }

// IsNotFound reports whether err was returned because a value does not exist.
func IsNotFound(err error) bool {
	return errors.As(err, new(notFound))
}

// Get returns the value at path p in from, which may be null. For an empty path,
// Get returns nil. IsNotFound is true for the error if a field or element does
// not exist, or if a value on the path is null and not an object.
func (p Path) Get(from any) (any, error) {
	if len(p) == 0 {
		return nil, nil
	}
	for i := range p {
		next, err := p.step(i, from)
		if err != nil {
			return nil, err
		}
		from = next
	}
	return from, nil
}

// step returns the value that segment i of p selects in from.
func (p Path) step(i int, from any) (any, error) {
	if p[i].IsIndex {
		list, ok := from.([]any)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: not an array", p[:i])
		case p[i].Index >= len(list):
			return nil, notFound(p[:i+1].String() + ": no such element")
		}
		return list[p[i].Index], nil
	}
	object, ok := from.(map[string]any)
	switch {
	case from == nil:
		return nil, notFound(p[:i].String() + ": expected map, got nil")
	case !ok:
		return nil, fmt.Errorf("%s: not an object", p[:i])
	}
	v, ok := object[p[i].Key]
	if !ok {
		return nil, notFound(p[:i+1].String() + ": no such field")
	}
	return v, nil
}

// Set sets the value at path p to v. It creates missing objects and lists,
// extends lists with nulls, and replaces null list elements on the path by
// objects or lists. A null field on the path is an error. For an empty path, Set
// does nothing. An index above MaxIndex is an error. Set returns the number of nulls that
// it added to lists, even if it returns an error.
func (p Path) Set(object map[string]any, v any) (nulls int, err error) {
	for _, s := range p {
		if s.Index > MaxIndex {
			return 0, fmt.Errorf("index %d is greater than max allowed index %d", s.Index, MaxIndex)
		}
	}
	var in any = object
	for i := range p {
		put, err := p.place(i, in)
		if err != nil {
			return nulls, err
		}
		if i == len(p)-1 {
			put(v)
			return nulls, nil
		}
		in = p.child(i, in)
		if grown, added, ok := grow(in, p[i+1]); ok {
			put(grown)
			in = grown
			nulls += added
		}
	}
	return nulls, nil
}

// absent is the value of a field or element that does not exist.
type absent struct{}

// place returns a function that sets the value that segment i of p selects in in.
func (p Path) place(i int, in any) (func(any), error) {
	if p[i].IsIndex {
		list, ok := in.([]any)
		if !ok {
			return nil, fmt.Errorf("%s is not an array", p[:i])
		}
		return func(v any) { list[p[i].Index] = v }, nil
	}
	object, ok := in.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", p[:i])
	}
	return func(v any) { object[p[i].Key] = v }, nil
}

// child returns the value that segment i of p selects in in. It returns absent{}
// if there is no value, or if it is a null list element.
func (p Path) child(i int, in any) any {
	if list, ok := in.([]any); ok {
		if v := list[p[i].Index]; v != nil {
			return v
		}
		return absent{}
	}
	if v, ok := in.(map[string]any)[p[i].Key]; ok {
		return v
	}
	return absent{}
}

// grow returns a copy of v that can have the segment s: a new object or list if v
// is absent, or a longer list. nulls is the number of nulls before the new element of a
// list. It returns false if v need not change.
func grow(v any, s Segment) (grown any, nulls int, ok bool) {
	switch v := v.(type) {
	case absent:
		if s.IsIndex {
			return make([]any, s.Index+1), s.Index, true
		}
		return map[string]any{}, 0, true
	case []any:
		if s.IsIndex && s.Index >= len(v) {
			return append(v[:len(v):len(v)], make([]any, s.Index+1-len(v))...), s.Index - len(v), true
		}
	}
	return nil, 0, false
}

// ValidUTF8 returns s with each invalid byte replaced by U+FFFD, like encoding/json.
func ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// Whole returns f as an int64 if its JSON form is one. That form has the fewest digits that identify
// f, which may denote another integer than f above 2^53.
func Whole(f float64) any {
	switch {
	case f != math.Trunc(f), math.Abs(f) >= 1e21:
		return f
	case math.Abs(f) < 1<<53:
		return int64(f)
	}
	if n, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
		return n
	}
	return f
}

// Float returns a number of decoded JSON, and false for any other value.
func Float(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	default:
		return 0, false
	}
}
