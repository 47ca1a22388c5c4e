package fsx_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
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
		"Path":    {"the path and the operation are removed", &fs.PathError{Op: "open", Path: "p", Err: other}, other},
		"Link":    {"the paths of a link are removed", &os.LinkError{Op: "rename", Old: "a", New: "b", Err: other}, other},
		"Wrapped": {"texts around the path are removed", fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "p", Err: other}), other},
		"Other":   {"another error is unchanged", other, other},
		"Nil":     {"nil is unchanged", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := fsx.Cause(tc.err); got != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if os.Symlink("loop", loop) == nil { // Windows may forbid links.
		_, err := filepath.EvalSymlinks(loop)
		e2e.Equal(t, "for a link to itself", "too many levels of symbolic links", fsx.Cause(err).Error())
	}
	if !errors.Is(fsx.Cause(absent), fs.ErrNotExist) {
		t.Error("the kind of the error is lost")
	}
}
