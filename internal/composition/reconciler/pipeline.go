package reconciler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

type pipelineInput struct {
	// Steps are the spec.pipeline of a Composition or an Operation.
	Steps []apiextv1.PipelineStep
	// Validated means that the caller validates the desired resources by the schemas of their kinds.
	Validated bool
	// Operation is true for the pipeline of an Operation, which has no composite resource.
	Operation bool
	// Observed is the observed state. Every step gets it.
	Observed *fnv1.State
	// Context is the context of the first step. It may be nil.
	Context *structpb.Struct
	// Requirements finds the resources and schemas that functions require.
	Requirements Requirements
	// Secret returns the data of the Secret for a step's credentials. If it is
	// nil, functions get no credentials.
	Secret func(namespace, name string) (map[string][]byte, bool)
	// Meta returns the metadata for a request. If Meta is nil, requests have no metadata.
	Meta func(*fnv1.RunFunctionRequest) (*fnv1.RequestMeta, error)
}

type outcome struct {
	// Desired and Context are the output of the last step. Either may be nil.
	Desired *fnv1.State
	Context *structpb.Struct
	// Results and Conditions are the results and conditions that all steps
	// returned, in the order of the steps.
	Results    []result
	Conditions []*fnv1.Condition
	// Outputs are what steps returned for the status of an Operation.
	Outputs []stepOutput
	// Warnings describe changes by steps that have no effect or are probably mistakes.
	Warnings []string
	// origins has the origins of the step that set the apiVersion and kind of a resource, by the
	// name of the resource.
	origins map[string]*composition.Origins
}

// output returns an Output with the fields that are the same in all versions of Crossplane.
// keys are the keys of the connection details to publish.
func (o *outcome) output(keys []string) *Output {
	details := ConnectionDetails(o.Desired.GetComposite().GetConnectionDetails(), keys)
	return &Output{Composed: []map[string]any{}, Warnings: o.Warnings, ConnectionDetails: details}
}

// A result is a result in a function's response, and the name of the step.
type result struct {
	Step string
	*fnv1.Result
}

// A stepOutput is the field output of a function's response.
type stepOutput struct {
	Step  string
	Value *structpb.Struct
}

// run calls the function of each step. The response of a step replaces the whole desired
// state and the whole context, so fields that the response omits are removed.
func (in *pipelineInput) run(ctx context.Context, run function.Runner) (*outcome, error) {
	out := &outcome{Desired: &fnv1.State{}, Context: in.Context, origins: map[string]*composition.Origins{}}
	if out.Context == nil {
		out.Context = &structpb.Struct{}
	}
	for i := range in.Steps {
		if err := in.step(ctx, run, &in.Steps[i], out); err != nil {
			return nil, err
		}
	}
	for _, name := range manifest.Keys(out.Desired.GetResources()) {
		r := out.Desired.GetResources()[name].GetResource()
		if text, field := kindMistake(r); text != "" {
			value := r.GetFields()[field].GetStringValue()
			out.Warnings = append(out.Warnings, fmt.Sprintf("resource %q %s%s", name, text, out.origins[name].At(name, field, value)))
			continue
		}
		if in.Validated {
			continue
		}
		for _, m := range fieldMistakes(r) {
			out.Warnings = append(out.Warnings, fmt.Sprintf("resource %q %s%s", name, m.text, out.origins[name].At(name, m.field, m.key+":")))
		}
	}
	return out, nil
}

