package transform

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform/input"
)

// A test reports whether a value fits a pattern.
type test func(v any) (bool, error)

func matcher(m *input.Match) Func {
	tests := make([]test, len(m.Patterns))
	for i := range m.Patterns {
		tests[i] = pattern(&m.Patterns[i])
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

func fallback(m *input.Match, v any) (any, error) {
	if m.FallbackTo != input.FallbackToInput {
		return decoded(m.FallbackValue)
	}
	if !isNull(m.FallbackValue) {
		return nil, errors.New("cannot set both a fallback value and the fallback to input flag")
	}
	return v, nil
}

func pattern(p *input.Pattern) test {
	switch p.Type {
	case input.MatchLiteral:
		return func(v any) (bool, error) {
			s, ok := v.(string)
			if !ok {
				return false, fmt.Errorf("unsupported input type '%s'", typeName(v))
			}
			return s == *p.Literal, nil
		}
	case input.MatchRegexp:
		expr := regexp.MustCompile(*p.Regexp)
		return func(v any) (bool, error) {
			s, ok := v.(string)
			switch {
			case v == nil:
				return false, errors.New("unsupported input type 'null'")
			case !ok:
				return false, fmt.Errorf("unsupported input type '%s'", typeName(v))
			}
			return expr.MatchString(s), nil
		}
	default:
		return func(any) (bool, error) {
			return false, fmt.Errorf("unsupported pattern type '%s'", p.Type)
		}
	}
}
