//go:build !linux

package sandboxtest

import "errors"

// Exec returns an error that is [errors.ErrUnsupported].
func Exec(string, []string, []string) error { return errors.ErrUnsupported }