func (in *pipelineInput) step(ctx context.Context, run function.Runner, s *apiextv1.PipelineStep, out *outcome) error {
	defer proc.EnterStep(ctx, s.Step)()
	req, err := in.request(s, out)
	if err != nil {
		return fmt.Errorf("running pipeline step %q: %w", s.Step, err)
	}
	origins := &composition.Origins{}
	ctx = composition.WithOrigins(function.WithStep(ctx, s.Step), origins)
	rsp, advice, err := in.Requirements.Satisfy(req, func(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return run.RunFunction(ctx, s.FunctionRef.Name, req)
	})
	if err != nil {
		return fmt.Errorf("running pipeline step %q: %w", s.Step, err)
	}
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			fatal := &function.FatalError{Step: s.Step, Function: s.FunctionRef.Name, Message: r.GetMessage()}
			if advice == "" {
				return fatal
			}
			return hint.Wrap(fatal, advice)
		}
		out.Results = append(out.Results, result{Step: s.Step, Result: r})
	}
	out.Conditions = append(out.Conditions, rsp.GetConditions()...)
	if rsp.GetOutput() != nil {
		out.Outputs = append(out.Outputs, stepOutput{Step: s.Step, Value: rsp.GetOutput()})
	}
	// The purpose of these functions is the removal of desired resources.
	group, _, _ := strings.Cut(req.GetInput().GetFields()["apiVersion"].GetStringValue(), "/")
	removes := group == "sequencer.fn.crossplane.io" || group == "cel.fn.crossplane.io"
	out.Warnings = append(out.Warnings, in.warnings(s.Step, removes, origins, out.Desired, rsp)...)
	for name, r := range rsp.GetDesired().GetResources() {
		if was := out.Desired.GetResources()[name].GetResource(); was == nil || !sameKind(was, r.GetResource()) {
			out.origins[name] = origins
		}
	}
	for _, key := range in.Requirements.unsupported(rsp) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("pipeline step %q requires the resource %q in a field that the imitated version of Crossplane ignores: use a version of the function for this Crossplane", s.Step, key))
	}
	out.Context, out.Desired = rsp.GetContext(), rsp.GetDesired()
	return nil
}

func (in *pipelineInput) request(s *apiextv1.PipelineStep, out *outcome) (req *fnv1.RunFunctionRequest, err error) {
	req = &fnv1.RunFunctionRequest{Observed: in.Observed, Desired: out.Desired, Context: out.Context}
	if s.Input != nil && len(s.Input.Raw) > 0 {
		var input map[string]any
		if json.Unmarshal(s.Input.Raw, &input) != nil {
			err = ErrInput
		} else {
			req.Input, err = newStruct(input)
		}
		if err != nil {
			return nil, fmt.Errorf("reading its input: %w", err)
		}
	}
	if err := in.addCredentials(req, s.Credentials); err != nil {
		return nil, err
	}
	if err := in.Requirements.bootstrap(req, s.Requirements); err != nil {
		return nil, err
	}
	if in.Meta == nil {
		return req, nil
	}
	req.Meta, err = in.Meta(req)
	return req, err
}

// A NoSecretError is the error for credentials of a step whose Secret does not exist.
type NoSecretError struct{ Credentials apiextv1.FunctionCredentials }

func (e *NoSecretError) Error() string {
	ref := e.Credentials.SecretRef
	return fmt.Sprintf("credential %q: Secret %q in namespace %q was not found", e.Credentials.Name, ref.Name, ref.Namespace)
}

func (in *pipelineInput) addCredentials(req *fnv1.RunFunctionRequest, credentials []apiextv1.FunctionCredentials) error {
	for _, c := range credentials {
		if c.Source != apiextv1.FunctionCredentialsSourceSecret || c.SecretRef == nil || in.Secret == nil {
			continue
		}
		data, ok := in.Secret(c.SecretRef.Namespace, c.SecretRef.Name)
		if !ok {
			return &NoSecretError{c}
		}
		if req.Credentials == nil {
			req.Credentials = map[string]*fnv1.Credentials{}
		}
		req.Credentials[c.Name] = &fnv1.Credentials{Source: &fnv1.Credentials_CredentialData{CredentialData: &fnv1.CredentialData{Data: data}}}
	}
	return nil
}

// ErrInput is the error for an input of a step that is not an object.
var ErrInput = errors.New("expected an object")

