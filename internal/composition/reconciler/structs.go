package reconciler

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
)

// newStruct is like structpb.NewStruct, but equal scalars in a long list are one Value: a
// Value needs about 80 bytes, and a number in YAML as few as three. Functions must not change
// a Value of a request in place, because all steps get the same observed state.
func newStruct(obj map[string]any) (*structpb.Struct, error) {
	s := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(obj))}
	for key, v := range obj {
		if !utf8.ValidString(key) {
			return nil, fmt.Errorf("invalid UTF-8 in string: %q", key)
		}
		var err error
		if s.Fields[key], err = newValue(v); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newValue(v any) (*structpb.Value, error) {
	switch v := v.(type) {
	case map[string]any:
		s, err := newStruct(v)
		return structpb.NewStructValue(s), err
	case []any:
		l, err := newList(v)
		return structpb.NewListValue(l), err
	default:
		return structpb.NewValue(v)
	}
}

const (
	// longList is the length from which a list shares its scalars.
	longList = 1000
	// maxShared limits the number of different scalars that a list shares. A list of more has
	// longer texts.
	maxShared = 1000
)

func newList(list []any) (*structpb.ListValue, error) {
	l := &structpb.ListValue{Values: make([]*structpb.Value, len(list))}
	shared := map[any]*structpb.Value{}
	for i, v := range list {
		canShare := len(list) >= longList && isScalar(v)
		if canShare && i > 0 && isScalar(list[i-1]) && list[i-1] == v {
			l.Values[i] = l.Values[i-1]
			continue
		}
		if canShare && shared[v] != nil {
			l.Values[i] = shared[v]
			continue
		}
		var err error
		if l.Values[i], err = newValue(v); err != nil {
			return nil, err
		}
		if canShare && len(shared) < maxShared {
			shared[v] = l.Values[i]
		}
	}
	return l, nil
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, int64, float64, string:
		return true
	default:
		return false
	}
}
