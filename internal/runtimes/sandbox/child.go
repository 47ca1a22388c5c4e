package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// pipeGrace is how long the output of a function is read after the function has ended.
const pipeGrace = 500 * time.Millisecond

// A child is a running function in a sandbox, or confined, and its output.
type child struct {
	process *sandbox.Process
	out     *proc.Output
	done    chan struct{} // closed when the sandbox has ended and the function's output was read
	cancel  context.CancelFunc
}

// A startFunc starts a function: sandbox.Start or sandbox.Confine.
type startFunc func(context.Context, sandbox.Spec) (*sandbox.Process, error)

// launch starts a function. The end of ctx stops the start, but not a function that runs.
func launch(ctx context.Context, start startFunc, spec sandbox.Spec, out *proc.Output) (*child, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("creating a pipe: %w", err)
	}
	spec.Stdout, spec.Stderr = write, write
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	// ctx cancels the context life only until start has returned.
	unhook := context.AfterFunc(ctx, cancel)
	process, err := start(life, spec)
	err = errors.Join(err, write.Close())
	if err != nil {
		cancel()
		return nil, errors.Join(err, read.Close())
	}
	unhook()
	c := &child{process: process, out: out, done: make(chan struct{}), cancel: cancel}
	go c.copyOutput(read)
	return c, nil
}

// copyOutput copies the function's output to c.out until the function has ended.
func (c *child) copyOutput(read *os.File) {
	defer close(c.done)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(c.out, read)
	}()
	<-c.process.Done()
	select {
	case <-copied:
	case <-time.After(pipeGrace):
	}
	_ = read.Close()
	<-copied
	c.out.Flush()
}

// ended waits for the end of the function, and returns how it ended.
func (c *child) ended() error {
	code, err := c.process.Wait()
	ended := fmt.Errorf("%w (exit code %d)%s", runtimes.ErrEnded, code, c.out.Quote())
	return errors.Join(hintMemory(ended, code, c.out, c.process.Report()), err)
}

// explain returns why a function did not answer, given the error of the call. If the
// function has ended, that is the reason.
func (c *child) explain(ctx context.Context, err error) error {
	select {
	case <-c.done:
		return c.ended()
	default:
		return c.out.Explain(ctx, err)
	}
}

// Close stops the function.
func (c *child) Close() error {
	err := c.process.Stop()
	c.cancel()
	<-c.done
	return err
}
