package schema

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An XRD is a decoded CompositeResourceDefinition.
type XRD struct {
	obj map[string]any
}

// NewXRD returns the XRD in obj, of any version. An object of another kind is
// an error.
func NewXRD(obj map[string]any) (XRD, error) {
	u := unstructured.Unstructured{Object: obj}
	gvk := u.GroupVersionKind()
	if gvk.Group != "apiextensions.crossplane.io" || gvk.Kind != "CompositeResourceDefinition" {
		return XRD{}, fmt.Errorf("expected a CompositeResourceDefinition, got %s %q", u.GetKind(), u.GetName())
	}
	return XRD{obj: obj}, nil
}

// Legacy reports whether XRs have the schema of Crossplane v1: those of a v1
// XRD without a scope, and of any with scope LegacyCluster.
func (x XRD) Legacy() bool {
	if scope := x.text("scope"); scope != "" {
		return scope == "LegacyCluster"
	}
	return x.obj["apiVersion"] == "apiextensions.crossplane.io/v1"
}

// Defines returns an error unless the XRD defines the group and kind.
func (x XRD) Defines(gvk schema.GroupVersionKind) error {
	group, kind := x.text("group"), x.Kind()
	if group != gvk.Group || kind != gvk.Kind {
		return fmt.Errorf("it defines %s of group %q, not %s of group %q", kind, group, gvk.Kind, gvk.Group)
	}
	return nil
}

// Kind returns the kind of the XRs.
func (x XRD) Kind() string { return x.text("names", "kind") }

// Offers reports whether gvk is the kind of the XRD's claims, in any version.
func (x XRD) Offers(gvk schema.GroupVersionKind) bool {
	kind := x.text("claimNames", "kind")
	return kind != "" && kind == gvk.Kind && x.text("group") == gvk.Group
}

// EnforcedComposition returns the name of the Composition for all XRs, or "".
func (x XRD) EnforcedComposition() string { return x.text("enforcedCompositionRef", "name") }

// DefaultComposition returns the name of the Composition for XRs that select
// none, or "".
func (x XRD) DefaultComposition() string { return x.text("defaultCompositionRef", "name") }

// text returns the string at a path below spec, or "".
func (x XRD) text(path ...string) string {
	s, _, _ := unstructured.NestedString(x.obj, append([]string{"spec"}, path...)...)
	return s
}

// Default applies the defaults of the schema of xr's version. It returns an
// error if the XRD lacks the version.
func (x XRD) Default(xr *unstructured.Unstructured) error {
	s, err := x.versionSchema(xr.GroupVersionKind())
	if err != nil {
		return err
	}
	fill(xr.Object, s)
	return nil
}

func (x XRD) versionSchema(gvk schema.GroupVersionKind) (map[string]any, error) {
	versions, _, _ := unstructured.NestedSlice(x.obj, "spec", "versions")
	for _, v := range versions {
		if m, ok := v.(map[string]any); ok && m["name"] == gvk.Version {
			s, _, _ := unstructured.NestedMap(m, "schema", "openAPIV3Schema")
			return s, nil
		}
	}
	return nil, fmt.Errorf("version %q does not exist", gvk.Version)
}

// fill applies defaults from the outside in, as the API server does: a parent
// that is absent and has no default is not created. A null counts as absent
// where the schema does not allow it.
func fill(v any, schema map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		fillObject(v, schema)
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i := range v {
			if d, ok := defaultFor(v[i], true, items); ok {
				v[i] = d
			}
			fill(v[i], items)
		}
	}
}

func fillObject(obj, schema map[string]any) {
	props, _ := schema["properties"].(map[string]any)
	for name := range props {
		prop, _ := props[name].(map[string]any)
		was, found := obj[name]
		if d, ok := defaultFor(was, found, prop); ok {
			obj[name] = d
		}
	}
	rest, _ := schema["additionalProperties"].(map[string]any)
	for name := range obj {
		prop, ok := props[name].(map[string]any)
		if !ok {
			prop = rest
			if d, ok := defaultFor(obj[name], true, prop); ok {
				obj[name] = d
			}
		}
		fill(obj[name], prop)
	}
}

func defaultFor(v any, found bool, schema map[string]any) (any, bool) {
	d := schema["default"]
	if d == nil || found && (v != nil || schema["nullable"] == true) {
		return nil, false
	}
	return runtime.DeepCopyJSONValue(d), true
}
