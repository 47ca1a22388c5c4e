package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// An Error says what is wrong with a field.
type FieldError struct {
	path, detail string
}

// FieldError returns "path: detail".
func (e *FieldError) Error() string { return e.path + ": " + e.detail }

// SplitError returns the path of an Error, and what it says of the field for people.
// Other errors have no path.
func SplitError(err error) (path, text string) {
	e, ok := err.(*FieldError)
	if !ok {
		return "", err.Error()
	}
	return e.path, strings.TrimPrefix(e.detail, required)
}

const required = "Required value: "

// Required returns an Error for a field that is not there.
func Required(path, text string) error {
	return &FieldError{path, required + text}
}

// Invalid returns an Error for a field that has a value which it cannot have.
func Invalid[T ~string](path string, value T, text string) error {
	return &FieldError{path, fmt.Sprintf("Invalid value: %q: %s", string(value), text)}
}

// UnderPath puts a path before that of an Error. Other errors, and nil, stay as they
// are.
func UnderPath(path string, err error) error {
	if e, ok := err.(*FieldError); ok {
		return &FieldError{path + "." + e.path, e.detail}
	}
	return err
}

// FirstError calls check for each of n elements of the list at path until one fails,
// and returns that error under the element's path.
func FirstError(path string, n int, check func(i int) error) error {
	for i := range n {
		if err := check(i); err != nil {
			return UnderPath(fmt.Sprintf("%s[%d]", path, i), err)
		}
	}
	return nil
}

// SplitTypeError returns the field that cannot hold a value, without the indexes
// of lists, and what the value is: "array" or "number 1.5". It reports false for
// errors other than *json.UnmarshalTypeError.
func SplitTypeError(err error) (field, value string, ok bool) {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return "", "", false
	}
	// The names of embedded Go structs are among those of fields.
	names := slices.DeleteFunc(strings.Split(t.Field, "."), func(p string) bool { return p != "" && unicode.IsUpper(rune(p[0])) })
	return strings.Join(names, "."), t.Value, true
}
