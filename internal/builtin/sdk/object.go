package sdk

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// Struct converts obj to a message. Values have the types nil, bool, int64,
// float64, string, []any and map[string]any. Invalid UTF-8 becomes U+FFFD, as
// in encoding/json. A number that JSON cannot represent is an error with
// encoding/json's text.
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
		return listValue(v)
	case map[string]any:
		s, err := Struct(v)
		return structpb.NewStructValue(s), err
	default:
		return nil, fmt.Errorf("json: unsupported type: %T", v)
	}
}

func listValue(list []any) (*structpb.Value, error) {
	values := make([]*structpb.Value, len(list))
	for i, v := range list {
		value, err := toValue(v)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return structpb.NewListValue(&structpb.ListValue{Values: values}), nil
}
