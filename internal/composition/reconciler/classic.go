package reconciler

import (
	"context"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/schema"
)

// render renders like the classic versions of `crossplane render`. If the XR has
// no spec, Full is nil in the output.
func (v ClassicVersion) render(ctx context.Context, run function.Runner, in Input) (*Output, error) {
	state, err := observe(in.XR, in.Observed, nil)
	if err != nil {
		return nil, err
	}
	p := v.pipeline(in, state)
	got, err := p.run(ctx, run)
	if err != nil {
		return nil, err
	}
	out, err := v.assemble(in, got)
	if err != nil {
		return nil, err
	}
	if why := ending(in.XR); why != "" {
		out.Warnings = append(out.Warnings, "the composite resource is "+why+": Crossplane calls no function for it, but the imitated `crossplane render` does")
	}
	out.HasContext = true
	if got.Context != nil {
		var fields map[string]any
		if len(got.Context.GetFields()) > 0 || len(in.Composition.Spec.Pipeline) == 0 {
			fields = got.Context.AsMap()
		}
		out.Context = document("Context", "fields", fields)
	}
	return out, nil
}

func (v ClassicVersion) pipeline(in Input, state *fnv1.State) pipelineInput {
	p := pipelineInput{Steps: in.Composition.Spec.Pipeline, Validated: in.Validated, Observed: state, Context: in.Context}
	all := slices.Concat(in.Required, in.Extra)
	if v.Capabilities {
		p.Meta = func(*fnv1.RunFunctionRequest) (*fnv1.RequestMeta, error) { return capabilities(), nil }
	}
	if v.Credentials {
		p.Secret = in.Credentials.Secret
	}
	if v.Requirements {
		p.Requirements = Requirements{Bootstrap: in.Required.ByName, Dynamic: all.ByName, Schema: in.findSchema}
	} else {
		p.Requirements = Requirements{Dynamic: all.InOrder, OnlyExtra: true, Off: in.NoExtraResources}
	}
	return p
}

// assemble returns the XR, the composed resources and the results that the
// classic versions of `crossplane render` print.
func (v ClassicVersion) assemble(in Input, got *outcome) (*Output, error) {
	out := got.output(in.ConnectionSecretKeys)
	observed, known := ByName(in.Observed), objects{}
	for _, name := range slices.Sorted(maps.Keys(got.Desired.GetResources())) {
		u := body(got.Desired.GetResources()[name])
		keepIdentity(u, observed[name])
		if err := v.adopt(u, in.XR, name); err != nil {
			return nil, fmt.Errorf("composing resource %q: %w", name, err)
		}
		out.Warnings = append(out.Warnings, known.add(u, name)...)
		out.Composed = append(out.Composed, u.Object)
	}
	for _, r := range got.Results {
		out.Results = append(out.Results, map[string]any{
			"apiVersion": APIVersion,
			"kind":       "Result",
			"message":    r.GetMessage(),
			"severity":   r.GetSeverity().String(),
			"step":       r.Step,
		})
	}
	xr := v.composite(in.XR, got)
	out.XR, out.Full = xr.Object, full(in.XR, xr)
	return out, nil
}

func (v ClassicVersion) adopt(u, xr *unstructured.Unstructured, name string) error {
	if v.Namespaces {
		forceNamespace(u, xr)
	}
	l := labels{composite: xr.GetName()}
	if v.Nested {
		l = labelsOf(xr)
	} else if ref, ok := claimOf(xr); ok {
		add(u, "labels", map[string]string{LabelClaimName: ref["name"], LabelClaimNamespace: ref["namespace"]})
	}
	if !v.Nested || u.GetName() == "" && u.GetGenerateName() == "" {
		u.SetGenerateName(l.composite + "-")
	}
	l.mark(u, name)
	return SetController(u, xr)
}

// claimOf returns the text fields of spec.claimRef. ok is false if it does not exist or a field
// is not text. Nulls and missing fields are empty.
func claimOf(xr *unstructured.Unstructured) (ref map[string]string, ok bool) {
	value, found, _ := unstructured.NestedFieldNoCopy(xr.Object, "spec", "claimRef")
	fields, isMap := value.(map[string]any)
	if !found || !isMap && value != nil {
		return nil, false
	}
	ref = map[string]string{}
	for _, key := range []string{"apiVersion", "kind", "name", "namespace"} {
		text, isText := fields[key].(string)
		if !isText && fields[key] != nil {
			return nil, false
		}
		ref[key] = text
	}
	return ref, true
}

// composite returns the desired XR with the identity of the input XR. If v.Conditions
// is set, it adds the condition Ready and the conditions of functions.
func (v ClassicVersion) composite(in *unstructured.Unstructured, got *outcome) *unstructured.Unstructured {
	xr := body(got.Desired.GetComposite())
	xr.SetAPIVersion(in.GetAPIVersion())
	xr.SetKind(in.GetKind())
	xr.SetName(in.GetName())
	if v.Namespaces {
		xr.SetNamespace(in.GetNamespace())
	}
	if !v.Conditions {
		return xr
	}
	status, ok := xr.Object["status"].(map[string]any)
	if _, found := xr.Object["status"]; found && !ok {
		return xr // As in these versions, a null or text has no place for conditions.
	}
	if !ok {
		status = map[string]any{}
		xr.Object["status"] = status
	}
	cs := ParseConditions(status["conditions"])
	own := fnv1.Ready_READY_UNSPECIFIED
	if v.CompositeReady {
		own = got.Desired.GetComposite().GetReady()
	}
	cs.Set(ready(own, got.Desired))
	for _, c := range got.Conditions {
		if t := c.GetType(); t != TypeReady && t != TypeSynced && t != "Healthy" {
			cs.Set(fromFunction(c))
		}
	}
	status["conditions"] = cs.Recorded()
	return xr
}

func full(in, xr *unstructured.Unstructured) map[string]any {
	spec, ok := in.Object["spec"]
	if !ok {
		return nil
	}
	all := schema.Copy(xr.Object)
	all["spec"] = spec
	if meta, ok := in.Object["metadata"]; ok {
		all["metadata"] = meta
	}
	return all
}
