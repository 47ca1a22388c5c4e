package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"
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
