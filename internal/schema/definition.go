package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// A Definition is a kind of custom resources, with the schema of each version.
type Definition struct {
	// GroupKind is the kind that the CRD, XRD or MRD defines.
	GroupKind schema.GroupKind
	// Namespaced is true if the kind is namespaced.
	Namespaced bool
	// Converts is true if a webhook converts objects between versions. Otherwise versions of
	// an object differ only in their apiVersion.
	Converts bool

	versions []lazyVersion
	// slim is the definition without its schemas, and names the field of spec with the names of its kind.
	slim map[string]any
	// dropped are the faults of the fields of an XRD that Crossplane drops.
	dropped []Fault
	names   string
}

// ForClaims makes the CRD of an XRD's claims refer to the names in the XRD.
func (d *Definition) ForClaims() { d.names = "claimNames" }

// Definitions maps kinds to their definitions.
type Definitions map[schema.GroupKind]*Definition

// Definition returns the definition of a kind, or nil.
func (d Definitions) Definition(kind schema.GroupKind) *Definition { return d[kind] }

// A lazyVersion is a version whose schema is decoded at the first call of load.
type lazyVersion struct {
	name string
	load func() version
}

// A version is one API version of the kind that a Definition defines.
type version struct {
	name   string
	served bool
	// at is the path of the version's schema in the CRD, XRD or MRD.
	at *field.Path
	// props is the schema, and structural the same schema in structural form. Both
	// are nil if there is no schema; structural is also nil if err is not.
	props      *apiextensions.JSONSchemaProps
	structural *structural.Structural
	// err is the reason why the schema has no structural form.
	err error
	// undecodable are the faults of a schema that is not an OpenAPI v3 schema.
	undecodable []Fault
	// validators returns the compiled schema. It compiles the schema once.
	validators func() validators
	// applyType returns how a server-side apply merges objects. It converts the schema once.
	applyType func() ApplyType
}

// Versions returns the names of all versions, in the order of the definition.
func (d *Definition) Versions() []string {
	names := make([]string, len(d.versions))
	for i, v := range d.versions {
		names[i] = v.name
	}
	return names
}

// A definer is the part of a CRD or MRD from which a Definition is decoded, without the schemas.
type definer struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		// Conversion has the strategy None or Webhook. None is the default.
		Conversion struct {
			Strategy string `json:"strategy"`
		} `json:"conversion"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
	} `json:"spec"`
}

// New returns the definition in a v1 CustomResourceDefinition or a
// ManagedResourceDefinition. It returns an error for other objects. Check returns the faults
// of the schemas.
func New(obj map[string]any) (*Definition, error) {
	if kind := obj["kind"]; kind != "CustomResourceDefinition" && kind != "ManagedResourceDefinition" {
		return nil, fmt.Errorf("expected a CustomResourceDefinition, got %v", kind)
	}
	slim, schemas := withoutSchemas(obj)
	data, err := json.Marshal(slim)
	if err != nil {
		return nil, fmt.Errorf("encoding a definition: %w", err)
	}
	var d definer
	// The API server ignores a field such as Spec, in which the case of a letter differs.
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &d); err != nil {
		return nil, fmt.Errorf("decoding a definition: %w", err)
	}
	def := &Definition{GroupKind: schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}, Namespaced: d.Spec.Scope == "Namespaced", slim: slim, names: "names"}
	def.Converts = d.Spec.Conversion.Strategy != "" && d.Spec.Conversion.Strategy != string(extv1.NoneConverter)
	for i, from := range d.Spec.Versions {
		v := version{name: from.Name, served: from.Served, at: field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")}
		load := func() version { return v }
		if schemas[i] != nil {
			text, err := json.Marshal(schemas[i])
			if err != nil {
				return nil, fmt.Errorf("encoding a definition: %w", err)
			}
			load = sync.OnceValue(func() version { return v.decode(text) })
		}
		def.versions = append(def.versions, lazyVersion{v.name, load})
	}
	return def, nil
}

// withoutSchemas returns obj without its large and unused parts, and the schema of each version or
// nil. It does not change obj.
func withoutSchemas(obj map[string]any) (slim map[string]any, schemas []any) {
	spec, ok := obj["spec"].(map[string]any)
	if !ok {
		return obj, nil
	}
	spec = maps.Clone(spec)
	if versions, ok := spec["versions"].([]any); ok {
		versions, schemas = slices.Clone(versions), make([]any, len(versions))
		for i := range versions {
			v, _ := versions[i].(map[string]any)
			if s, ok := v["schema"].(map[string]any); ok {
				schemas[i] = s["openAPIV3Schema"]
				v = maps.Clone(v)
				delete(v, "schema")
				versions[i] = v
			}
		}
		spec["versions"] = versions
	}
	return map[string]any{"spec": spec, "metadata": map[string]any{"annotations": fieldpath.At(obj, "metadata", "annotations")}}, schemas
}

func (v *version) setSchema(s *extv1.JSONSchemaProps) {
	v.props = &apiextensions.JSONSchemaProps{}
	if v.err = extv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, v.props, nil); v.err != nil {
		return
	}
	if v.structural, v.err = structural.NewStructural(v.props); v.err == nil {
		props, tree := v.props, v.structural
		v.validators = sync.OnceValue(func() validators { return newValidators(props, tree) })
		v.applyType = sync.OnceValue(func() ApplyType { return newApplyType(tree) })
	}
}

// Define returns the kinds that obj defines: the kind of a CRD or MRD, or the XRs and
// claims of an XRD. For other objects, and for CRDs of v1beta1, it returns no kinds.
func Define(obj map[string]any) ([]*Definition, error) {
	if !crd.Defines(obj) || obj["apiVersion"] == "apiextensions.k8s.io/v1beta1" {
		return nil, nil
	}
	crds := []map[string]any{obj}
	if crd.IsXRD(obj) {
		var err error
		if crds, err = crd.Share(obj); err != nil {
			return nil, err
		}
	}
	defs := make([]*Definition, 0, len(crds))
	for _, crd := range crds {
		def, err := New(crd)
		if err != nil {
			return nil, err
		}
		defs = append(defs, def)
	}
	if len(defs) > 0 && crd.IsXRD(obj) {
		defs[0].dropped = dropped(obj)
	}
	for _, claims := range defs[1:] {
		claims.ForClaims()
	}
	return defs, nil
}
