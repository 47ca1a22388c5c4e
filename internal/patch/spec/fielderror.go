package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SplitError returns the path of an error of this package, and what is wrong with
// the field. Other errors have no path.
func SplitError(err error) (path, text string) {
	e, ok := err.(*field.Error)
	if !ok {
		return "", err.Error()
	}
	return e.Field, strings.TrimPrefix(e.ErrorBody(), field.ErrorTypeRequired.String()+": ")
}

// Required returns the API server's error for a missing field.
func Required(path, text string) error { return field.Required(field.NewPath(path), text) }

// requireIf is Required if missing is true, else nil.
func requireIf(missing bool, path, text string) error {
	if !missing {
		return nil
	}
	return Required(path, text)
}

// Invalid returns the API server's error for a value that a field cannot have.
func Invalid[T ~string](path string, value T, text string) error {
	return field.Invalid(field.NewPath(path), string(value), text)
}

// UnderPath puts a path before that of an error of this package. It returns other
// errors, and nil, unchanged.
func UnderPath(path string, err error) error {
	e, ok := err.(*field.Error)
	if !ok {
		return err
	}
	under := *e
	under.Field = path + "." + e.Field
	return &under
}

// FirstError returns the first error of check for the n elements of the list at
// path, under the element's path.
func FirstError(path string, n int, check func(i int) error) error {
	for i := range n {
		if err := check(i); err != nil {
			return UnderPath(fmt.Sprintf("%s[%d]", path, i), err)
		}
	}
	return nil
}

// SplitTypeError returns the field of a *json.UnmarshalTypeError, without the
// indexes of lists, and the JSON value that has the wrong type: "array" or
// "number 1.5".
func SplitTypeError(err error) (path, value string, ok bool) {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return "", "", false
	}
	// The path also has the names of embedded Go structs, which are not
	// fields.
	names := slices.DeleteFunc(strings.Split(t.Field, "."), func(p string) bool { return p != "" && unicode.IsUpper(rune(p[0])) })
	return strings.Join(names, "."), t.Value, true
}
