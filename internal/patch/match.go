package patch

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// A test is a compiled pattern of a match transform, or the error of compiling it.
type test struct {
	*spec.Pattern
	matches func(string) (bool, error)
	err     error
}

func matcher(m *spec.Match) TransformFunc {
	tests := make([]test, len(m.Patterns))
	for i := range m.Patterns {
		tests[i] = compilePattern(&m.Patterns[i])
	}
	return func(v any, b *Budget) (any, error) {
		for i, test := range tests {
			fits, err := test.fits(v)
			if err != nil {
				return nil, fmt.Errorf("cannot match pattern at index %d: %w", i, err)
			}
			if fits {
				b.selected("match.patterns", "["+strconv.Itoa(i)+"]")
				return decoded(test.Result)
			}
		}
		b.selected("match", "")
		return fallback(m, v)
	}
}

func fallback(m *spec.Match, v any) (any, error) {
	if m.FallbackTo != spec.FallbackToInput {
		return decoded(m.FallbackValue)
	}
	if !isNull(m.FallbackValue) {
		return nil, errors.New("cannot set both a fallback value and the fallback to input flag")
	}
	return v, nil
}

func compilePattern(p *spec.Pattern) test {
	t := test{Pattern: p}
	switch {
	case p.Type == spec.MatchLiteral && p.Literal != nil:
		t.matches = func(s string) (bool, error) { return s == *p.Literal, nil }
	case p.Type == spec.MatchRegexp && p.Regexp != nil:
		expr, err := spec.CompilePattern(*p.Regexp)
		if err != nil {
			t.err = fmt.Errorf("cannot compile regexp: %w", err)
		}
		t.matches = expr.MatchString
	case p.Type == spec.MatchLiteral, p.Type == spec.MatchRegexp:
		t.err = fmt.Errorf("%s is required by type %s", p.Type, p.Type)
	default:
		t.err = fmt.Errorf("unsupported pattern type '%s'", p.Type)
	}
	return t
}

func (t test) fits(v any) (bool, error) {
	s, ok := v.(string)
	switch {
	case t.err != nil:
		return false, t.err
	case ok:
		return t.matches(s)
	case v == nil && t.Type == spec.MatchRegexp:
		return false, errors.New("unsupported input type 'null'")
	default:
		return false, fmt.Errorf("unsupported input type '%s'", typeName(v))
	}
}
