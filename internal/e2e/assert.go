package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/xfn-dev/xfn/internal/hint"
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

// Open is Must for a value that the end of the test closes, unless the test did.
func Open[T io.Closer](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		t.Cleanup(func() {
			if err := value.Close(); !errors.Is(err, os.ErrClosed) && !errors.Is(err, net.ErrClosed) {
				NoError(t, err)
			}
		})
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

// ErrorHas fails the test unless err is an error whose text has want and more. The message begins with
// reason.
func ErrorHas(t testing.TB, reason string, err error, want string, more ...string) {
	t.Helper()
	for _, want := range append([]string{want}, more...) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", reason, err, want)
		}
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

// Error fails the test unless err is an error. The message begins with reason.
func Error(t testing.TB, reason string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got no error", reason)
	}
}

// ErrorHint is ErrorHas for an error whose hint has next.
func ErrorHint(t testing.TB, reason string, err error, want, next string) {
	t.Helper()
	ErrorHas(t, reason, err, want)
	Has(t, reason, string(hint.Of(err)), next)
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

// CheckSARIF returns an error unless report is valid SARIF 2.1.0. root is the path of the
// root of this repository.
//
// sarif-schema-2.1.0.json is the schema of the OASIS Standard with Approved Errata 01,
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json,
// copyright OASIS Open, which may be part of implementations. The text is a copy from the Go
// module github.com/owenrumney/go-sarif/v3 v3.3.1.
func CheckSARIF(root string, report []byte) error {
	text, err := os.ReadFile(root + "/internal/report/testdata/sarif-schema-2.1.0.json")
	if err != nil {
		return err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("reading the schema of SARIF: %w", err)
	}
	// The library knows draft 7 and not draft 4, which has "id" instead of "$id". The schema uses
	// only keywords that both drafts define alike.
	s.Schema = "http://json-schema.org/draft-07/schema#"
	schema, err := s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("reading the schema of SARIF: %w", err)
	}
	var log any
	if err := json.Unmarshal(report, &log); err != nil {
		return err
	}
	return schema.Validate(log)
}
