package patchandtransform

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

type reference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// connectionSecret returns the Secret with the XR's connection details, by the name of the
// Secret in the desired state. It returns nil if p composes none, if there are no connection details,
// or if the XR has no spec.crossplane, like XRs before Crossplane v2.
func (r *run) connectionSecret(p *program) (map[string]*fnv1.Resource, error) {
	spec := r.xr.GetFields()["spec"].GetStructValue().GetFields()
	if _, v2 := spec["crossplane"]; !v2 || !p.secrets || len(r.details) == 0 {
		return nil, nil
	}
	ref, err := r.patchReference(r.reference(spec, p.secret), p.secretPatches)
	if err != nil {
		return nil, fmt.Errorf("cannot generate connection secret reference: cannot apply connection secret patches: %w", err)
	}
	data := make(map[string]any, len(r.details))
	for key, value := range r.details {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	body := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1", "data": data,
	}}
	body.SetName(ref.Name)
	body.SetNamespace(ref.Namespace)
	resource, err := sdk.Struct(body.Object)
	if err != nil {
		return nil, err
	}
	name, _ := identity(r.req.GetObserved().GetComposite())
	return map[string]*fnv1.Resource{name + "-connection-secret": {Resource: resource, Ready: fnv1.Ready_READY_TRUE}}, nil
}

func identity(resource *fnv1.Resource) (name, namespace string) {
	metadata := resource.GetResource().GetFields()["metadata"].GetStructValue().GetFields()
	return metadata["name"].GetStringValue(), metadata["namespace"].GetStringValue()
}

// reference returns the name and namespace of the Secret. They come from the XR's
// writeConnectionSecretToRef, from the input, or from the name of the XR, in this order.
func (r *run) reference(spec map[string]*structpb.Value, secret *spec.ConnectionSecret) reference {
	if v, ok := spec["writeConnectionSecretToRef"]; ok {
		var ref reference
		if text, err := json.Marshal(v.AsInterface()); err == nil && kjson.UnmarshalCaseSensitivePreserveInts(text, &ref) == nil {
			return ref
		}
	}
	if secret != nil && (secret.Name != "" || secret.Namespace != "") {
		return reference{secret.Name, secret.Namespace}
	}
	name, namespace := identity(r.req.GetObserved().GetComposite())
	return reference{name + "-connection", namespace}
}

func (r *run) patchReference(ref reference, patches []placedPatch) (reference, error) {
	to := &patch.Object{Fields: map[string]any{"apiVersion": "v1", "kind": "SecretReference", "name": ref.Name, "namespace": ref.Namespace}}
	for i := range patches {
		p := &patches[i]
		if p.Type != spec.FromCompositeFieldPath && p.Type != spec.CombineFromComposite {
			return ref, fmt.Errorf("unsupported patch type %s at index %d", p.Type, i)
		}
		err := r.apply(p, p.Source(r.xr), to)
		if err != nil && (p.Type.IsCombine() || p.Policy != spec.FromOptional) {
			return ref, fmt.Errorf("cannot apply patch type %s at index %d: %w", p.Type, i, err)
		}
	}
	if name, ok := to.Fields["name"].(string); ok {
		ref.Name = name
	}
	if namespace, ok := to.Fields["namespace"].(string); ok {
		ref.Namespace = namespace
	}
	return ref, nil
}
