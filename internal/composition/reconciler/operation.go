package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
)

// OperationInput is the input of RenderOperation. It has the fields of
// render.OperationRequest. The objects in Required must pass Store.Check. RenderOperation does
// not change an OperationInput.
type OperationInput struct {
	Operation             *opsv1alpha1.Operation
	Required, Credentials Store
	Schemas               func(*fnv1.SchemaSelector) *fnv1.Schema
	Context               *structpb.Struct
}

// OperationChecks are the checks of an Operation, which are made before any function runs.
func OperationChecks() Checks {
	return Checks{Refuse: []composition.ProblemKind{composition.UnknownMode, composition.EmptyPipeline, composition.UnknownFunction, composition.StepWithoutFunction}}
}

// defaultRetryLimit is the retryLimit of an Operation that does not set it.
const defaultRetryLimit = 5

// RenderOperation reconciles an Operation once. In the Output, XR is the Operation, and Composed
// are the resources that it applies, in the order of its status.appliedResourceRefs. A result
// of severity FATAL is returned as a *function.FatalError.
func RenderOperation(ctx context.Context, run function.Runner, in OperationInput) (*Output, error) {
	op, err := operationObject(in.Operation)
	if err != nil {
		return nil, err
	}
	out := &Output{XR: op.Object, Full: op.Object, Composed: []map[string]any{}}
	cs := conditionsOf(op)
	set := func(c Condition) {
		c.ObservedGeneration = op.GetGeneration()
		cs.Set(c)
	}
	if why := whyNotRun(in.Operation); why != "" {
		out.Notes = []string{fmt.Sprintf("Crossplane runs no function, because the Operation %s", why)}
		if limit := retryLimit(in.Operation); !in.Operation.IsComplete() && op.GetDeletionTimestamp() == nil {
			set(Condition{Type: TypeSynced, Status: "True", Reason: "ReconcileSuccess"})
			set(Condition{Type: "Succeeded", Status: "False", Reason: "PipelineError", Message: fmt.Sprintf("failure limit of %d reached", limit)})
		}
		if len(cs) > 0 {
			setConditions(op, cs.Value())
		}
		return out, nil
	}
	got, err := runOperation(ctx, run, in, op)
	if err != nil {
		return nil, err
	}
	set(Condition{Type: "Succeeded", Status: "True", Reason: "PipelineSuccess"})
	set(Condition{Type: "ValidPipeline", Status: "True", Reason: "ValidPipeline"})
	set(Condition{Type: TypeSynced, Status: "True", Reason: "ReconcileSuccess"})
	setConditions(op, cs.Value())
	return out, out.addOperation(op, got)
}

