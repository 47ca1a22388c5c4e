package spec

import (
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/internal/patch/fielderror"
	"github.com/xfn-dev/xfn/internal/patch/pattern"
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
		return fielderror.Invalid("type", t.Type, "unknown transform type")
	}
	if missing {
		return fielderror.Required(string(t.Type), fmt.Sprintf("given transform type %s requires configuration", t.Type))
	}
	return fielderror.Under(string(t.Type), check())
}

func (t *Transform) validateMap() error {
	if len(t.Map) == 0 {
		return fielderror.Required("pairs", "at least one pair must be specified if a map transform is specified")
	}
	return nil
}

func (m *Match) validate() error {
	if len(m.Patterns) == 0 {
		return fielderror.Required("patterns", "at least one pattern must be specified if a match transform is specified")
	}
	return fielderror.First("patterns", len(m.Patterns), func(i int) error { return m.Patterns[i].validate() })
}

func (p *Pattern) validate() error {
	switch p.Type {
	case "":
		return nil
	case MatchLiteral:
		if p.Literal == nil {
			return fielderror.Required("literal", "literal pattern type requires a literal")
		}
		return nil
	case MatchRegexp:
		if p.Regexp == nil {
			return fielderror.Required("regexp", "regexp pattern type requires a regexp")
		}
		return validateRegexp("regexp", *p.Regexp)
	default:
		return fielderror.Invalid("type", p.Type, "unknown pattern type")
	}
}

func validateRegexp(path, expr string) error {
	if _, err := pattern.Compile(expr); errors.Is(err, pattern.ErrTooLarge) {
		return fielderror.Invalid(path, fmt.Sprintf("%.80s", expr), "invalid regexp: "+err.Error())
	} else if err != nil {
		return fielderror.Invalid(path, expr, "invalid regexp")
	}
	return nil
}

// Validate returns what is wrong with m. The function looks at it again when it
// runs, since not every patch is validated.
func (m *Math) Validate() error {
	switch m.Type {
	case "":
		return fielderror.Required("type", "math transform type is required")
	case Multiply:
		if m.Multiply == nil {
			return fielderror.Required("multiply", "must specify a value if a multiply math transform is specified")
		}
	case ClampMin:
		if m.ClampMin == nil {
			return fielderror.Required("clampMin", "must specify a value if a clamp min math transform is specified")
		}
	case ClampMax:
		if m.ClampMax == nil {
			return fielderror.Required("clampMax", "must specify a value if a clamp max math transform is specified")
		}
	default:
		return fielderror.Invalid("type", m.Type, "unknown math transform type")
	}
	return nil
}

func (s *String) validate() error {
	switch s.Type {
	case "":
		return fielderror.Required("type", "string transform type is required")
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
			return fielderror.Required("replace", "replace transform requires a replace")
		}
		return demand("replace.search", s.Replace.Search != "", "replace transform requires a search")
	default:
		return fielderror.Invalid("type", s.Type, "unknown string transform type")
	}
}

func demand(path string, given bool, text string) error {
	if !given {
		return fielderror.Required(path, text)
	}
	return nil
}

func (s *String) validateRegexp() error {
	switch {
	case s.Regexp == nil:
		return fielderror.Required("regexp", "regexp transform requires a regexp")
	case s.Regexp.Match == "":
		return fielderror.Required("regexp.match", "regexp transform requires a match")
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
			return fielderror.Invalid("format", *c.Format, "invalid format")
		}
	}
	switch c.ToType {
	case ToString, ToInt, ToInt64, ToBool, ToFloat64, ToObject, ToArray:
		return nil
	default:
		return fielderror.Invalid("toType", c.ToType, "invalid type")
	}
}
