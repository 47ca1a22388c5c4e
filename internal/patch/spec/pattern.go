package spec

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The bounds of an expression: its length in bytes, the instructions that it
// takes, and how many instructions may meet how many bytes of a text.
const (
	MaxPatternLength = 16 << 10
	MaxSize          = 10_000
	MaxSteps         = 1 << 30
)

// ErrPatternTooLarge says that an expression is beyond one of the bounds.
var ErrPatternTooLarge = errors.New("it is too large")

// An Expression is a regular expression of RE2.
type Expression struct {
	expr *regexp.Regexp
	size int
}

// CompilePattern parses an expression. The error is ErrTooLarge, or that of package
// regexp.
func CompilePattern(text string) (*Expression, error) {
	if len(text) > MaxPatternLength {
		return nil, ErrPatternTooLarge
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		// Its words are not quite those of package regexp.
		_, err := regexp.Compile(text)
		return nil, err
	}
	size := sizeOf(parsed)
	if size > MaxSize {
		return nil, ErrPatternTooLarge
	}
	expr, err := regexp.Compile(text)
	return &Expression{expr, size}, err
}

// sizeOf is about how many instructions an expression takes, MaxSize and more
// being too many.
func sizeOf(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size = min(size+sizeOf(sub), MaxSize+1)
	}
	if re.Op == syntax.OpRepeat {
		size = min(size*max(re.Min, re.Max, 1), MaxSize+1)
	}
	return size
}

// MatchString reports whether the expression fits somewhere in text. The error
// says that it would take too long.
func (e *Expression) MatchString(text string) (bool, error) {
	if err := e.check(text); err != nil {
		return false, err
	}
	return e.expr.MatchString(text), nil
}

// FindStringSubmatch returns the first match and its groups, or nil. The error
// says that it would take too long.
func (e *Expression) FindStringSubmatch(text string) ([]string, error) {
	if err := e.check(text); err != nil {
		return nil, err
	}
	return e.expr.FindStringSubmatch(text), nil
}

func (e *Expression) check(text string) error {
	if e.size > MaxSteps/(len(text)+1) {
		return fmt.Errorf("the regexp is too large for a text of %d bytes", len(text))
	}
	return nil
}
