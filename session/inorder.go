package session

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// ahead is how many results may wait for an earlier one, for each processor:
// enough that a slow one keeps nobody waiting, and few enough that memory does
// not grow with the number of items.
const ahead = 8

// inOrder calls work for each item, several at a time, and each with the
// results in the order of the items, one at a time. It ends at the first error
// of each, or when ctx is done.
func inOrder[T, R any](ctx context.Context, items []T, work func(context.Context, int, T) R, each func(R) error) error {
	processors := runtime.GOMAXPROCS(0)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting := make(chan chan R, processors*ahead)
	var g errgroup.Group
	g.SetLimit(processors + 1)
	g.Go(func() error {
		defer close(waiting)
		for i, item := range items {
			result := make(chan R, 1)
			select {
			case waiting <- result:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			g.Go(func() error {
				result <- work(ctx, i, item)
				return nil
			})
		}
		return nil
	})
	var err error
	for result := range waiting {
		r := <-result
		if err == nil {
			if err = each(r); err != nil {
				cancel()
			}
		}
	}
	if waitErr := g.Wait(); err == nil {
		err = waitErr
	}
	return err
}
