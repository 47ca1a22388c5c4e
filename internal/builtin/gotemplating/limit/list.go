package limit

import "slices"

// pushing returns a function of sprig that adds v to a copy of a list, without
// room for more: a list that grows one by one is copied as often as it grows.
func pushing(push func(list, v any) []any) func(list, v any) []any {
	return func(list, v any) []any {
		if l, ok := list.([]any); ok {
			return pushed(l, v)
		}
		return slices.Clone(push(list, v))
	}
}

// mustPushing is pushing for functions that may fail.
func mustPushing(push func(list, v any) ([]any, error)) func(list, v any) ([]any, error) {
	return func(list, v any) ([]any, error) {
		if l, ok := list.([]any); ok {
			return pushed(l, v), nil
		}
		longer, err := push(list, v)
		return slices.Clone(longer), err
	}
}

func pushed(list []any, v any) []any {
	longer := make([]any, len(list)+1)
	longer[copy(longer, list)] = v
	return longer
}
