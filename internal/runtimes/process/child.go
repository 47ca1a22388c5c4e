package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

const (
	// termGrace is the time for a function to end before it is killed.
	termGrace = 2 * time.Second
	// killGrace is how long kill waits until the kernel has ended the process.
	killGrace = 5 * time.Second
	// pipeGrace is how long the output of a function is read after the function has ended.
	pipeGrace = 500 * time.Millisecond
)

// A child is a process that leads a process group.
type child struct {
	cmd   *exec.Cmd
	group *group
	out   *proc.Output
	done  chan struct{} // closed when the process group has ended and its output was read
}

// startChild starts a command, and sends its output to out.
//
// If the program file is busy (ETXTBSY), startChild tries again. The file is busy while a
// process that another goroutine has just forked still has it open for writing.
func startChild(ctx context.Context, command func() *exec.Cmd, out *proc.Output) (*child, error) {
	for delay := time.Millisecond; ; delay *= 2 {
		c := &child{cmd: command(), out: out, done: make(chan struct{})}
		c.cmd.Stdout, c.cmd.Stderr = out, out
		c.cmd.WaitDelay = pipeGrace
		c.cmd.SysProcAttr = groupAttributes()
		if err := c.start(); !errors.Is(err, syscall.ETXTBSY) || delay > time.Second {
			return c, err
		}
		if err := proc.Sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
}

func (c *child) start() error {
	start := func() error {
		err := c.cmd.Start()
		if err == nil {
			c.group, err = newGroup(c.cmd)
		}
		return err
	}
	return proc.StartOnThread(start, func() {
		c.group.wait(c.cmd)
		c.out.Flush()
		close(c.done)
	})
}

// stop asks the process to end, and kills its process group if it does not end within
// termGrace.
func (c *child) stop(ctx context.Context) error {
	c.group.terminate()
	if c.endsWithin(ctx, termGrace) {
		return nil
	}
	return c.kill(ctx)
}

func (c *child) kill(ctx context.Context) error {
	c.group.kill()
	if !c.endsWithin(context.WithoutCancel(ctx), killGrace) {
		return fmt.Errorf("process %d was killed but does not end", c.cmd.Process.Pid)
	}
	return nil
}

func (c *child) endsWithin(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// An endedError says that the process of a function ended before it was stopped.
type endedError struct {
	state *os.ProcessState
	out   *proc.Output
}

func (e endedError) Error() string {
	return fmt.Sprintf("%v (%s)%s", runtimes.ErrEnded, e.state, e.out.Quote())
}

func (endedError) Unwrap() error { return runtimes.ErrEnded }

// ended returns how the process ended. It may be called only after done is closed.
func (c *child) ended() error { return endedError{c.cmd.ProcessState, c.out} }

// explain returns why the process did not answer: because it has ended, or because of
// err. It kills the process if it still runs. The error contains the last lines that the
// process wrote.
func (c *child) explain(ctx context.Context, err error) error {
	select {
	case <-c.done:
		if ctx.Err() == nil {
			return c.ended()
		}
	default:
	}
	return errors.Join(c.out.Explain(ctx, err), c.kill(ctx))
}

// refusesNetworkFlag reports whether err says that a function ended because it does not
// know the flag --network. Every flag library repeats an unknown flag in its error message.
func refusesNetworkFlag(err error) bool {
	var ended endedError
	return errors.As(err, &ended) && !ended.state.Success() && ended.out.Contains("-network")
}
