package suite

import (
	"context"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// Compare runs the cases of items with the options before and after, and calls each with the
// differences of the documents in the order of items, without the cases that their suites skip. It
// ignores the expectations of the cases. was and is are the errors of the renders, or "". If one is
// set, there are no differences. An error that the case expects is left out if it is the same on
// both sides. Compare returns an error if the functions of a case cannot be started with one of the
// options.
func Compare(ctx context.Context, items []Item, before, after Options, each func(name string, diffs []report.DocDiff, was, is string) error) (err error) {
	for _, item := range items {
		if item.Case == nil {
			return item.Suite.Err
		}
	}
	b, a := newRunner(before.rendering()), newRunner(after.rendering())
	defer func() { err = errors.Join(err, b.sessions.close(ctx, err == nil), a.sessions.close(ctx, err == nil)) }()
	return forEach(ctx, a, items, func(ctx context.Context, _ int, item Item) [2]Outcome {
		return [2]Outcome{b.run(ctx, item), a.run(ctx, item)}
	}, func(o [2]Outcome) error {
		for _, one := range o {
			if errors.As(one.Err(), new(*session.StartError)) {
				return fmt.Errorf("comparing %s: %w", one.Name(), one.Err())
			}
		}
		if o[1].Status == Skipped {
			return nil
		}
		was, is := o[0].RenderError(), o[1].RenderError()
		var diffs []report.DocDiff
		if was == "" && is == "" {
			diffs = report.Compare(desired(o[0].composed()), desired(o[1].composed()))
		}
		if was == is && o[0].Status == Passed && o[1].Status == Passed {
			was, is = "", ""
		}
		return each(o[1].Name(), diffs, was, is)
	})
}

// rendering returns the options for runs in which only the composed resources matter.
func (o Options) rendering() Options {
	o.Update, o.Coverage, o.Trace = nil, nil, false
	return o
}

// desired returns report.Desired of the documents of a case, of which the first is the XR.
func desired(docs []map[string]any) []map[string]any {
	if len(docs) == 0 {
		return nil
	}
	return report.Desired(docs[0], docs[1:])
}

// RenderError returns why nothing was composed, or "".
func (o Outcome) RenderError() string {
	switch {
	case o.composed() != nil || o.Status == Skipped:
	case o.Err() != nil:
		return o.Err().Error()
	case len(o.Failures) > 0:
		return o.Failures[0].Text
	}
	return ""
}

// Resources returns the resources that the case composed.
func (o Outcome) Resources() []map[string]any {
	if o.composed() == nil {
		return nil
	}
	return o.result.Composed
}

// Compose runs the cases of items, and calls each with the outcomes in the order of items. Whether
// the resources are what a case expects does not matter.
func Compose(ctx context.Context, items []Item, o Options, each func(Outcome) error) (err error) {
	r := newRunner(o.rendering())
	defer func() { err = errors.Join(err, r.sessions.close(ctx, err == nil)) }()
	return r.each(ctx, items, each)
}

// each runs items concurrently, and calls do with the outcomes in the order of items.
func (r *runner) each(ctx context.Context, items []Item, do func(Outcome) error) error {
	return forEach(ctx, r, items, func(ctx context.Context, _ int, item Item) Outcome { return r.run(ctx, item) }, do)
}

// forEach is proc.ForEachOrdered, but calls each no more after ctx has ended.
func forEach[T, R any](ctx context.Context, r *runner, items []T, work func(context.Context, int, T) R, each func(R) error) error {
	return proc.ForEachOrdered(ctx, r.parallel(), items, work, func(result R) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return each(result)
	})
}
