package spec

import (
	"errors"
	"fmt"
)

func (t *Transform) validate() error {
	missing := false
	var check func() error
	switch t.Type {
	case TransformMap:
		missing, check = t.Map == nil, t.validateMap
	case TransformMatch:
		missing, check = t.Match == nil, t.Match.validate
	case TransformMath:
		missing, check = t.Math == nil, t.Math.Validate
	case TransformString:
		missing, check = t.String == nil, t.String.validate
	case TransformConvert:
		missing, check = t.Convert == nil, t.Convert.Validate
	default:
		return Invalid("type", t.Type, "unknown transform type")
	}
	if missing {
		return Required(string(t.Type), fmt.Sprintf("given transform type %s requires configuration", t.Type))
	}
	return UnderPath(string(t.Type), check())
}

func (t *Transform) validateMap() error {
	if len(t.Map) == 0 {
		return Required("pairs", "at least one pair must be specified if a map transform is specified")
	}
	return nil
}

func (m *Match) validate() error {
	if len(m.Patterns) == 0 {
		return Required("patterns", "at least one pattern must be specified if a match transform is specified")
	}
	return FirstError("patterns", len(m.Patterns), func(i int) error { return m.Patterns[i].validate() })
}

func (p *Pattern) validate() error {
	switch p.Type {
	case "":
		return nil
	case MatchLiteral:
		if p.Literal == nil {
			return Required("literal", "literal pattern type requires a literal")
		}
		return nil
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

// Validate returns what is wrong with m. The function looks at it again when it
// runs, since not every patch is validated.
func (m *Math) Validate() error {
	switch m.Type {
	case "":
		return Required("type", "math transform type is required")
	case Multiply:
		if m.Multiply == nil {
			return Required("multiply", "must specify a value if a multiply math transform is specified")
		}
	case ClampMin:
		if m.ClampMin == nil {
			return Required("clampMin", "must specify a value if a clamp min math transform is specified")
		}
	case ClampMax:
		if m.ClampMax == nil {
			return Required("clampMax", "must specify a value if a clamp max math transform is specified")
		}
	default:
		return Invalid("type", m.Type, "unknown math transform type")
	}
	return nil
}

func (s *String) validate() error {
	switch s.Type {
	case "":
		return Required("type", "string transform type is required")
	case Format:
		return demand("fmt", s.Format != nil, "format transform requires a format")
	case ConvertString:
		return demand("convert", s.Convert != nil, "convert transform requires a conversion type")
	case TrimPrefix, TrimSuffix:
		return demand("trim", s.Trim != nil, "trim transform requires a trim value")
	case RegexpMatch:
		return s.validateRegexp()
	case JoinList:
		return demand("join", s.Join != nil, "join transform requires a join")
	case ReplaceAll:
		if s.Replace == nil {
			return Required("replace", "replace transform requires a replace")
		}
		return demand("replace.search", s.Replace.Search != "", "replace transform requires a search")
	default:
		return Invalid("type", s.Type, "unknown string transform type")
	}
}

func demand(path string, given bool, text string) error {
	if !given {
		return Required(path, text)
	}
	return nil
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

// Validate returns what is wrong with c, which is looked at again as Math is.
func (c *Convert) Validate() error {
	if c.Format != nil {
		switch *c.Format {
		case FormatNone, FormatQuantity, FormatJSON:
		default:
			return Invalid("format", *c.Format, "invalid format")
		}
	}
	switch c.ToType {
	case ToString, ToInt, ToInt64, ToBool, ToFloat64, ToObject, ToArray:
		return nil
	default:
		return Invalid("toType", c.ToType, "invalid type")
	}
}
