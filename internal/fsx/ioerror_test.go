package fsx_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/xfn-dev/xfn/internal/fsx"
)

func TestCause(t *testing.T) {
	_, absent := os.Open("absent")
	other := errors.New("other")
	cases := map[string]struct {
		reason string
		err    error
		want   error
	}{
		"Path":    {"the path and the operation go", &fs.PathError{Op: "open", Path: "p", Err: other}, other},
		"Link":    {"those of a link go, too", &os.LinkError{Op: "rename", Old: "a", New: "b", Err: other}, other},
		"Wrapped": {"so does what is around them", fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "p", Err: other}), other},
		"Other":   {"another error stays", other, other},
		"Nil":     {"no error stays none", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fsx.Cause(tc.err); got != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
	if !errors.Is(fsx.Cause(absent), fs.ErrNotExist) {
		t.Error("what kind of error it was is lost")
	}
}
