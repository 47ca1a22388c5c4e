package validate_test

import (
	"fmt"
	"strings"
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
				if r.Status != want || !strings.Contains(fmt.Sprint(r.Faults), tc.Refused) {
					t.Errorf("%s: want %s and %q, got %s and %q", tc.Reason, want, tc.Refused, r.Status, r.Faults)
				}
			}
		})
	}
	if len(seen) < 33 {
		t.Errorf("%s has %d cases", path, len(seen))
	}
}
