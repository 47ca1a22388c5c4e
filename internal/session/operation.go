package session

import (
	"context"
	"errors"
	"fmt"

	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/render"
)

// watchedRequirement is the name of the requirement for the resource that a WatchOperation
// watches.
const watchedRequirement = "ops.crossplane.io/watched-resource"

func (s *Session) renderOperation(ctx context.Context, in Inputs, each func(Result) error) error {
	if in.Features.Off(composition.FeatureOperations) {
		return hint.Wrap(errors.New("the feature operations is switched off: Crossplane runs no Operation"), "leave out the switch, or set it to true")
	}
	p := newPlan(in, reconciler.Version{Checks: reconciler.OperationChecks()})
	op, err := proc.Await(ctx, func() (*opsv1alpha1.Operation, error) { return s.loadOperation(ctx, &p) })
	if err != nil {
		return err
	}
	s.warnUnused(p.entry)
	r := Result{Source: p.entry.Document.Position(), Document: p.entry.Document}
	var runner function.Runner
	if reconciler.Runs(op) {
		l, err := s.pipeline(ctx, p)
		if err != nil {
			return err
		}
		runner, r.Functions = p.in.WrapRunner(r.N, l.runner), l.runs
	}
	req := p.request
	once, err := proc.Await(ctx, func() (*render.Result, error) {
		defer proc.EnterActivity(ctx, "rendering "+r.Source)()
		return render.RenderOperation(composition.WithEntry(ctx, p.entry), runner, render.OperationRequest{
			Operation: op, Required: req.Required, Credentials: req.Credentials, Schemas: req.Schemas, Context: req.Context,
		})
	})
	if r.Err = explainWatch(s.explain(ctx, err, op.GetName(), p.entry), p.entry, in.Watched); err == nil {
		r.LastPass = &LastPass{Passes: 1, Result: once}
		s.describe(ctx, p.entry, nil, r.LastPass)
	}
	if in.Encode != nil && r.Err == nil {
		r.Text, r.TextErr = in.Encode(r)
	}
	return each(r)
}

// loadOperation reads the Operation and adds what its pipeline needs to p.
func (s *Session) loadOperation(ctx context.Context, p *plan) (op *opsv1alpha1.Operation, err error) {
	defer proc.EnterActivity(ctx, "loading the Operation")()
	in := p.in
	doc, err := s.first(ctx, in.Operation)
	if err == nil {
		op, p.entry, err = composition.DecodeOperation(doc)
	}
	if err != nil {
		return nil, fmt.Errorf("loading the Operation: %w", err)
	}
	s.warnDuplicates(doc)
	if err := checkSteps(in.Steps, p.entry); err != nil {
		return nil, err
	}
	if err := s.loadFunctions(ctx, p, composition.Check(p.entry, nil)); err != nil {
		return nil, err
	}
	if err := s.checkSchedule(doc, in.Strict); err != nil {
		return nil, err
	}
	if watch, ok := p.entry.Watch(); ok && in.Watched == "" {
		s.config.Progress.Note(fmt.Sprintf("%s: the WatchOperation is rendered without a resource that it watches, of kind %s", doc.Position(), watch.Kind))
	}
	if in.Watched != "" {
		watched, err := s.watched(ctx, in.Watched)
		if err == nil {
			err = s.checkWatched(p.entry, watched, in.Watched)
		}
		if err != nil {
			return nil, err
		}
		p.request.Required = append(p.request.Required, watched)
		require(op, watched)
	}
	return op, nil
}

// checkSchedule warns of the schedule of a CronOperation that Crossplane cannot parse. If strict is
// true, it returns an error instead.
func (s *Session) checkSchedule(doc manifest.Document, strict bool) error {
	var cron opsv1alpha1.CronOperation
	if err := doc.Decode(&cron); err != nil || cron.Kind != opsv1alpha1.CronOperationKind {
		return nil
	}
	err := schema.CheckSchedule(cron.Spec.Schedule)
	if err == nil {
		return nil
	}
	return s.refuseOrWarn(fmt.Errorf("%s: the schedule is %q, so Crossplane creates no Operation: %w", doc.PositionOf("spec.schedule"), cron.Spec.Schedule, err), strict)
}

// watched reads the resource that a WatchOperation watches.
func (s *Session) watched(ctx context.Context, path string) (*unstructured.Unstructured, error) {
	all, err := Objects(ctx, s.config.Reader, "the watched resource", []string{path})
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("loading the watched resource: %s must contain exactly one resource, got %d", path, len(all))
	}
	if err := reconciler.Store(all).Check(); err != nil {
		return nil, fmt.Errorf("loading the watched resource: %w", err)
	}
	return all[0], nil
}

// checkWatched returns an error if e is a WatchOperation that watches another kind than the
// kind of u, the resource in the file at path. It warns if e does not watch u for another
// reason.
func (s *Session) checkWatched(e composition.Entry, u *unstructured.Unstructured, path string) error {
	watch, ok := e.Watch()
	what := fmt.Sprintf("%s: %s", path, composition.Describe(u))
	not := ""
	switch {
	case !ok:
		s.config.Progress.Warn(fmt.Sprintf("%s: only a WatchOperation watches resources; each step of this %s requires %s", e.Document.PositionOf("kind"), e.What(), what))
		return nil
	case watch.APIVersion != u.GetAPIVersion() || watch.Kind != u.GetKind():
		return fmt.Errorf("loading the watched resource: %s of %s is not watched: %s watches kind %s of %s", what, u.GetAPIVersion(), e.Document.PositionOf("spec.watch"), watch.Kind, watch.APIVersion)
	case watch.Namespace != "" && watch.Namespace != u.GetNamespace():
		not = "namespace"
	case !labels.SelectorFromSet(watch.MatchLabels).Matches(labels.Set(u.GetLabels())):
		not = "matchLabels"
	default:
		return nil
	}
	s.config.Progress.Warn(fmt.Sprintf("%s is not watched: it does not match %s: spec.watch.%s", what, e.Document.PositionOf("spec.watch."+not), not))
	return nil
}

// explainWatch adds a hint to err, the fatal result of a WatchOperation's pipeline, if the
// required watched resource is missing.
func explainWatch(err error, e composition.Entry, watched string) error {
	watch, ok := e.Watch()
	if !ok || watched != "" || !errors.As(err, new(*render.FatalError)) {
		return err
	}
	return hint.Wrap(err, hint.Hint(fmt.Sprintf("the WatchOperation is for a resource of kind %s (%s), which functions may require: name its file with ", watch.Kind, e.Document.PositionOf("spec.watch")))+hint.WatchedResource)
}

// require adds the watched resource to the requirements of each step of an Operation, as
// Crossplane does when it makes the Operation of a WatchOperation.
func require(op *opsv1alpha1.Operation, watched *unstructured.Unstructured) {
	for i := range op.Spec.Pipeline {
		step := &op.Spec.Pipeline[i]
		if step.Requirements == nil {
			step.Requirements = &opsv1alpha1.FunctionRequirements{}
		}
		name := watched.GetName() // A selector with an empty name finds a resource without a name. Without the field, it finds all of the kind.
		sel := opsv1alpha1.RequiredResourceSelector{
			RequirementName: watchedRequirement, APIVersion: watched.GetAPIVersion(), Kind: watched.GetKind(), Name: &name,
		}
		if ns := watched.GetNamespace(); ns != "" {
			sel.Namespace = &ns
		}
		step.Requirements.RequiredResources = append(step.Requirements.RequiredResources, sel)
	}
}
