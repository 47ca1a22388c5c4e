package hint_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/hint"
)

func TestOf(t *testing.T) {
	cause := errors.New("no such file")
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"None":      {"an error without a hint has none", cause, ""},
		"Nil":       {"no error, no hint", hint.Wrap(nil, "try x"), ""},
		"Direct":    {"a hint is found where it was put", hint.Wrap(cause, "try x"), "try x"},
		"Wrapped":   {"a hint survives wrapping", fmt.Errorf("reading %q: %w", "f", hint.Wrap(cause, "try x")), "try x"},
		"Outermost": {"the hint nearest to the user's view wins", hint.Wrap(hint.Wrap(cause, "inner"), "outer"), "outer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hint.Of(tc.err); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestWrapKeepsTextAndChain(t *testing.T) {
	cause := errors.New("no such file")
	err := hint.Wrap(cause, "try x")
	if err.Error() != cause.Error() {
		t.Errorf("text: got %q, want %q", err, cause)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}
