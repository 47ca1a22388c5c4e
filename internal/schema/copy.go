package schema

import "slices"

// Copy returns a copy of obj, which must have the types of decoded JSON. The copy shares the
// lists of obj that contain only numbers, booleans and strings, which defaults, pruning and
// renders replace, but never change in place: such a list can be most of an object.
func Copy(obj map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	copied := make(map[string]any, len(obj))
	for key, v := range obj {
		copied[key] = copyValue(v)
	}
	return copied
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return Copy(v)
	case []any:
		for i, element := range v {
			switch element.(type) {
			case nil, map[string]any, []any:
				copied := slices.Clone(v)
				for ; i < len(v); i++ {
					copied[i] = copyValue(v[i])
				}
				return copied
			}
		}
	}
	return v
}
