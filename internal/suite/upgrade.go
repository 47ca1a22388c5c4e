package suite

import (
	"context"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// A Comparison says how what a case composes differs between two sets of versions.
type Comparison struct {
	// Name is "suite/case". Path and Line are the position of the case.
	Name string
	Path string
	Line int
	// Skipped is true for a case that the suite skips.
	Skipped bool
	// Diffs are the differences of the documents. Before and After are the errors of the renders,
	// or "". If one is set, there are no Diffs. An error that the case expects is left out if it
	// is the same on both sides.
	Diffs         []report.DocDiff
	Before, After string
}

// Compare runs the cases of items with the options before and after, and calls each with what
// differs in the order of items. It ignores the expectations of the cases. It returns an error if
// the functions of a case cannot be started with one of the options.
func Compare(ctx context.Context, items []Item, before, after Options, each func(Comparison) error) (err error) {
	before.Update, before.Coverage, before.Trace = nil, nil, false
	after.Update, after.Coverage, after.Trace = nil, nil, false
	for _, item := range items {
		if item.Case == nil {
			return item.Suite.Err
		}
	}
	b, a := newRunner(before), newRunner(after)
	defer func() { err = errors.Join(err, b.sessions.close(ctx), a.sessions.close(ctx)) }()
	return proc.ForEachOrdered(ctx, a.parallel(), items, func(ctx context.Context, _ int, item Item) [2]Outcome {
		return [2]Outcome{b.run(ctx, item), a.run(ctx, item)}
	}, func(o [2]Outcome) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, one := range o {
			if errors.As(one.err, new(*session.StartError)) {
				return fmt.Errorf("comparing %s: %w", one.Name(), one.err)
			}
		}
		return each(compare(o[0], o[1]))
	})
}

func compare(before, after Outcome) Comparison {
	c := Comparison{Name: after.Name(), Path: after.Path, Line: after.Line, Skipped: after.Status == Skipped}
	if c.Before, c.After = before.renderError(), after.renderError(); c.Before == "" && c.After == "" {
		c.Diffs = report.Compare(desired(before.composed()), desired(after.composed()))
	}
	if c.Before == c.After && before.Status == Passed && after.Status == Passed {
		c.Before, c.After = "", ""
	}
	return c
}

// desired returns report.Desired of the documents of a case, of which the first is the XR.
func desired(docs []map[string]any) []map[string]any {
	if len(docs) == 0 {
		return nil
	}
	return report.Desired(docs[0], docs[1:])
}

// renderError returns why nothing was composed, or "".
func (o Outcome) renderError() string {
	switch {
	case o.composed() != nil || o.Status == Skipped:
		return ""
	case o.err != nil:
		return o.err.Error()
	case len(o.Failures) > 0:
		return o.Failures[0].Text
	default:
		return ""
	}
}

// A Composed is what a case composes.
type Composed struct {
	// Name is "suite/case".
	Name      string
	Resources []map[string]any
	// Skipped is true for a case that the suite skips. Reason says why, or why the render failed.
	// It is "" if the case composed its resources, or fails as it expects.
	Skipped bool
	Reason  string
}

// Compose runs the cases of items, and calls each with what a case composes in the order of items.
// It ignores whether the resources are what a case expects.
func Compose(ctx context.Context, items []Item, o Options, each func(Composed) error) (err error) {
	o.Update, o.Coverage, o.Trace = nil, nil, false
	r := newRunner(o)
	defer func() { err = errors.Join(err, r.sessions.close(ctx)) }()
	return proc.ForEachOrdered(ctx, r.parallel(), items, func(ctx context.Context, _ int, item Item) Outcome {
		return r.run(ctx, item)
	}, func(out Outcome) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c := Composed{Name: out.Name(), Skipped: out.Status == Skipped, Reason: out.Reason}
		switch {
		case out.composed() != nil:
			c.Resources = out.result.Composed
		case out.Status == Failed:
			c.Reason = out.renderError()
		}
		return each(c)
	})
}
