package fsx

import (
	"errors"
	"io/fs"
	"os"
)

// Cause returns the innermost error without the operation and the paths, for
// callers that name the path themselves. It returns an error without a path
// unchanged.
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
