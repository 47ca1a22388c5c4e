package validate_test

import (
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// TestVerdicts validates the objects in verdicts.yaml, which has the verdict of an API
// server on each.
func TestVerdicts(t *testing.T) {
	const path = "../testdata/verdicts.yaml"
	text := []byte(e2e.ReadFile(t, path))
	docs := e2e.Must(manifest.Split(path, text))(t)
	v := validate.New(nil, validate.Options{})
	seen := map[string]bool{}
	for _, doc := range docs {
		var tc struct {
			Case, Reason, Refused string
			Object                map[string]any
		}
		e2e.NoError(t, doc.Decode(&tc))
		if tc.Case == "" || tc.Reason == "" || seen[tc.Case] {
			t.Errorf("%s: want a new case and a reason, got %q", doc.Position(), tc.Case)
		}
		seen[tc.Case] = true
		t.Run(tc.Case, func(t *testing.T) {
			want := validate.Invalid
			if tc.Refused == "" {
				want = validate.Valid
			}
			for _, r := range v.Objects(t.Context(), tc.Object) {
				e2e.Equal(t, tc.Reason, want, r.Status)
				e2e.Has(t, tc.Reason, fmt.Sprint(r.Faults), tc.Refused)
			}
		})
	}
	if len(seen) < 33 {
		t.Errorf("%s has %d cases", path, len(seen))
	}
}
