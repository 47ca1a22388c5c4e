package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// Cause returns what went wrong, without the operation, the paths and whatever
// was wrapped around them, for callers that name the path themselves. An error
// that has no path is returned as it is.
func Cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
