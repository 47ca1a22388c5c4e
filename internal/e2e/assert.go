package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// NoError stops the test unless err is nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must returns a function that returns value, and stops the test unless err is nil. The call
// for a function f is e2e.Must(f())(t).
func Must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// Err returns the error of a function with two results, as in e2e.Err(f()).
func Err[T any](_ T, err error) error { return err }

// Object returns the object in a YAML text.
func Object(t testing.TB, text string) map[string]any {
	t.Helper()
	return Must(manifest.Document{Path: "object.yaml", Line: 1, Text: []byte(text)}.Object())(t)
}

// Equal fails the test unless got equals want, by the rules of cmp.Diff. The message begins with
// reason.
func Equal(t testing.TB, reason string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

// ErrorHas fails the test unless err is an error whose text has want. The message begins with
// reason.
func ErrorHas(t testing.TB, reason string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got error %v, want %q in it", reason, err, want)
	}
}

// WantError is ErrorHas for a want that is not empty. Without a want it fails the test unless err
// is nil.
func WantError(t testing.TB, reason string, err error, want string) {
	t.Helper()
	switch {
	case want != "":
		ErrorHas(t, reason, err, want)
	case err != nil:
		t.Errorf("%s: %v", reason, err)
	}
}

// ErrorIs fails the test unless err is target, by the rules of errors.Is. The message begins with
// reason.
func ErrorIs(t testing.TB, reason string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got error %v, want %v", reason, err, target)
	}
}

// Has fails the test unless text has want. The message begins with reason.
func Has(t testing.TB, reason, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%s: want %q in\n%s", reason, want, text)
	}
}
