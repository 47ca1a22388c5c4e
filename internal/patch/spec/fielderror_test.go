package spec_test

import (
	"errors"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

func TestErrors(t *testing.T) {
	second := spec.FirstError("list", 3, func(i int) error {
		if i == 0 {
			return nil
		}
		return spec.Invalid("type", "x", "unknown type")
	})
	if want := `list[1].type: Invalid value: "x": unknown type`; second == nil || second.Error() != want {
		t.Errorf("got %v, want %s", second, want)
	}
	if got, want := spec.UnderPath("spec", second), `spec.list[1].type: Invalid value: "x": unknown type`; got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if got, want := spec.Required("name", "name is required").Error(), "name: Required value: name is required"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if path, text := spec.SplitError(second); path != "list[1].type" || text != `Invalid value: "x": unknown type` {
		t.Errorf("split into %q and %q", path, text)
	}
	if path, text := spec.SplitError(spec.Required("name", "name is required")); path != "name" || text != "name is required" {
		t.Errorf("split into %q and %q", path, text)
	}
	if path, text := spec.SplitError(errors.New("another")); path != "" || text != "another" {
		t.Errorf("split into %q and %q", path, text)
	}
	other := errors.New("another")
	if got := spec.UnderPath("spec", other); !errors.Is(got, other) || got.Error() != "another" {
		t.Errorf("UnderPath changed an error without a path to %v", got)
	}
	e2e.WantError(t, "UnderPath changed nil to", spec.UnderPath("spec", nil), "")
}
