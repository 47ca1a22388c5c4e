package schema_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		obj    map[string]any
		shared bool
	}{
		"Scalars": {"a list of scalars is shared", map[string]any{"l": []any{int64(1), "a", true, 0.5}}, true},
		"Null":    {"a list with a null is copied, because a default may replace the null", map[string]any{"l": []any{int64(1), nil}}, false},
		"Objects": {"a list with an object is copied", map[string]any{"l": []any{"a", map[string]any{"b": []any{map[string]any{}}}}}, false},
		"Lists":   {"a list with a list is copied", map[string]any{"l": []any{[]any{nil}}}, false},
		"Empty":   {"an empty list has nothing to share", map[string]any{"l": []any{}, "m": map[string]any{}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := schema.Copy(tc.obj)
			e2e.Equal(t, tc.reason, tc.obj, got)
			from, to := tc.obj["l"].([]any), got["l"].([]any)
			if len(from) > 0 && (&from[0] == &to[0]) != tc.shared {
				t.Errorf("%s: got %v, want %v", tc.reason, !tc.shared, tc.shared)
			}
			got["new"] = true
			if tc.obj["new"] != nil {
				t.Errorf("%s: the copy shares its fields", tc.reason)
			}
		})
	}
	if schema.Copy(nil) != nil {
		t.Error("the copy of nil is not nil")
	}
}
