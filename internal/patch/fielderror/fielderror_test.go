package fielderror_test

import (
	"errors"
	"testing"

	"github.com/xfn-dev/xfn/internal/patch/fielderror"
)

func TestErrors(t *testing.T) {
	second := fielderror.First("list", 3, func(i int) error {
		if i == 0 {
			return nil
		}
		return fielderror.Invalid("type", "x", "unknown type")
	})
	if want := `list[1].type: Invalid value: "x": unknown type`; second == nil || second.Error() != want {
		t.Errorf("got %v, want %s", second, want)
	}
	if got, want := fielderror.Under("spec", second), `spec.list[1].type: Invalid value: "x": unknown type`; got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if got, want := fielderror.Required("name", "name is required").Error(), "name: Required value: name is required"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if path, text := fielderror.Split(second); path != "list[1].type" || text != `Invalid value: "x": unknown type` {
		t.Errorf("split into %q and %q", path, text)
	}
	if path, text := fielderror.Split(fielderror.Required("name", "name is required")); path != "name" || text != "name is required" {
		t.Errorf("split into %q and %q", path, text)
	}
	if path, text := fielderror.Split(errors.New("another")); path != "" || text != "another" {
		t.Errorf("split into %q and %q", path, text)
	}
	other := errors.New("another")
	if got := fielderror.Under("spec", other); !errors.Is(got, other) || got.Error() != "another" {
		t.Errorf("an error that is not about a field became %v", got)
	}
	if err := fielderror.Under("spec", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
