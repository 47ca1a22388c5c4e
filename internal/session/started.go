package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// started is a function that was started once. When done is closed, the
// function runs or has failed to start.
type started struct {
	choice choice
	// inProcess is the builtin of choice, if it has one. It is set before done is closed.
	inProcess function.Runner
	// waiting is the number of renders that wait for the function to start. If it
	// becomes zero before done is closed, cancel ends the start.
	waiting int
	cancel  context.CancelCauseFunc

	// built is closed when a function from source was built.
	built chan struct{}

	done     chan struct{}
	instance *runtimes.Instance
	// inputs decodes the CRDs of instance once.
	inputs func() composition.Inputs
	err    error
	ended  sync.Once
}

func (e *started) isDone() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// stop stops a function. If the function is still starting when ctx is done,
// stop returns, and the function is stopped later.
func (e *started) stop(ctx context.Context) error {
	e.cancel(errors.New("the session is closed"))
	select {
	case <-e.done:
		return e.end(ctx)
	case <-ctx.Done():
		go func() {
			<-e.done
			_ = e.end(context.WithoutCancel(ctx))
		}()
		return fmt.Errorf("stopping function %q: %w", e.choice.fn.Name, context.Cause(ctx))
	}
}

func (e *started) end(ctx context.Context) (err error) {
	if e.err != nil {
		return nil
	}
	e.ended.Do(func() { err = e.instance.Stop(ctx) })
	if err != nil {
		return fmt.Errorf("stopping function %q: %w", e.choice.fn.Name, err)
	}
	return nil
}
