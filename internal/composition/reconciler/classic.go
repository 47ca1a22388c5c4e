package reconciler

import (
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Pipeline returns the input of a pipeline of this version, without its
// context.
func (v ClassicVersion) Pipeline(in Input, state *fnv1.State) PipelineInput {
	p := PipelineInput{Steps: in.Composition.Spec.Pipeline, Observed: state}
	all := append(in.Required[:len(in.Required):len(in.Required)], in.Extra...)
	if v.Capabilities {
		p.Meta = func(*fnv1.RunFunctionRequest) (*fnv1.RequestMeta, error) { return Capabilities(), nil }
	}
	if v.Credentials {
		p.Secret = in.Credentials.Secret
	}
	if v.Requirements {
		p.Requirements = Requirements{Bootstrap: in.Required.ByName, Dynamic: all.ByName, Schema: in.findSchema}
	} else {
		p.Requirements = Requirements{Dynamic: all.InOrder, OnlyExtra: true}
	}
	return p
}

// Assemble returns a render's output for the pipeline's desired state. Full is
// nil if the XR has no spec. A resource that another object controls is an
// error.
func (v ClassicVersion) Assemble(in Input, got *PipelineOutcome) (*Output, error) {
	names := Names(got.Desired)
	observed := ByName(in.Observed)
	out := &Output{Composed: make([]map[string]any, 0, len(names))}
	for _, name := range names {
		u := Body(got.Desired.GetResources()[name])
		KeepIdentity(u, observed[name])
		if err := v.adopt(u, in.XR, name); err != nil {
			return nil, fmt.Errorf("composing resource %q: %w", name, err)
		}
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
	xr := v.document(in.XR, got)
	out.XR = xr.Object
	out.Full = full(in.XR, xr)
	return out, nil
}

func (v ClassicVersion) adopt(u, xr *unstructured.Unstructured, name string) error {
	if v.Namespaces {
		ForceNamespace(u, xr)
	}
	labels := Labels{Composite: xr.GetName()}
	if v.Nested {
		labels = LabelsOf(xr)
	} else if ref, ok, _ := unstructured.NestedStringMap(xr.Object, "spec", "claimRef"); ok {
		labels.ClaimName, labels.ClaimNamespace = ref["name"], ref["namespace"]
	}
	if !v.Nested || u.GetName() == "" && u.GetGenerateName() == "" {
		u.SetGenerateName(labels.Composite + "-")
	}
	labels.Mark(u, name)
	return SetController(u, xr)
}

// document returns the XR as functions desired it, with its original name.
func (v ClassicVersion) document(in *unstructured.Unstructured, got *PipelineOutcome) *unstructured.Unstructured {
	xr := Body(got.Desired.GetComposite())
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
	cs := ParseConditions(status["conditions"])
	cs.Set(v.ready(got.Desired))
	for _, c := range got.Conditions {
		if t := c.GetType(); t != TypeReady && t != TypeSynced && t != "Healthy" {
			cs.Set(FromFunction(c))
		}
	}
	status["conditions"] = cs.Value()
	return xr
}

func (v ClassicVersion) ready(desired *fnv1.State) Condition {
	if !v.CompositeReady && desired.GetComposite() != nil {
		desired = &fnv1.State{Composite: proto.CloneOf(desired.GetComposite()), Resources: desired.GetResources()}
		desired.Composite.Ready = fnv1.Ready_READY_UNSPECIFIED
	}
	return Ready(desired)
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
