package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xfn-dev/xfn/internal/hint"
)

// closeTimeout bounds cleaning up, so that Ctrl-C always ends a command.
const closeTimeout = 10 * time.Second

// Close calls stop with a context that goes on for a while after ctx is done,
// and returns err joined by what stop returned.
func Close(ctx context.Context, stop func(context.Context) error, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if stopErr := stop(ctx); stopErr != nil {
		return errors.Join(err, stopErr)
	}
	return err
}

// Cause adds to err why ctx ended, if that is why err came about.
func Cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		return fmt.Errorf("%w; %w", err, cause)
	}
	return err
}

// WithTimeout returns a copy of ctx that ends after d with an error that says so.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, hint.Wrap(fmt.Errorf("timed out after %s", d), "raise the limit with --timeout"))
}
