package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xfn-dev/xfn/internal/hint"
)

// closeTimeout limits cleaning up, so that Ctrl-C always ends a command.
const closeTimeout = 10 * time.Second

// Close calls stop with a context that ends closeTimeout from now, even if ctx is
// done, and joins its error to err.
func Close(ctx context.Context, stop func(context.Context) error, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if stopErr := stop(ctx); stopErr != nil {
		return errors.Join(err, stopErr)
	}
	return err
}

// Cause adds the cause of ctx to err if the end of ctx caused err.
func Cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		return fmt.Errorf("%w; %w", err, cause)
	}
	return err
}

// WithTimeout returns a copy of ctx that ends after d. Its cause names --timeout.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, hint.Wrap(fmt.Errorf("timed out after %s", d), "raise the limit with --timeout"))
}
