package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/function/grpc"
)

// DefaultStartTimeout is the default limit from the start of a function to its
// first answer.
const DefaultStartTimeout = 30 * time.Second

// exitGrace is how long to wait for the end of a function after its connection
// broke.
const exitGrace = 2 * time.Second

// A Function is a function that runs on this machine.
type Function struct {
	Client *grpc.Client
	// Done is closed when the function has ended and its whole output was
	// read.
	Done <-chan struct{}
	// Ended returns how the function ended. Call it after Done is closed.
	Ended func() error
}

// Await waits until the function answers. It returns an error if the function
// ends, or after the timeout. Zero means DefaultStartTimeout.
func (f *Function) Await(ctx context.Context, timeout time.Duration) error {
	if timeout == 0 {
		timeout = DefaultStartTimeout
	}
	ctx, stop := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-f.Done:
			cancel(errors.New("it ended"))
		case <-ctx.Done():
		}
	}()
	return f.Client.WaitReady(ctx)
}

// RunFunction calls the function. If the function has ended, the error says
// how.
func (f *Function) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp, err := f.Client.RunFunction(ctx, name, req)
	if status.Code(err) != codes.Unavailable {
		return rsp, err
	}
	timer := time.NewTimer(exitGrace)
	defer timer.Stop()
	select {
	case <-f.Done:
		return nil, fmt.Errorf("calling function %q: %w", name, f.Ended())
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil, err
}

// Flag returns the argument that sets a flag of a function's command line, which
// that of function-sdk-go defines. Without a value it is that of a boolean flag.
func Flag(name, value string) string {
	if value == "" {
		return "--" + name
	}
	return "--" + name + "=" + value
}

// Insecure returns the argument that makes a function serve without TLS.
func Insecure() string { return Flag("insecure", "") }
