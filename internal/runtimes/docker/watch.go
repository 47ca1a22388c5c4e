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

// logGrace is how long the output of a function is read after the function has ended.
const logGrace = time.Second

// A watch waits for the end of a container and reads its output.
type watch struct {
	cancel context.CancelFunc
	done   chan struct{}
	// err says how the container ended. It is valid once done is closed.
	err error
}

// follow watches the container in the background, until the container ends or the watch
// is stopped.
func (c *container) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &watch{cancel: cancel, done: make(chan struct{})}
	c.watch = w
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		c.copyLogs(ctx)
	}()
	go func() {
		defer close(w.done)
		err := c.wait(ctx)
		select {
		case <-copied:
		case <-time.After(logGrace):
			cancel()
			<-copied
		}
		c.out.Flush()
		w.err = fmt.Errorf("%w%s", err, c.out.Quote())
	}()
}

// wait waits for the end of the container and returns how it ended, or the engine's error
// if the engine cannot tell.
func (c *container) wait(ctx context.Context) error {
	end := c.engine.ContainerWait(ctx, c.id, client.ContainerWaitOptions{Condition: api.WaitConditionNotRunning})
	select {
	case result := <-end.Result:
		return fmt.Errorf("the function ended unexpectedly (exit code %d)", result.StatusCode)
	case err := <-end.Error:
		return c.engine.Explain(ctx, err)
	}
}

// copyLogs copies the container's output to c.out. If the container was already running,
// it copies only new output. It ignores errors, because some log drivers of engines
// cannot read logs.
func (c *container) copyLogs(ctx context.Context) {
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

// ended returns how the container ended. It may be called only after done is closed.
func (w *watch) ended() error { return w.err }

func (w *watch) stop() {
	w.cancel()
	<-w.done
}

// explain returns why a function did not answer, given the error of the call. If the
// container has ended, that is the reason.
func (c *container) explain(ctx context.Context, err error) error {
	select {
	case <-c.watch.done:
		return c.explainPlatform(ctx, c.watch.ended())
	default:
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	return c.advise(c.out.Explain(ctx, err))
}
