package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// logGrace is how long output is read on after a function has ended.
const logGrace = time.Second

// A watch sees a container end, and hears what it writes until then.
type watch struct {
	cancel context.CancelFunc
	done   chan struct{}
	// err says how it ended, once done is closed.
	err error
}

// follow watches the container until it ends or the watch is stopped.
func (c *container) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &watch{cancel: cancel, done: make(chan struct{})}
	c.watch = w
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		c.listen(ctx)
	}()
	go func() {
		defer close(w.done)
		err := c.wait(ctx)
		timer := time.NewTimer(logGrace)
		defer timer.Stop()
		select {
		case <-heard:
		case <-timer.C:
			cancel()
			<-heard
		}
		c.out.Flush()
		w.err = fmt.Errorf("%w%s", err, c.out.Quote())
	}()
}

// wait returns how the container ended, or that nobody can tell any more.
func (c *container) wait(ctx context.Context) error {
	end := c.engine.ContainerWait(ctx, c.id, client.ContainerWaitOptions{Condition: api.WaitConditionNotRunning})
	select {
	case result := <-end.Result:
		return fmt.Errorf("it ended by itself (exit code %d)", result.StatusCode)
	case err := <-end.Error:
		return c.engine.Explain(ctx, err)
	}
}

// listen reads what the container writes from now on. Engines keep that in ways
// that they cannot always read again, so there may be nothing to hear.
func (c *container) listen(ctx context.Context) {
	options := client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: true}
	if !c.started {
		options.Tail = "0"
	}
	logs, err := c.engine.ContainerLogs(ctx, c.id, options)
	if err != nil {
		return
	}
	defer logs.Close()
	if c.tty {
		_, _ = io.Copy(c.out, logs)
		return
	}
	_, _ = stdcopy.StdCopy(c.out, c.out, logs)
}

// ended says how the container ended. It is for when done is closed.
func (w *watch) ended() error { return w.err }

func (w *watch) stop() {
	w.cancel()
	<-w.done
}

// explain says why a function that was started did not come to answer because of
// err.
func (c *container) explain(ctx context.Context, err error) error {
	select {
	case <-c.watch.done:
		return c.mismatch(ctx, c.watch.ended())
	default:
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	return c.advise(c.out.Explain(ctx, err))
}
