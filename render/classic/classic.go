package classic

import (
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/render/composite"
	"github.com/xfn-dev/xfn/render/pipeline"
)

// Pipeline is what a pipeline of this version starts with, but for its context.
func (v Version) Pipeline(in composite.Input, state *fnv1.State) pipeline.Input {
	p := pipeline.Input{Steps: in.Composition.Spec.Pipeline, Observed: state}
	all := append(in.Required[:len(in.Required):len(in.Required)], in.Extra...)
	if v.Capabilities {
		p.Meta = func(*fnv1.RunFunctionRequest) (*fnv1.RequestMeta, error) { return composite.Capabilities(), nil }
	}
	if v.Credentials {
		p.Secret = in.Credentials.Secret
	}
	if v.Requirements {
		p.Requirements = pipeline.Requirements{Bootstrap: in.Required.ByName, Dynamic: all.ByName, Schema: in.Schemas.Find}
	} else {
		p.Requirements = pipeline.Requirements{Dynamic: all.InOrder, OnlyExtra: true}
	}
	return p
}

// Assemble makes a render's output of what the pipeline desires. Its Full is
// nil if the XR has no spec to show. A resource that another object controls is
// an error.
func (v Version) Assemble(in composite.Input, got *pipeline.Outcome) (*composite.Output, error) {
	names := composite.Names(got.Desired)
	observed := composite.ByName(in.Observed)
	out := &composite.Output{Composed: make([]map[string]any, 0, len(names))}
	for _, name := range names {
		u := composite.Body(got.Desired.GetResources()[name])
		composite.KeepIdentity(u, observed[name])
		if err := v.adopt(u, in.XR, name); err != nil {
			return nil, fmt.Errorf("composing resource %q: %w", name, err)
		}
		out.Composed = append(out.Composed, u.Object)
	}
	for _, r := range got.Results {
		out.Results = append(out.Results, map[string]any{
			"apiVersion": composite.APIVersion,
			"kind":       "Result",
			"message":    r.GetMessage(),
			"severity":   r.GetSeverity().String(),
			"step":       r.Step,
		})
	}
	xr := v.document(in.XR, got)
	out.XR = xr.Object
	out.Full = full(in.XR, xr)
	return out, nil
}

func (v Version) adopt(u, xr *unstructured.Unstructured, name string) error {
	if v.Namespaces {
		composite.ForceNamespace(u, xr)
	}
	labels := composite.Labels{Composite: xr.GetName()}
	if v.Nested {
		labels = composite.LabelsOf(xr)
	} else if ref, ok, _ := unstructured.NestedStringMap(xr.Object, "spec", "claimRef"); ok {
		labels.ClaimName, labels.ClaimNamespace = ref["name"], ref["namespace"]
	}
	if !v.Nested || u.GetName() == "" && u.GetGenerateName() == "" {
		u.SetGenerateName(labels.Composite + "-")
	}
	labels.Mark(u, name)
	return composite.SetController(u, xr)
}

// document is the XR as functions desired it, under its own name.
func (v Version) document(in *unstructured.Unstructured, got *pipeline.Outcome) *unstructured.Unstructured {
	xr := composite.Body(got.Desired.GetComposite())
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
	if !ok {
		status = map[string]any{}
		xr.Object["status"] = status
	}
	cs := composite.ParseConditions(status["conditions"])
	cs.Set(v.ready(got.Desired))
	for _, c := range got.Conditions {
		if t := c.GetType(); t != composite.TypeReady && t != composite.TypeSynced && t != "Healthy" {
			cs.Set(composite.FromFunction(c))
		}
	}
	status["conditions"] = cs.Value()
	return xr
}

func (v Version) ready(desired *fnv1.State) composite.Condition {
	if !v.CompositeReady && desired.GetComposite() != nil {
		desired = &fnv1.State{Composite: proto.CloneOf(desired.GetComposite()), Resources: desired.GetResources()}
		desired.Composite.Ready = fnv1.Ready_READY_UNSPECIFIED
	}
	return composite.Ready(desired)
}

func full(in, xr *unstructured.Unstructured) map[string]any {
	spec, ok := in.Object["spec"]
	if !ok {
		return nil
	}
	all := xr.DeepCopy().Object
	all["spec"] = spec
	if meta, ok := in.Object["metadata"]; ok {
		all["metadata"] = meta
	}
	return all
}
