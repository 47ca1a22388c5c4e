package language

import (
	"fmt"
	"strings"
)

// SyntaxError returns an error for the offset at of a file.
func SyntaxError(name, source string, at int, text string) error {
	return fmt.Errorf("%s:%d: %s", name, line(source, at), text)
}

// PositionOf returns "name:line" for the first line of a file that has part, or the name if no line has.
func PositionOf(name, source, part string) string {
	at := strings.Index(source, part)
	if at < 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, line(source, at))
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
