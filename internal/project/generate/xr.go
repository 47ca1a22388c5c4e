package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/project/models"
	"github.com/xfn-dev/xfn/internal/schema"
)

// XROptions are the options of XR.
type XROptions struct {
	// Name and Kind are the name and kind of the XR. An XR for a claim has the claim's name
	// with a suffix, and the claim's kind after an X.
	Name, Kind string
	// Direct leaves out the reference to the claim, and the suffix of the name.
	Direct bool
	// UID is set in the XR, unless it is "".
	UID string
}

// XR returns an XR: an example for an XRD, or the XR that belongs to a claim.
func XR(obj map[string]any, o XROptions) (map[string]any, error) {
	xr := exampleXR
	if (&unstructured.Unstructured{Object: obj}).GetKind() != "CompositeResourceDefinition" {
		xr = claimedXR
	}
	made, err := xr(obj, o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: made}
	if o.Name != "" {
		u.SetName(o.Name)
	}
	if o.Kind != "" {
		u.SetKind(o.Kind)
	}
	if o.UID != "" {
		if err := unstructured.SetNestedField(made, o.UID, "metadata", "uid"); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// claimedXR returns the XR of a claim, with the claim's annotations, labels and spec. The
// suffix of its name is a hash of the claim's name, so that it is the same in each run.
func claimedXR(obj map[string]any, o XROptions) (map[string]any, error) {
	claim := (&unstructured.Unstructured{Object: obj}).DeepCopy()
	spec, ok := claim.Object["spec"].(map[string]any)
	if claim.GetAPIVersion() == "" || claim.GroupVersionKind().Kind == "" || !ok || schema.HasNoXRs(claim.GroupVersionKind().GroupVersion()) {
		return nil, errors.New("expected an XRD, or a claim with an apiVersion, a kind and a spec")
	}
	xr := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	xr.SetAPIVersion(claim.GetAPIVersion())
	xr.SetKind("X" + claim.GetKind())
	xr.SetName(claim.GetName())
	xr.SetAnnotations(claim.GetAnnotations())
	labels := claim.GetLabels()
	if delete(labels, "crossplane.io/composite"); len(labels) > 0 {
		xr.SetLabels(labels)
	}
	if !o.Direct {
		composition.Bind(xr, claim)
	}
	return xr.Object, nil
}

// exampleXR returns an XR with the required fields of an XRD.
func exampleXR(xrd map[string]any, _ XROptions) (map[string]any, error) {
	group, kind := fieldpath.Text(xrd, "spec", "group"), fieldpath.Text(xrd, "spec", "names", "kind")
	version := referenceable(xrd)
	if group == "" || kind == "" || version == "" {
		return nil, errors.New("expected an XRD with a group, a kind, and a version that is served and referenceable")
	}
	versions, _, _ := unstructured.NestedSlice(xrd, "spec", "versions")
	i := slices.IndexFunc(versions, func(v any) bool { m, _ := v.(map[string]any); return m["name"] == version })
	v, _ := versions[i].(map[string]any)
	in, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema", "properties", "spec")
	schema, err := models.DecodeSchema(in)
	if err != nil {
		return nil, err
	}
	xr := &unstructured.Unstructured{Object: map[string]any{"spec": example(schema, "spec")}}
	xr.SetAPIVersion(group + "/" + version)
	xr.SetKind(kind)
	xr.SetName("example")
	if scope := fieldpath.Text(xrd, "spec", "scope"); scope == "Namespaced" || scope == "" && !strings.HasSuffix(fmt.Sprint(xrd["apiVersion"]), "/v1") {
		xr.SetNamespace("default")
	}
	return xr.Object, nil
}

// example returns a value that a schema allows: its default, the first value of its enum, or
// a value of its type with the required fields. name is the name of the field.
func example(s *models.Schema, name string) any {
	value := s.Default
	if value == nil && len(s.Enum) > 0 {
		value = s.Enum[0]
	}
	if n, ok := value.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i
		}
		f, _ := n.Float64()
		return f
	}
	if value != nil {
		return value
	}
	switch s.Type {
	case "object":
		fields := map[string]any{}
		for _, key := range s.Required {
			if p := s.Properties[key]; p != nil {
				fields[key] = example(p, key)
			}
		}
		return fields
	case "array":
		if s.Items == nil || s.MinItems == nil {
			return []any{}
		}
		return []any{example(s.Items, name)}
	case "boolean":
		return false
	case "integer", "number":
		if n, err := s.Minimum.Int64(); err == nil {
			return n
		}
		return int64(1)
	case "string":
		return name
	}
	return map[string]any{}
}