// operationObject returns the Operation as the API server stores it.
func operationObject(op *opsv1alpha1.Operation) (*unstructured.Unstructured, error) {
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(op)
	if err != nil {
		return nil, fmt.Errorf("encoding Operation %q: %w", op.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: obj}
	for _, step := range fieldpath.List(obj, "spec", "pipeline") {
		roundNumbers(step, "input")
	}
	for _, step := range fieldpath.List(obj, "status", "pipeline") {
		roundNumbers(step, "output")
	}
	if op.CreationTimestamp.IsZero() {
		unstructured.RemoveNestedField(obj, "metadata", "creationTimestamp")
	}
	if status, ok := obj["status"].(map[string]any); ok && len(status) == 0 {
		delete(obj, "status")
	}
	u.SetResourceVersion("999")
	return u, nil
}

// roundNumbers rounds the numbers in an object in a field of v to float64, because Crossplane's
// render engine receives the Operation as a protobuf Struct.
func roundNumbers(v any, field string) {
	if s, err := newStruct(fieldpath.Map(v, field)); err == nil && len(s.GetFields()) > 0 {
		fieldpath.Map(v)[field] = s.AsMap()
	}
}

// whyNotRun returns the reason why Crossplane does not run an Operation, or "".
func whyNotRun(op *opsv1alpha1.Operation) string {
	switch limit := retryLimit(op); {
	case op.GetDeletionTimestamp() != nil:
		return "is being deleted"
	case op.IsComplete():
		return fmt.Sprintf("is complete: its condition Succeeded is %s", op.GetCondition(opsv1alpha1.TypeSucceeded).Status)
	case op.Status.Failures >= limit:
		return fmt.Sprintf("has failed %d times, and its retryLimit is %d", op.Status.Failures, limit)
	default:
		return ""
	}
}

// Runs reports whether Crossplane calls the functions of an Operation. It does not if the
// Operation is complete or deleted, or has failed too often.
func Runs(op *opsv1alpha1.Operation) bool { return whyNotRun(op) == "" }

func retryLimit(op *opsv1alpha1.Operation) int64 {
	if op.Spec.RetryLimit == nil {
		return defaultRetryLimit
	}
	return *op.Spec.RetryLimit
}

func runOperation(ctx context.Context, run function.Runner, in OperationInput, op *unstructured.Unstructured) (*outcome, error) {
	steps, err := composition.Steps(in.Operation)
	if err != nil {
		return nil, err
	}
	// Of several objects with the same identity, Crossplane uses the last.
	store := slices.Concat(Store{running(op)}, in.Required, in.Credentials)
	slices.Reverse(store)
	p := pipelineInput{
		Steps: steps, Operation: true, Context: in.Context, Secret: store.Secret, Meta: meta,
		Requirements: Requirements{
			Bootstrap: store.Exact, Dynamic: store.Exact, Schema: Input{Schemas: in.Schemas}.findSchema, SkipSame: true,
		},
	}
	return p.run(ctx, run)
}

// running returns a copy of an Operation with the status that it has while its functions run.
func running(op *unstructured.Unstructured) *unstructured.Unstructured {
	op = &unstructured.Unstructured{Object: schema.Copy(op.Object)}
	cs := conditionsOf(op)
	cs.Set(Condition{Type: "Succeeded", Status: "Unknown", Reason: "PipelineRunning", Since: Time, ObservedGeneration: op.GetGeneration()})
	setConditions(op, cs.Recorded())
	return op
}

// addOperation adds the output of an Operation's pipeline to out and to the status of op.
func (o *Output) addOperation(op *unstructured.Unstructured, got *outcome) error {
	o.Warnings = got.Warnings
	for _, r := range got.Results {
		o.Results = append(o.Results, eventOf(r, "RunPipelineStep"))
	}
	if got.Context != nil {
		o.Context, o.HasContext = document("Context", "fields", got.Context.AsMap()), true
	}
	status := fieldpath.Map(op.Object, "status")
	addOutputs(status, got.Outputs)
	refs := fieldpath.List(status, "appliedResourceRefs")
	before := len(refs)
	known := objects{}
	for _, name := range slices.Sorted(maps.Keys(got.Desired.GetResources())) {
		u := body(got.Desired.GetResources()[name])
		if u.GetKind() == "" {
			return fmt.Errorf("applying resource %q: the resource has no kind", name)
		}
		fixConditions(u)
		o.Composed = append(o.Composed, u.Object)
		o.Warnings = append(o.Warnings, known.add(u, name)...)
		if u.GetName() == "" {
			o.Warnings = append(o.Warnings, fmt.Sprintf("resource %q has no name, so an API server refuses it", name))
		}
		if !slices.ContainsFunc(refs, func(ref any) bool { return refersTo(ref, u) }) {
			refs = append(refs, appliedReference(u))
		}
	}
	key := func(obj map[string]any) string {
		u := &unstructured.Unstructured{Object: obj}
		return u.GetAPIVersion() + u.GetKind() + u.GetNamespace() + u.GetName()
	}
	slices.SortStableFunc(o.Composed, func(a, b map[string]any) int { return cmp.Compare(key(a), key(b)) })
	if len(refs) > before { // Crossplane sorts them when it adds one.
		status["appliedResourceRefs"] = SortReferences(refs, "apiVersion", "kind", "namespace", "name")
	}
	return nil
}

func addOutputs(status map[string]any, outputs []stepOutput) {
	list := fieldpath.List(status, "pipeline")
	for _, out := range outputs {
		entry := map[string]any{"step": out.Step, "output": out.Value.AsMap()}
		i := slices.IndexFunc(list, func(e any) bool { return fieldpath.At(e, "step") == out.Step })
		if i >= 0 {
			list[i] = entry
			continue
		}
		list = append(list, entry)
	}
	if len(list) > 0 {
		status["pipeline"] = list
	}
}

// appliedReference returns the entry of status.appliedResourceRefs for a resource.
func appliedReference(u *unstructured.Unstructured) map[string]any {
	ref := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "name": u.GetName()}
	if ns := u.GetNamespace(); ns != "" {
		ref["namespace"] = ns
	}
	return ref
}

// refersTo reports whether ref is the reference of u. An empty namespace equals none.
func refersTo(ref any, u *unstructured.Unstructured) bool {
	text := func(field string) string { return fieldpath.Text(ref, field) }
	return identityOf(u) == identity{text("apiVersion"), text("kind"), text("namespace"), text("name")}
}
