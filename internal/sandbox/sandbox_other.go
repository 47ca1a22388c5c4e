//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// A Process is a running sandbox. This system has none.
type Process struct{}

// Start returns an error that wraps [errors.ErrUnsupported]: only Linux has sandboxes.
func Start(context.Context, Spec) (*Process, error) {
	return nil, unsupported()
}

// Confine returns an error that wraps [errors.ErrUnsupported].
func Confine(context.Context, Spec) (*Process, error) {
	return nil, fmt.Errorf("confining a process on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func unsupported() error {
	return fmt.Errorf("starting a sandbox on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Probe returns an error that wraps [errors.ErrUnsupported].
func Probe() error { return unsupported() }

// Supervise reports that this process is not a supervisor.
func Supervise([]string) (code int, is bool) { return 0, false }

// Report returns the zero Report.
func (*Process) Report() Report { return Report{} }

// Done returns a nil channel, which blocks forever.
func (*Process) Done() <-chan struct{} { return nil }

// Wait returns an error that wraps [errors.ErrUnsupported].
func (*Process) Wait() (int, error) { return 0, errors.ErrUnsupported }

// Stop does nothing.
func (*Process) Stop() error { return nil }

// MapsIDs reports false: sandboxes get no range of ids.
func MapsIDs() bool { return false }

// Becomes reports false: a confined function keeps the caller's user.
func Becomes() bool { return false }
