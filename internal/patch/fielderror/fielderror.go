package fielderror

import (
	"fmt"
	"strings"
)

// An Error says what is wrong with a field.
type Error struct {
	path, detail string
}

// Error returns "path: detail".
func (e *Error) Error() string { return e.path + ": " + e.detail }

// Split returns the path of an Error, and what it says of the field for people.
// Other errors have no path.
func Split(err error) (path, text string) {
	e, ok := err.(*Error)
	if !ok {
		return "", err.Error()
	}
	return e.path, strings.TrimPrefix(e.detail, required)
}

const required = "Required value: "

// Required returns an Error for a field that is not there.
func Required(path, text string) error {
	return &Error{path, required + text}
}

// Invalid returns an Error for a field that has a value which it cannot have.
func Invalid[T ~string](path string, value T, text string) error {
	return &Error{path, fmt.Sprintf("Invalid value: %q: %s", string(value), text)}
}

// Under puts a path before that of an Error. Other errors, and nil, stay as they
// are.
func Under(path string, err error) error {
	if e, ok := err.(*Error); ok {
		return &Error{path + "." + e.path, e.detail}
	}
	return err
}

// First calls check for each of n elements of the list at path until one fails,
// and returns that error under the element's path.
func First(path string, n int, check func(i int) error) error {
	for i := range n {
		if err := check(i); err != nil {
			return Under(fmt.Sprintf("%s[%d]", path, i), err)
		}
	}
	return nil
}
