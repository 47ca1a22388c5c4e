package session

import (
	"context"
	"fmt"

	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/proc/watchdog"
	"github.com/xfn-dev/xfn/internal/session/converge"
	"github.com/xfn-dev/xfn/render"
)

// watchedRequirement is the name of the requirement for the resource that a WatchOperation
// watches.
const watchedRequirement = "ops.crossplane.io/watched-resource"

// renderOperation implements Session.Render for an Operation.
func (s *Session) renderOperation(ctx context.Context, in Inputs, each func(Result) error) error {
	if err := in.checkOperations(); err != nil {
		return err
	}
	var op *opsv1alpha1.Operation
	p, err := proc.Await(ctx, func() (p plan, err error) {
		p, op, err = s.loadOperation(ctx, in)
		return p, err
	})
	if err != nil {
		return err
	}
	s.warnUnused(p.entry)
	r := Result{Source: p.entry.Document.Position(), Document: p.entry.Document}
	var runner function.Runner
	if reconciler.Runs(op) {
		if runner, r.Functions, err = s.runner(ctx, p, p.entry); err == nil {
			err = s.checkInputs(ctx, p.entry, r.Functions, in.Strict)
		}
		if err != nil {
			return err
		}
		if in.WrapRunner != nil {
			runner = in.WrapRunner(r.N, runner)
		}
	}
	req := p.request
	once, err := proc.Await(ctx, func() (*render.Result, error) {
		defer watchdog.Enter(ctx, "rendering "+r.Source)()
		return render.RenderOperation(ctx, runner, render.OperationRequest{
			Operation: op, Required: req.Required, Credentials: req.Credentials, Schemas: req.Schemas, Context: req.Context,
		})
	})
	if r.Err = s.explain(ctx, err, op.GetName(), p.entry); err == nil {
		r.Result = &converge.Result{Passes: 1, Result: once}
	}
	if in.Encode != nil && r.Err == nil {
		r.Text, r.TextErr = in.Encode(r)
	}
	return each(r)
}

// loadOperation reads the Operation and what its pipeline needs.
func (s *Session) loadOperation(ctx context.Context, in Inputs) (p plan, op *opsv1alpha1.Operation, err error) {
	defer watchdog.Enter(ctx, "loading the Operation")()
	p = plan{in: in, checks: reconciler.OperationChecks()}
	doc, err := s.first(ctx, in.Operation)
	if err == nil {
		op, p.entry, err = composition.DecodeOperation(doc)
	}
	if err != nil {
		return p, nil, fmt.Errorf("loading the Operation: %w", err)
	}
	s.warnDuplicates(doc)
	if err := checkSteps(in.Steps, p.entry); err != nil {
		return p, nil, err
	}
	if err := s.functions(ctx, &p, p.entry); err != nil {
		return p, nil, err
	}
	if err := s.checkIntegrity(p.entry, composition.Check(p.entry, nil), p); err != nil {
		return p, nil, err
	}
	if err := s.loadState(ctx, &p); err != nil {
		return p, nil, err
	}
	if in.Watched == "" && p.entry.What() == opsv1alpha1.WatchOperationKind {
		s.config.Progress.Note(doc.Position() + ": the WatchOperation is rendered without a resource that it watches")
	}
	if in.Watched != "" {
		watched, err := s.watched(ctx, in.Watched)
		if err != nil {
			return p, nil, err
		}
		p.request.Required = append(p.request.Required, watched)
		require(op, watched)
	}
	return p, op, nil
}

// watched reads the resource that a WatchOperation watches.
func (s *Session) watched(ctx context.Context, path string) (*unstructured.Unstructured, error) {
	all, err := s.all(ctx, "the watched resource", []string{path})
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

// require adds the watched resource to the requirements of each step of an Operation, as
// Crossplane does when it makes the Operation of a WatchOperation.
func require(op *opsv1alpha1.Operation, watched *unstructured.Unstructured) {
	for i := range op.Spec.Pipeline {
		step := &op.Spec.Pipeline[i]
		if step.Requirements == nil {
			step.Requirements = &opsv1alpha1.FunctionRequirements{}
		}
		sel := opsv1alpha1.RequiredResourceSelector{
			RequirementName: watchedRequirement, APIVersion: watched.GetAPIVersion(), Kind: watched.GetKind(),
		}
		if name := watched.GetName(); name != "" {
			sel.Name = &name
		}
		if ns := watched.GetNamespace(); ns != "" {
			sel.Namespace = &ns
		}
		step.Requirements.RequiredResources = append(step.Requirements.RequiredResources, sel)
	}
}
