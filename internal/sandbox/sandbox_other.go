//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// A Process is a running sandbox. This system has none.
type Process struct{}

// Start returns an error that is [errors.ErrUnsupported]: sandboxes are Linux's.
func Start(context.Context, Spec) (*Process, error) {
	return nil, unsupported()
}

// Confine returns an error that is [errors.ErrUnsupported], as Start does.
func Confine(context.Context, Spec) (*Process, error) {
	return nil, fmt.Errorf("confining a process on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func unsupported() error {
	return fmt.Errorf("starting a sandbox on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Probe returns the error that Start does.
func Probe() error { return unsupported() }

// Supervise tells that this process is no supervisor.
func Supervise([]string) (code int, is bool) { return 0, false }

// Report returns nothing.
func (*Process) Report() Report { return Report{} }

// Done returns a channel that blocks for ever.
func (*Process) Done() <-chan struct{} { return nil }

// Wait returns an error that is [errors.ErrUnsupported].
func (*Process) Wait() (int, error) { return 0, errors.ErrUnsupported }

// Signal returns an error that is [errors.ErrUnsupported].
func (*Process) Signal(os.Signal) error { return errors.ErrUnsupported }

// Stop does nothing.
func (*Process) Stop() error { return nil }

// MapsIDs tells that no ids are given to sandboxes.
func MapsIDs() bool { return false }

// Becomes tells that no confined function is another user.
func Becomes() bool { return false }
