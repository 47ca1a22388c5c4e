package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// An XRD is a CompositeResourceDefinition of any API version.
type XRD struct {
	obj        map[string]any
	release    Release
	definition func() (*Definition, error)
}

// NewXRD returns the XRD in obj, or an error if obj is of another kind or has an
// unknown scope (crd.CheckScope).
func NewXRD(obj map[string]any) (XRD, error) {
	u := unstructured.Unstructured{Object: obj}
	gvk := u.GroupVersionKind()
	if gvk.Group != "apiextensions.crossplane.io" || gvk.Kind != "CompositeResourceDefinition" {
		got := "an object without a kind"
		if u.GetKind() != "" {
			got = fmt.Sprintf("%s %q", u.GetKind(), u.GetName())
		}
		err := fmt.Errorf("expected a CompositeResourceDefinition, got %s", got)
		return XRD{}, SuggestKind(err, u.GetAPIVersion(), u.GetKind())
	}
	if err := crd.CheckScope(obj); err != nil {
		return XRD{}, err
	}
	return XRD{obj: obj}.In(V2_3), nil
}

// RootFields are the fields of the CRD that Crossplane derives from any XRD.
func RootFields() []string { return []string{"apiVersion", "kind", "metadata", "spec", "status"} }

// defaultDeletePolicy is a field in the spec of an XRD that only affects claims.
const defaultDeletePolicy = "defaultCompositeDeletePolicy"

// ForClaims reports whether only claims have a field that is unknown in a composite resource or an
// XRD.
func ForClaims(field string) bool {
	return field == "spec.compositeDeletePolicy" || field == "spec.crossplane.compositeDeletePolicy"
}

func hasClaims(xrd map[string]any) bool {
	_, ok := fieldpath.Map(xrd, "spec")["claimNames"]
	return ok
}

// dropped returns a fault for each field at the root of an XRD's schemas that Crossplane drops, and for
// a default that is only for claims.
func dropped(xrd map[string]any) (found []Fault) {
	if _, ok := fieldpath.Map(xrd, "spec")[defaultDeletePolicy]; ok && !hasClaims(xrd) {
		found = append(found, Fault{Field: "spec." + defaultDeletePolicy, Text: "only claims have compositeDeletePolicy, and the XRD has no claims: remove it"})
	}
	roots := RootFields()
	for i, version := range fieldpath.List(xrd, "spec", "versions") {
		for _, name := range slices.Sorted(maps.Keys(fieldpath.Map(version, "schema", "openAPIV3Schema", "properties"))) {
			if !slices.Contains(roots, name) {
				found = append(found, Fault{
					Field: fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema.properties.%s", i, name), Nearest: hint.Nearest(name, roots),
					Text: "Crossplane keeps only spec and status of this schema, so no composite resource has this field: declare it below spec or status",
				})
			}
		}
	}
	return found
}

// Undecodable returns the faults of the XRD's schemas that are not OpenAPI v3 schemas.
// Crossplane derives no CRD from such an XRD. Fault.Field is a path in the XRD.
func (x XRD) Undecodable() []Fault {
	def, err := x.definition()
	if err != nil {
		return nil
	}
	var found []Fault
	for _, v := range def.versions {
		found = append(found, v.load().undecodable...)
	}
	return found
}

// In returns the XRD as a release of Crossplane uses it.
func (x XRD) In(r Release) XRD {
	if x.definition != nil && x.release.Legacy() == r.Legacy() {
		return x // The definition is the same.
	}
	return XRD{x.obj, r, sync.OnceValues(func() (*Definition, error) {
		derived, err := crd.Composites(x.obj)
		if err != nil {
			return nil, err
		}
		if r.Legacy() {
			derived = crd.WithSecretStores(derived)
		}
		return New(derived)
	})}
}

// Legacy reports whether XRs have Crossplane's fields directly in spec, as in
// Crossplane v1. It is true if the scope is LegacyCluster, or the XRD is of
// version v1 and has no scope.
func (x XRD) Legacy() bool {
	if scope := x.text("scope"); scope != "" {
		return scope == "LegacyCluster"
	}
	return x.obj["apiVersion"] == "apiextensions.crossplane.io/v1"
}

// Defines returns an error unless the XRs have the group and kind of gvk.
func (x XRD) Defines(gvk schema.GroupVersionKind) error {
	group, kind := x.text("group"), x.Kind()
	if gvk.Kind == "" {
		return fmt.Errorf("the object has no kind, and the XRD defines %s of group %q", kind, group)
	}
	if group != gvk.Group || kind != gvk.Kind {
		return fmt.Errorf("the XRD defines %s of group %q, not %s of group %q", kind, group, gvk.Kind, gvk.Group)
	}
	return nil
}

