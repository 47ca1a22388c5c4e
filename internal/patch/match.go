package patch

import (
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// A test reports whether a value matches a pattern.
type test func(v any) (bool, error)

func matcher(m *spec.Match) TransformFunc {
	tests := make([]test, len(m.Patterns))
	for i := range m.Patterns {
		tests[i] = testOf(&m.Patterns[i])
	}
	return func(v any, _ *Budget) (any, error) {
		for i, test := range tests {
			fits, err := test(v)
			if err != nil {
				return nil, fmt.Errorf("cannot match pattern at index %d: %w", i, err)
			}
			if fits {
				return decoded(m.Patterns[i].Result)
			}
		}
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

func testOf(p *spec.Pattern) test {
	switch p.Type {
	case spec.MatchLiteral:
		return literal(p.Literal)
	case spec.MatchRegexp:
		return expression(p.Regexp)
	default:
		return unfit(fmt.Errorf("unsupported pattern type '%s'", p.Type))
	}
}

func unfit(err error) test {
	return func(any) (bool, error) { return false, err }
}

func literal(want *string) test {
	if want == nil {
		return unfit(errors.New("literal is required by type literal"))
	}
	return func(v any) (bool, error) {
		s, ok := v.(string)
		if !ok {
			return false, fmt.Errorf("unsupported input type '%s'", typeName(v))
		}
		return s == *want, nil
	}
}

func expression(text *string) test {
	if text == nil {
		return unfit(errors.New("regexp is required by type regexp"))
	}
	expr, err := spec.CompilePattern(*text)
	if err != nil {
		return unfit(fmt.Errorf("cannot compile regexp: %w", err))
	}
	return func(v any) (bool, error) {
		s, ok := v.(string)
		switch {
		case v == nil:
			return false, errors.New("unsupported input type 'null'")
		case !ok:
			return false, fmt.Errorf("unsupported input type '%s'", typeName(v))
		}
		return expr.MatchString(s)
	}
}