// warnings describes changes by a step that Crossplane ignores or that may be mistakes:
// changes to spec or metadata of the composite resource, changes to the status of a composed
// resource, texts of templates and formats without a value, labels and annotations without
// effect, and, unless removes is true, the removal of a desired resource. origins are the
// origins of the resources that rsp desires.
func (in *pipelineInput) warnings(step string, removes bool, origins *composition.Origins, before *fnv1.State, rsp *fnv1.RunFunctionResponse) []string {
	after := rsp.GetDesired()
	var ws []string
	var lacksValue bool
	warn := func(format string, args ...any) {
		ws = append(ws, fmt.Sprintf("pipeline step %q ", step)+fmt.Sprintf(format, args...))
	}
	what := "composed resource"
	if in.Operation {
		what = "resource"
		if len(after.GetComposite().GetResource().GetFields()) > 0 && !proto.Equal(before.GetComposite(), after.GetComposite()) {
			warn("desires a composite resource, but an Operation has none")
		}
	}
	for _, field := range []string{"metadata", "spec"} {
		if !in.Operation && isNew(field, after.GetComposite(), before.GetComposite(), in.Observed.GetComposite()) {
			warn("desires %s of the composite resource, but functions can only change its status", field)
		}
	}
	was, is := before.GetComposite().GetResource().GetFields()["status"], after.GetComposite().GetResource().GetFields()["status"]
	if path, text := findPlaceholder(was, is); text != "" {
		lacksValue = true
		warn("writes %q to status%s of the composite resource: %s", text, path, placeholderReason(text))
	}
	for _, name := range manifest.Keys(after.GetResources()) {
		if isNew("status", after.GetResources()[name], before.GetResources()[name]) {
			warn("desires status of %s %q, but only its provider can set it%s", what, name, origins.At(name, "status", "status:"))
		}
		was, is := before.GetResources()[name].GetResource(), after.GetResources()[name].GetResource()
		if path, text := findPlaceholder(structpb.NewStructValue(was), structpb.NewStructValue(is)); text != "" {
			lacksValue = true
			field := strings.TrimPrefix(path, ".")
			warn("writes %q to %s of %s %q: %s%s", text, field, what, name, placeholderReason(text), origins.At(name, field, text))
		}
		if text := placeholderIn(name); text != "" && was == nil {
			warn("writes %q to the name of %s %q: %s%s", text, what, name, placeholderReason(text), origins.At(name, "metadata", text))
		}
		for _, m := range metadataMistakes(was, is) {
			warn("%s (%s %q)%s", m.text, what, name, origins.At(name, m.field, m.key))
		}
	}
	if lacksValue {
		if missing, _ := in.Requirements.missing(rsp.GetRequirements()); len(missing) > 0 {
			warn("requires %s, and no given resource matches", strings.Join(missing, ", "))
		}
	}
	for _, name := range manifest.Keys(before.GetResources()) {
		if after.GetResources()[name] == nil && !removes {
			warn("leaves out %s %q, which an earlier step desires", what, name)
		}
	}
	return ws
}

// isNew reports whether the field of r is a non-empty object, and no resource in
// others has all values of this object in the same field.
func isNew(field string, r *fnv1.Resource, others ...*fnv1.Resource) bool {
	v, ok := r.GetResource().GetFields()[field]
	if !ok || len(v.GetStructValue().GetFields()) == 0 {
		return false
	}
	return !slices.ContainsFunc(others, func(o *fnv1.Resource) bool {
		return within(v, o.GetResource().GetFields()[field])
	})
}

func within(a, b *structpb.Value) bool {
	fields := a.GetStructValue().GetFields()
	if fields == nil {
		return proto.Equal(a, b)
	}
	for key, v := range fields {
		if !within(v, b.GetStructValue().GetFields()[key]) {
			return false
		}
	}
	return true
}
