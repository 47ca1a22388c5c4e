//go:build !linux

package functiontest

import "errors"

// ExecContained returns an error that is [errors.ErrUnsupported].
func ExecContained(string, []string, []string) error { return errors.ErrUnsupported }
