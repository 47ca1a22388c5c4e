package reconciler_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestRecordedConditions decodes conditions that a function returned, and encodes them with
// their times.
func TestRecordedConditions(t *testing.T) {
	t.Parallel()
	entry := func(kind string, since any) map[string]any {
		return map[string]any{"type": kind, "status": "True", "reason": "R", "lastTransitionTime": since}
	}
	empty := map[string]any{"type": "", "status": "", "reason": "", "lastTransitionTime": nil}
	cases := map[string]struct {
		reason     string
		conditions any
		want       []any
	}{
		"Time":      {"a condition keeps its time, in UTC", []any{entry("A", "2025-01-02T03:04:05+01:00")}, []any{entry("A", "2025-01-02T02:04:05Z")}},
		"NoTime":    {"a condition without a time has a null", []any{entry("A", nil)}, []any{entry("A", nil)}},
		"Malformed": {"a condition with a malformed time is empty, and those after it are ignored", []any{entry("A", nil), entry("B", "today"), entry("C", nil)}, []any{entry("A", nil), empty}},
		"Empty":     {"an empty time is malformed", []any{entry("A", ""), entry("B", nil)}, []any{empty}},
		"Number":    {"a time that is not a string is malformed", []any{entry("A", int64(5)), entry("B", nil)}, []any{empty}},
		"Fraction":  {"an observed generation with a fraction is ignored", []any{map[string]any{"type": "A", "status": "True", "reason": "R", "observedGeneration": 1.5}}, []any{entry("A", nil)}},
		"Entry":     {"an entry of another type is an empty condition, and does not hide those after it", []any{"oops", entry("A", nil)}, []any{empty, entry("A", nil)}},
		"List":      {"another value than a list has no conditions", "oops", []any{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e2e.Equal(t, tc.reason, tc.want, reconciler.ParseConditions(tc.conditions).Recorded())
		})
	}
}
