package runtimes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
)

// DefaultStartTimeout is the default limit from the start of a function to its
// first answer.
const DefaultStartTimeout = 30 * time.Second

// exitGrace is how long RunFunction waits for the end of a function after the connection
// to it broke.
const exitGrace = 2 * time.Second

// LocalOptions configure how a runtime starts functions on this machine.
type LocalOptions struct {
	// TempDir is the directory in which each function's private directory is created;
	// empty means the system's default. If its path is too long for a unix socket, /tmp
	// replaces it.
	TempDir string
	// StartTimeout limits the time from the start of a function to its first answer. The
	// time to pull, unpack and compile does not count. Zero means DefaultStartTimeout.
	StartTimeout time.Duration
	// MaxMessageSize is the largest answer in bytes. Zero means grpc.DefaultMaxMessageSize.
	MaxMessageSize int
	// Progress receives warnings, and an event before each long operation. It may be
	// nil, and must be safe for concurrent use.
	Progress progress.Func
	// Output receives each line that a function writes to stdout or stderr, without
	// control characters. It may be nil, and must be safe for concurrent use.
	Output func(function, line string)
}

// NewOutput returns a proc.Output for the output of the function with this name. It
// passes each line to o.Output.
func (o LocalOptions) NewOutput(function string) *proc.Output {
	out := &proc.Output{}
	if o.Output != nil {
		out.Each = func(line string) { o.Output(function, line) }
	}
	return out
}

// A LocalFunction is a function that was started on this machine.
type LocalFunction struct {
	Client *grpc.Client
	// Done is closed when the function has ended and its whole output was read.
	Done <-chan struct{}
	// Ended returns how the function ended. It may be called only after Done is closed.
	Ended func() error
}

// Await waits until the function answers. It returns an error if the function ends, or
// after the timeout. A zero timeout means DefaultStartTimeout.
func (f *LocalFunction) Await(ctx context.Context, timeout time.Duration) error {
	timeout = cmp.Or(timeout, DefaultStartTimeout)
	ctx, stop := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-f.Done:
			cancel(errors.New("the function ended"))
		case <-ctx.Done():
		}
	}()
	return f.Client.WaitReady(ctx)
}

// RunFunction calls the function. If the function has ended, the error says how it ended.
func (f *LocalFunction) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp, err := f.Client.RunFunction(ctx, name, req)
	if status.Code(err) != codes.Unavailable {
		return rsp, err
	}
	select {
	case <-f.Done:
		return nil, fmt.Errorf("calling function %q: %w", name, f.Ended())
	case <-ctx.Done():
	case <-time.After(exitGrace):
	}
	return nil, err
}

// Argument returns the command-line argument --name=value for a function, or --name if the
// value is empty.
func Argument(name, value string) string {
	if value == "" {
		return "--" + name
	}
	return "--" + name + "=" + value
}

// InsecureArgument returns the argument that makes a function serve without TLS.
func InsecureArgument() string { return Argument("insecure", "") }
