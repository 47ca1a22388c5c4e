//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// A Process is a running sandbox. Only Linux has sandboxes.
type Process struct{}

// Start returns an error that wraps [errors.ErrUnsupported]: only Linux has sandboxes.
func Start(context.Context, Spec) (*Process, error) {
	return nil, unsupported()
}

// Confine returns an error that wraps [errors.ErrUnsupported]: only Linux can confine a
// process.
func Confine(context.Context, Spec) (*Process, error) {
	return nil, fmt.Errorf("confining a process on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func unsupported() error {
	return fmt.Errorf("starting a sandbox on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Probe returns an error that wraps [errors.ErrUnsupported]: only Linux has sandboxes.
func Probe() error { return unsupported() }

// Supervise returns false: on this system no process is a supervisor.
func Supervise([]string) (code int, is bool) { return 0, false }

// Report returns the zero Report.
func (*Process) Report() Report { return Report{} }

// Done returns a nil channel, which blocks forever.
func (*Process) Done() <-chan struct{} { return nil }

// Wait returns an error that wraps [errors.ErrUnsupported]: only Linux has sandboxes.
func (*Process) Wait() (int, error) { return 0, errors.ErrUnsupported }

// Stop does nothing.
func (*Process) Stop() error { return nil }

// MapsIDs returns false: only Linux has sandboxes.
func MapsIDs() bool { return false }

// Becomes returns false: only Linux can confine a process.
func Becomes() bool { return false }
