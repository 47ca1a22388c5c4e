package spec

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// These limit regular expressions. MaxPatternLength is the length in bytes, and
// MaxSize the number of compiled instructions. MaxSteps limits a search: the
// instructions times the bytes of the text.
const (
	MaxPatternLength = 16 << 10
	MaxSize          = 10_000
	MaxSteps         = 1 << 30
)

// ErrPatternTooLarge is the error of a regular expression that exceeds
// MaxPatternLength or MaxSize.
var ErrPatternTooLarge = errors.New("the regular expression is too large")

// An Expression is an RE2 regular expression of limited size.
type Expression struct {
	expr *regexp.Regexp
	size int
}

// CompilePattern compiles a regular expression. The error is ErrPatternTooLarge
// or the error of regexp.Compile.
func CompilePattern(text string) (*Expression, error) {
	if len(text) > MaxPatternLength {
		return nil, ErrPatternTooLarge
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		// function-patch-and-transform returns the error of package regexp, whose text
		// differs from the text of package syntax.
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

// sizeOf estimates the number of instructions of a compiled regular expression.
// It returns at most MaxSize+1.
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

// MatchString reports whether text contains a match of the regular expression.
// It returns an error if the search could exceed MaxSteps.
func (e *Expression) MatchString(text string) (bool, error) {
	if err := e.check(text); err != nil {
		return false, err
	}
	return e.expr.MatchString(text), nil
}

// FindStringSubmatch returns the first match in text and its groups, or nil if
// there is none. It returns an error if the search could exceed MaxSteps.
func (e *Expression) FindStringSubmatch(text string) ([]string, error) {
	if err := e.check(text); err != nil {
		return nil, err
	}
	return e.expr.FindStringSubmatch(text), nil
}

// SubexpNames returns the names of the groups, as regexp.Regexp.SubexpNames does.
func (e *Expression) SubexpNames() []string { return e.expr.SubexpNames() }

func (e *Expression) check(text string) error {
	if e.size > MaxSteps/(len(text)+1) {
		return fmt.Errorf("the regexp is too large for a text of %d bytes", len(text))
	}
	return nil
}
