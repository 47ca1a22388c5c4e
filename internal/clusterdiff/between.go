package clusterdiff

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// A Side is a set of versions: the versions of functions in Config, and the version of Crossplane
// in Inputs.
type Side struct {
	Config session.Config
	Inputs session.Inputs
}

// An output has the resources that a Side composes for an XR, or its error.
type output struct {
	docs []map[string]any
	err  string
}

// Between renders the XRs of a cluster dump with two sets of versions, and calls each with the
// name of an XR and the differences. If a render fails, each gets no diffs, but the text of
// each side's error, or "". If only before has an XR, this counts as a failed render of after.
// Between returns an error if functions of a side cannot be started.
func Between(ctx context.Context, before, after Side, each func(xr string, diffs []report.DocDiff, before, after string) error) error {
	was := map[string]output{}
	var names []string
	if err := before.render(ctx, func(name string, o output) error {
		was[name] = o
		names = append(names, name)
		return nil
	}); err != nil {
		return err
	}
	rendered := map[string]bool{}
	if err := after.render(ctx, func(name string, o output) error {
		then := was[name]
		rendered[name] = true
		if then.err != "" || o.err != "" {
			return each(name, nil, then.err, o.err)
		}
		return each(name, report.Compare(then.docs, o.docs), "", "")
	}); err != nil {
		return err
	}
	for _, name := range names {
		if rendered[name] {
			continue
		}
		if err := each(name, nil, was[name].err, "it is not rendered"); err != nil {
			return err
		}
	}
	return nil
}

func (s Side) render(ctx context.Context, each func(string, output) error) (err error) {
	run := session.Open(s.Config)
	defer func() { err = errors.Join(err, run.Close(context.WithoutCancel(ctx))) }()
	return run.Render(ctx, s.Inputs, func(r session.Result) error {
		key := r.Source
		if object := objectOf(r); object != nil {
			key = composition.Describe(&unstructured.Unstructured{Object: object})
		}
		if errors.As(r.Err, new(*session.StartError)) {
			return fmt.Errorf("comparing %s: %w", key, r.Err)
		}
		if r.Err != nil {
			return each(key, output{err: r.Err.Error()})
		}
		return each(key, output{docs: report.Desired(r.XR, r.Composed)})
	})
}
