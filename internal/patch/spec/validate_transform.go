package spec

import (
	"errors"
	"fmt"
	"slices"
)

func (t *Transform) validate() error {
	var given bool
	var check func() error
	switch t.Type {
	case TransformMap:
		given, check = t.Map != nil, t.validateMap
	case TransformMatch:
		given, check = t.Match != nil, t.Match.validate
	case TransformMath:
		given, check = t.Math != nil, t.Math.Validate
	case TransformString:
		given, check = t.String != nil, t.String.validate
	case TransformConvert:
		given, check = t.Convert != nil, t.Convert.Validate
	default:
		return Invalid("type", t.Type, "unknown transform type")
	}
	if !given {
		return Required(string(t.Type), fmt.Sprintf("given transform type %s requires configuration", t.Type))
	}
	return UnderPath(string(t.Type), check())
}

func (t *Transform) validateMap() error {
	return requireIf(len(t.Map) == 0, "pairs", "at least one pair must be specified if a map transform is specified")
}

func (m *Match) validate() error {
	if len(m.Patterns) == 0 {
		return Required("patterns", "at least one pattern must be specified if a match transform is specified")
	}
	return FirstError("patterns", len(m.Patterns), func(i int) error { return m.Patterns[i].validate() })
}

func (p *Pattern) validate() error {
	switch p.Type {
	case "", MatchLiteral:
		return requireIf(p.Literal == nil, "literal", "literal pattern type requires a literal")
	case MatchRegexp:
		if p.Regexp == nil {
			return Required("regexp", "regexp pattern type requires a regexp")
		}
		return validateRegexp("regexp", *p.Regexp)
	default:
		return Invalid("type", p.Type, "unknown pattern type")
	}
}

func validateRegexp(path, expr string) error {
	if _, err := CompilePattern(expr); errors.Is(err, ErrPatternTooLarge) {
		return Invalid(path, fmt.Sprintf("%.80s", expr), "invalid regexp: "+err.Error())
	} else if err != nil {
		return Invalid(path, expr, "invalid regexp")
	}
	return nil
}

// Validate returns the first error in m. It is also called when m is compiled, because
// function-patch-and-transform does not validate every patch before it applies it.
func (m *Math) Validate() error {
	switch m.Type {
	case "":
		return Required("type", "math transform type is required")
	case Multiply:
		return requireIf(m.Multiply == nil, "multiply", "must specify a value if a multiply math transform is specified")
	case ClampMin:
		return requireIf(m.ClampMin == nil, "clampMin", "must specify a value if a clamp min math transform is specified")
	case ClampMax:
		return requireIf(m.ClampMax == nil, "clampMax", "must specify a value if a clamp max math transform is specified")
	default:
		return Invalid("type", m.Type, "unknown math transform type")
	}
}

func (s *String) validate() error {
	switch s.Type {
	case "":
		return Required("type", "string transform type is required")
	case Format:
		return requireIf(s.Format == nil, "fmt", "format transform requires a format")
	case ConvertString:
		return requireIf(s.Convert == nil, "convert", "convert transform requires a conversion type")
	case TrimPrefix, TrimSuffix:
		return requireIf(s.Trim == nil, "trim", "trim transform requires a trim value")
	case RegexpMatch:
		return s.validateRegexp()
	case JoinList:
		return requireIf(s.Join == nil, "join", "join transform requires a join")
	case ReplaceAll:
		if s.Replace == nil {
			return Required("replace", "replace transform requires a replace")
		}
		return requireIf(s.Replace.Search == "", "replace.search", "replace transform requires a search")
	default:
		return Invalid("type", s.Type, "unknown string transform type")
	}
}

func (s *String) validateRegexp() error {
	switch {
	case s.Regexp == nil:
		return Required("regexp", "regexp transform requires a regexp")
	case s.Regexp.Match == "":
		return Required("regexp.match", "regexp transform requires a match")
	default:
		return validateRegexp("regexp.match", s.Regexp.Match)
	}
}

// Validate returns the first error in c. It is also called when c is compiled, because
// function-patch-and-transform does not validate every patch before it applies it.
func (c *Convert) Validate() error {
	if c.Format != nil && !slices.Contains([]ConvertFormat{FormatNone, FormatQuantity, FormatJSON}, *c.Format) {
		return Invalid("format", *c.Format, "invalid format")
	}
	switch c.ToType {
	case ToString, ToInt, ToInt64, ToBool, ToFloat64, ToObject, ToArray:
		return nil
	default:
		return Invalid("toType", c.ToType, "invalid type")
	}
}
