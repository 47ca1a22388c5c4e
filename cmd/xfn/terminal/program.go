package terminal

import (
	"fmt"
	"time"

	"github.com/xfn-dev/xfn/internal/progress"
)

// A Program identifies this program.
type Program struct {
	// Name is the name by which it was called: xfn, or crossplane for a link.
	Name string
	// Version is the version of the build, such as "v0.1.0".
	Version string
	// Detail shows events for --verbose. It may be nil.
	Detail progress.Func
}

// UserAgent returns the name of the program for servers.
func (p Program) UserAgent() string { return "xfn/" + p.Version }

// A UsageError is a misuse of a command that its grammar cannot detect.
type UsageError struct{ Err error }

// Error returns the text of the cause.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Positive returns an error unless the duration of a flag is positive.
func Positive(flag string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s must be positive, got %s", flag, d)
	}
	return nil
}

// CheckMessageSize returns an error unless a --max-message-size in MiB is positive
// and below the 2 GiB of a gRPC message.
func CheckMessageSize(mib int) error {
	if mib <= 0 || mib >= 2048 {
		return fmt.Errorf("--max-message-size must be between 1 and 2047 MiB, got %d", mib)
	}
	return nil
}
