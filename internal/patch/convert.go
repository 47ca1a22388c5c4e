package patch

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// A conversion is a combination of source type, target type and format that a
// convert transform supports.
type conversion struct {
	from, to spec.ConvertType
	format   spec.ConvertFormat
}

func converter(c *spec.Convert) TransformFunc {
	if err := c.Validate(); err != nil {
		return errorTransform(err)
	}
	to, format := target(c)
	return func(v any, _ *Budget) (any, error) {
		from, err := convertible(v)
		if err != nil {
			return nil, err
		}
		if from == to {
			return v, nil
		}
		f, ok := conversions[conversion{from, to, format}]
		if !ok {
			return nil, fmt.Errorf("conversion from %s to %s is not supported with format %s", from, to, format)
		}
		return f(v)
	}
}

// target returns the target type and the format of c. It replaces the alias
// ToInt by ToInt64.
func target(c *spec.Convert) (spec.ConvertType, spec.ConvertFormat) {
	to, format := c.ToType, spec.FormatNone
	if to == spec.ToInt {
		to = spec.ToInt64
	}
	if c.Format != nil {
		format = *c.Format
	}
	return to, format
}

// Converts reports whether c supports values of the type from. The conversion
// of a single value may still fail.
func Converts(from spec.ConvertType, c *spec.Convert) bool {
	to, format := target(c)
	_, ok := conversions[conversion{from, to, format}]
	return ok || from == to
}

func convertible(v any) (spec.ConvertType, error) {
	switch v.(type) {
	case string:
		return spec.ToString, nil
	case bool:
		return spec.ToBool, nil
	case int64:
		return spec.ToInt64, nil
	case float64:
		return spec.ToFloat64, nil
	default:
		return "", fmt.Errorf("invalid input type %s", typeName(v))
	}
}

var conversions = map[conversion]func(any) (any, error){
	{spec.ToString, spec.ToBool, spec.FormatNone}:    func(v any) (any, error) { return orNil(strconv.ParseBool(v.(string))) },
	{spec.ToString, spec.ToInt64, spec.FormatNone}:   func(v any) (any, error) { return orNil(strconv.ParseInt(v.(string), 10, 64)) },
	{spec.ToString, spec.ToFloat64, spec.FormatNone}: func(v any) (any, error) { return orNil(strconv.ParseFloat(v.(string), 64)) },

	{spec.ToBool, spec.ToString, spec.FormatNone}:  func(v any) (any, error) { return strconv.FormatBool(v.(bool)), nil },
	{spec.ToBool, spec.ToInt64, spec.FormatNone}:   func(v any) (any, error) { return oneIf(v.(bool)), nil },
	{spec.ToBool, spec.ToFloat64, spec.FormatNone}: func(v any) (any, error) { return float64(oneIf(v.(bool))), nil },

	{spec.ToInt64, spec.ToString, spec.FormatNone}:  func(v any) (any, error) { return strconv.FormatInt(v.(int64), 10), nil },
	{spec.ToInt64, spec.ToBool, spec.FormatNone}:    func(v any) (any, error) { return v.(int64) == 1, nil },
	{spec.ToInt64, spec.ToFloat64, spec.FormatNone}: func(v any) (any, error) { return float64(v.(int64)), nil },

	{spec.ToFloat64, spec.ToString, spec.FormatNone}: func(v any) (any, error) { return strconv.FormatFloat(v.(float64), 'f', -1, 64), nil },
	{spec.ToFloat64, spec.ToBool, spec.FormatNone}:   func(v any) (any, error) { return v.(float64) == 1, nil },
	{spec.ToFloat64, spec.ToInt64, spec.FormatNone}:  func(v any) (any, error) { return truncate(v.(float64)), nil },

	{spec.ToString, spec.ToFloat64, spec.FormatQuantity}: func(v any) (any, error) { return quantity(v.(string)) },
	{spec.ToString, spec.ToObject, spec.FormatJSON}:      func(v any) (any, error) { return fromJSON[map[string]any](v.(string)) },
	{spec.ToString, spec.ToArray, spec.FormatJSON}:       func(v any) (any, error) { return fromJSON[[]any](v.(string)) },
}

// orNil returns v and nil, or nil and err if err is not nil. The parsers of
// package strconv return a value even with an error.
func orNil[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// fromJSON decodes a JSON object or list, depending on T. It returns the nil of T for null,
// which later transforms format as an empty object or list, and which is written as null.
func fromJSON[T map[string]any | []any](text string) (any, error) {
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	return v, nil
}

const (
	// maxDigits limits the number of digits of a quantity.
	maxDigits = 1024
	// maxExponent is the largest exponent that package resource parses. A quantity with
	// maxDigits and this exponent is already infinite as a float64, or below 1n.
	maxExponent = 9999
)

func quantity(text string) (any, error) {
	text, err := shortExponent(text)
	if err != nil {
		return nil, err
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return nil, err
	}
	return q.AsApproximateFloat64(), nil
}

// shortExponent limits the exponent of a quantity to maxExponent, which does not change
// its value as a float64. Package resource would compute all digits of
// 0.0000000000000000001e2147483647. More than maxDigits are an error.
func shortExponent(text string) (string, error) {
	unsigned := strings.TrimLeft(text, "+-")
	suffix := strings.TrimLeft(unsigned, ".0123456789")
	if len(unsigned)-len(suffix) > maxDigits {
		return "", fmt.Errorf("the quantity %.40q is too long", text)
	}
	if !strings.HasPrefix(strings.ToLower(suffix), "e") {
		return text, nil
	}
	n, err := strconv.ParseInt(suffix[1:], 10, 64)
	if err != nil {
		return text, nil // not an exponent: package resource returns the error
	}
	exponent := min(max(int32(n), -maxExponent), maxExponent) // package resource truncates n, too
	return strings.TrimSuffix(text, suffix) + "e" + strconv.Itoa(int(exponent)), nil
}
