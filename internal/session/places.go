package session

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// describe adds warnings about fields that patches read, and that the environment or an observed
// resource has under a similar name, and the places of the functions' warnings. r may be nil.
func (s *Session) describe(ctx context.Context, e composition.Entry, observed []*unstructured.Unstructured, r *LastPass) {
	if r == nil {
		return
	}
	if environment := fieldpath.Map(r.Context, "fields", sdk.EnvironmentKey); len(environment) > 0 {
		for _, problem := range s.readsOf(ctx, e).MisreadEnvironment(e, environment) {
			r.Warnings = append(r.Warnings, problem.Error())
		}
	}
	for _, u := range observed {
		if u.Object["status"] == nil {
			continue
		}
		for _, problem := range s.readsOf(ctx, e).MisreadObserved(e, reconciler.ResourceName(u.Object), u.Object) {
			r.Warnings = append(r.Warnings, problem.Error())
		}
	}
	for i, result := range r.Results {
		if result["severity"] != "Warning" {
			continue
		}
		if place := s.placeOf(ctx, e, fieldpath.Text(result, "message")); place != "" {
			if r.Places == nil {
				r.Places = map[int]string{}
			}
			r.Places[i] = place
		}
	}
}

// readsOf returns the fields that the patches of e read.
func (s *Session) readsOf(ctx context.Context, e composition.Entry) check.Reads {
	return s.reads.Get(e.Composition, func() check.Reads { return check.ReadsOf(ctx, e, builtin.Inputs()) })
}

// placeOf returns the place in e to which a warning of a step refers, or "".
func (s *Session) placeOf(ctx context.Context, e composition.Entry, warning string) string {
	for n, step := range e.Spec.Pipeline {
		text, ok := strings.CutPrefix(warning, fmt.Sprintf("Pipeline step %q: ", step.Step))
		if !ok || step.Input == nil {
			continue
		}
		if b, known, inProcess := s.builtinOf(step.FunctionRef.Name); known {
			return b.Locate(ctx, text, step.Input.Raw, inProcess).In(e, n)
		}
	}
	return ""
}
