package sdk

import (
	"fmt"
	"maps"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// Struct converts obj to a message. Values have the types nil, bool, int64,
// float64, string, []any and map[string]any. Invalid UTF-8 and invalid numbers
// have the result and the error of encoding/json.
func Struct(obj map[string]any) (*structpb.Struct, error) {
	fields := make(map[string]*structpb.Value, len(obj))
	for k, v := range obj {
		value, err := toValue(v)
		if err != nil {
			return nil, err
		}
		fields[fieldpath.ValidUTF8(k)] = value
	}
	return &structpb.Struct{Fields: fields}, nil
}

// With returns a copy of s with more fields. It shares the values.
func With(s *structpb.Struct, more map[string]*structpb.Value) *structpb.Struct {
	fields := make(map[string]*structpb.Value, len(s.GetFields())+len(more))
	maps.Copy(fields, s.GetFields())
	maps.Copy(fields, more)
	return &structpb.Struct{Fields: fields}
}

func toValue(v any) (*structpb.Value, error) {
	switch v := v.(type) {
	case nil:
		return structpb.NewNullValue(), nil
	case bool:
		return structpb.NewBoolValue(v), nil
	case int64:
		return structpb.NewNumberValue(float64(v)), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("json: unsupported value: %v", v)
		}
		return structpb.NewNumberValue(v), nil
	case string:
		return structpb.NewStringValue(fieldpath.ValidUTF8(v)), nil
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(v))}
		for i, element := range v {
			var err error
			if list.Values[i], err = toValue(element); err != nil {
				return nil, err
			}
		}
		return structpb.NewListValue(list), nil
	case map[string]any:
		s, err := Struct(v)
		return structpb.NewStructValue(s), err
	default:
		return nil, fmt.Errorf("json: unsupported type: %T", v)
	}
}
