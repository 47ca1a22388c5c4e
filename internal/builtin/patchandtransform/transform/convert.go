package transform

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform/input"
)

// A conversion is from a type to another, by a format.
type conversion struct {
	from, to input.ConvertType
	format   input.ConvertFormat
}

func converter(c *input.Convert) Func {
	if err := c.Validate(); err != nil {
		return fails(err)
	}
	to, format := c.ToType, input.FormatNone
	if to == input.ToInt {
		to = input.ToInt64
	}
	if c.Format != nil {
		format = *c.Format
	}
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

func convertible(v any) (input.ConvertType, error) {
	switch v.(type) {
	case string:
		return input.ToString, nil
	case bool:
		return input.ToBool, nil
	case int64:
		return input.ToInt64, nil
	case float64:
		return input.ToFloat64, nil
	default:
		return "", fmt.Errorf("invalid input type %s", typeName(v))
	}
}

var conversions = map[conversion]func(any) (any, error){
	{input.ToString, input.ToBool, input.FormatNone}:    func(v any) (any, error) { return orNil(strconv.ParseBool(v.(string))) },
	{input.ToString, input.ToInt64, input.FormatNone}:   func(v any) (any, error) { return orNil(strconv.ParseInt(v.(string), 10, 64)) },
	{input.ToString, input.ToFloat64, input.FormatNone}: func(v any) (any, error) { return orNil(strconv.ParseFloat(v.(string), 64)) },

	{input.ToBool, input.ToString, input.FormatNone}:  func(v any) (any, error) { return strconv.FormatBool(v.(bool)), nil },
	{input.ToBool, input.ToInt64, input.FormatNone}:   func(v any) (any, error) { return oneIf(v.(bool)), nil },
	{input.ToBool, input.ToFloat64, input.FormatNone}: func(v any) (any, error) { return float64(oneIf(v.(bool))), nil },

	{input.ToInt64, input.ToString, input.FormatNone}:  func(v any) (any, error) { return strconv.FormatInt(v.(int64), 10), nil },
	{input.ToInt64, input.ToBool, input.FormatNone}:    func(v any) (any, error) { return v.(int64) == 1, nil },
	{input.ToInt64, input.ToFloat64, input.FormatNone}: func(v any) (any, error) { return float64(v.(int64)), nil },

	{input.ToFloat64, input.ToString, input.FormatNone}: func(v any) (any, error) { return strconv.FormatFloat(v.(float64), 'f', -1, 64), nil },
	{input.ToFloat64, input.ToBool, input.FormatNone}:   func(v any) (any, error) { return v.(float64) == 1, nil },
	{input.ToFloat64, input.ToInt64, input.FormatNone}:  func(v any) (any, error) { return truncate(v.(float64)), nil },

	{input.ToString, input.ToFloat64, input.FormatQuantity}: func(v any) (any, error) { return quantity(v.(string)) },
	{input.ToString, input.ToObject, input.FormatJSON}:      func(v any) (any, error) { return fromJSON[map[string]any](v.(string)) },
	{input.ToString, input.ToArray, input.FormatJSON}:       func(v any) (any, error) { return fromJSON[[]any](v.(string)) },
}

// orNil makes nothing of a value that came with an error.
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

// fromJSON decodes JSON of one type, or null.
func fromJSON[T map[string]any | []any](text string) (any, error) {
	var v *T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	return *v, nil
}

// The library computes a quantity to all its digits, so that 1e2147483647 would
// take all memory there is.
const (
	longestQuantity = 1024
	longestExponent = 4
)

func quantity(text string) (any, error) {
	if i := strings.LastIndexAny(text, "eE"); len(text) > longestQuantity || i >= 0 && len(strings.TrimLeft(text[i+1:], "+-0")) > longestExponent {
		return nil, fmt.Errorf("the quantity %.40q is too long", text)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return nil, err
	}
	return q.AsApproximateFloat64(), nil
}
