package language

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// SyntaxError returns an error for the offset at of a file. The path is relative to the working directory
// or absolute, as in all errors with positions.
func SyntaxError(path, source string, at int, text string) error {
	return &manifest.Error{Path: path, Line: line(source, at), Err: errors.New(text)}
}

// ErrorAt returns err for the first line of a file that has part, or for the file if no line has.
func ErrorAt(path, source, part string, err error) error {
	e := &manifest.Error{Path: path, Err: err}
	if at := strings.Index(source, part); at >= 0 {
		e.Line = line(source, at)
	}
	return e
}

// line returns the line of an offset, counted from 1.
func line(source string, at int) int {
	return 1 + strings.Count(source[:at], "\n")
}

// Brackets are the offsets of the brackets that are open at a place of a source.
type Brackets []int

// Close removes the last bracket. It returns the error if the bracket at the offset does not match, or
// "".
func (b *Brackets) Close(source string, at int) string {
	if len(*b) == 0 {
		return fmt.Sprintf("unmatched '%c'", source[at])
	}
	last := (*b)[len(*b)-1]
	if strings.IndexByte("([{", source[last]) != strings.IndexByte(")]}", source[at]) {
		return fmt.Sprintf("closing parenthesis '%c' does not match opening parenthesis '%c' on line %d", source[at], source[last], line(source, last))
	}
	*b = (*b)[:len(*b)-1]
	return ""
}

// Unclosed returns the last open bracket and the error for it, or "" if all are closed.
func (b Brackets) Unclosed(source string) (at int, text string) {
	if len(b) == 0 {
		return 0, ""
	}
	at = b[len(b)-1]
	return at, fmt.Sprintf("'%c' was never closed", source[at])
}