// IsNamed reports whether the XRD has the group and the kind of its XRs.
func (x XRD) IsNamed() bool { return x.text("group") != "" && x.Kind() != "" }

// Kind returns the kind of the XRs.
func (x XRD) Kind() string { return x.text("names", "kind") }

// Offers reports whether the XRD's claims have the group and kind of gvk.
func (x XRD) Offers(gvk schema.GroupVersionKind) bool {
	kind := x.text("claimNames", "kind")
	return kind != "" && kind == gvk.Kind && x.text("group") == gvk.Group
}

// EnforcedComposition returns the name of the Composition that all XRs must use, or "".
func (x XRD) EnforcedComposition() string { return x.text("enforcedCompositionRef", "name") }

// DefaultComposition returns the name of the default Composition, or "".
func (x XRD) DefaultComposition() string { return x.text("defaultCompositionRef", "name") }

// ConnectionSecretKeys returns the keys of connection details that Crossplane publishes.
// If the XRD lists no keys, Crossplane publishes all.
func (x XRD) ConnectionSecretKeys() []string {
	keys, _, _ := unstructured.NestedStringSlice(x.obj, "spec", "connectionSecretKeys")
	return keys
}

// text returns the string at a path in the XRD's spec, or "".
func (x XRD) text(path ...string) string {
	return fieldpath.Text(fieldpath.Map(x.obj, "spec"), path...)
}

// Complete returns an error if Crossplane cannot derive CRDs from the XRD, for example because a
// version has no schema.
func (x XRD) Complete() error {
	_, err := crd.Share(x.obj)
	return err
}

// Definition returns the definition of the XRs, or an error if Crossplane can generate no CRD.
func (x XRD) Definition() (*Definition, error) { return x.definition() }

// Removed returns the fields that an API server removes from xr, an XR with defaults, without
// an error: nulls of fields that are not nullable, and the namespace of a cluster-scoped XR.
// It returns none if the XR's version has no schema.
func (x XRD) Removed(xr map[string]any) []Fault {
	def, err := x.definition()
	if err != nil {
		return nil
	}
	u := unstructured.Unstructured{Object: xr}
	v, err := def.valid(u.GroupVersionKind().Version)
	if err != nil {
		return nil
	}
	var found []Fault
	if u.GetNamespace() != "" && !def.Namespaced {
		found = append(found, Fault{Field: "metadata.namespace", Text: u.GetKind() + " is cluster-scoped"})
	}
	pruned := Copy(xr)
	defaulting.PruneNonNullableNullsWithoutDefaults(pruned, v.structural)
	for _, path := range missing(nil, xr, pruned) {
		found = append(found, Fault{Field: path, Text: "the value is null, and the field is not nullable"})
	}
	return found
}

// missing returns the paths of the nulls below at that before contains and after lacks.
func missing(at *field.Path, before, after any) []string {
	var found []string
	switch before := before.(type) {
	case map[string]any:
		after, _ := after.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if v, ok := after[key]; ok {
				found = append(found, missing(at.Child(key), before[key], v)...)
			} else {
				found = append(found, FieldName(at.Child(key).String()))
			}
		}
	case []any:
		after, _ := after.([]any)
		for i := range before {
			switch before[i].(type) {
			case map[string]any, []any: // A path for each scalar needs much memory.
				found = append(found, missing(at.Index(i), before[i], after[i])...)
			}
		}
	}
	return found
}

// Default sets missing fields of xr to the defaults of its version in the CRD that
// Crossplane derives from the XRD. It returns an error if the version does not exist or
// its schema is invalid.
func (x XRD) Default(xr *unstructured.Unstructured) error {
	def, err := x.definition()
	if err != nil {
		return err
	}
	name := xr.GroupVersionKind().Version
	switch v, ok := def.version(name); {
	case !ok:
		err := fmt.Errorf("version %q does not exist; the versions are %s", name, strings.Join(def.Versions(), ", "))
		return hint.Wrap(err, "correct the apiVersion of the composite resource, or add the version to the XRD")
	case v.err != nil:
		return fmt.Errorf("the schema of version %s cannot be used: %w", name, v.err)
	case v.structural != nil:
		defaulting.Default(xr.Object, v.structural)
	}
	return nil
}
