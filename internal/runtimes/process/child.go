package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

const (
	// termGrace is how long a function may take to end after the request
	// to.
	termGrace = 2 * time.Second
	// killGrace is how long the kernel may take to end a killed process.
	killGrace = 5 * time.Second
	// pipeGrace is how long output is read after a function has ended.
	pipeGrace = 500 * time.Millisecond
)

// A child is a process that leads a process group.
type child struct {
	cmd   *exec.Cmd
	group *group
	out   *local.Output
	done  chan struct{} // closed when the group has ended and the output was read
}

// startChild starts prog as a function that listens at addr, and sends its
// output to out.
//
// It retries "text file busy": a process that another goroutine just forked has
// the new program open until it executes its own.
func startChild(ctx context.Context, prog program, addr address, out *local.Output) (*child, error) {
	for delay := time.Millisecond; ; delay *= 2 {
		c := &child{cmd: prog.command(addr), out: out, done: make(chan struct{})}
		c.cmd.Stdout, c.cmd.Stderr = out, out
		c.cmd.WaitDelay = pipeGrace
		c.cmd.SysProcAttr = groupAttributes()
		started := make(chan error)
		go c.startAndWait(started)
		err := <-started
		if !errors.Is(err, syscall.ETXTBSY) || delay > time.Second {
			return c, err
		}
		if err := proc.Sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
}

// startAndWait starts the process and waits for its end. It stays on one
// thread, because Linux kills the process when the thread that started it ends.
func (c *child) startAndWait(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	if err == nil {
		c.group, err = newGroup(c.cmd)
	}
	started <- err
	if err != nil {
		return
	}
	c.group.wait(c.cmd)
	c.out.Flush()
	close(c.done)
}

// stop asks the process to end, and kills its group if it does not end in time.
func (c *child) stop(ctx context.Context) error {
	c.group.terminate()
	timer := time.NewTimer(termGrace)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return c.kill()
}

func (c *child) kill() error {
	c.group.kill()
	timer := time.NewTimer(killGrace)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process %d was killed but does not end", c.cmd.Process.Pid)
	}
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// An endedError says that a process ended too early.
type endedError struct {
	state *os.ProcessState
	out   *local.Output
}

func (e endedError) Error() string {
	return fmt.Sprintf("it ended by itself (%s)%s", e.state, e.out.Quote())
}

// explain kills a process that did not answer because of err, and returns the
// cause with its last output.
func (c *child) explain(ctx context.Context, err error) error {
	ended := c.ended()
	killErr := c.kill()
	if ended && ctx.Err() == nil {
		return endedError{c.cmd.ProcessState, c.out}
	}
	return errors.Join(c.out.Explain(ctx, err), killErr)
}

// refusesNetworkFlag reports whether a function ended because it does not know
// the flag --network. The error message of every flag library contains the
// flag.
func refusesNetworkFlag(err error) bool {
	var ended endedError
	return errors.As(err, &ended) && !ended.state.Success() && ended.out.Contains("-network")
}

// An instance is a running function.
type instance struct {
	*local.Function
	child *child
}

func (s *instance) stop(ctx context.Context) error {
	return errors.Join(s.Client.Close(), s.child.stop(ctx))
}
