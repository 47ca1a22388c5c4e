package schema

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	smdtyped "sigs.k8s.io/structured-merge-diff/v6/typed"
)

// An ApplyType describes how a server-side apply merges objects of a kind.
type ApplyType struct {
	smdtyped.ParseableType
	// Default sets missing fields of an object to their defaults, and the quantities of a kind
	// of Kubernetes to their canonical form.
	Default func(obj map[string]any)
}

// ApplyType returns the ApplyType of a kind in d, or of a kind of Kubernetes. The bool is
// false if neither d nor Kubernetes has gvk. It is safe for concurrent use.
func (d Definitions) ApplyType(gvk schema.GroupVersionKind) (ApplyType, bool) {
	def, ok := d[gvk.GroupKind()]
	if !ok {
		return kubernetesApplyType(gvk)
	}
	v, err := def.valid(gvk.Version)
	if err != nil {
		return ApplyType{}, false
	}
	return v.applyType(), true
}

func newApplyType(s *structural.Structural) ApplyType {
	return ApplyType{
		smdtyped.ParseableType{Schema: smdtyped.DeducedParseableType.Schema, TypeRef: smd.TypeRef{Inlined: atomOf(s, true)}},
		func(obj map[string]any) { defaulting.Default(obj, s) },
	}
}

var (
	scalar  = smd.Untyped
	anyName = *smdtyped.DeducedParseableType.TypeRef.NamedType
	// anything is the type of values without a schema: objects are merged, lists replaced.
	anything = smd.TypeRef{NamedType: &anyName}
)

// atomOf returns the type for a structural schema, by the rules of an API server.
// resource is true for the schema of a Kubernetes object.
func atomOf(s *structural.Structural, resource bool) smd.Atom {
	switch {
	case s.XIntOrString:
		return smd.Atom{Scalar: &scalar}
	case s.Type == "array":
		return smd.Atom{List: listOf(s)}
	case s.Type == "object":
		return smd.Atom{Map: mapOf(s, resource || s.XEmbeddedResource)}
	case s.Type == "":
		return smd.Atom{Scalar: &scalar, List: listOf(s), Map: mapOf(s, resource || s.XEmbeddedResource)}
	default:
		return smd.Atom{Scalar: &scalar}
	}
}

func listOf(s *structural.Structural) *smd.List {
	list := &smd.List{ElementType: anything, ElementRelationship: smd.Atomic}
	if s.Items != nil {
		list.ElementType = smd.TypeRef{Inlined: atomOf(s.Items, false)}
	}
	if s.XListType != nil && *s.XListType != "atomic" {
		list.ElementRelationship, list.Keys = smd.Associative, s.XListMapKeys
	}
	return list
}

func mapOf(s *structural.Structural, resource bool) *smd.Map {
	m := &smd.Map{}
	if s.XMapType != nil && *s.XMapType == "atomic" {
		m.ElementRelationship = smd.Atomic
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if resource && name == "metadata" {
			continue
		}
		property := s.Properties[name]
		m.Fields = append(m.Fields, smd.StructField{Name: name, Type: smd.TypeRef{Inlined: atomOf(&property, false)}, Default: property.Default.Object})
	}
	if resource {
		m.Fields = append(m.Fields, smd.StructField{Name: "metadata", Type: anything})
	}
	switch more := s.AdditionalProperties; {
	case more != nil && more.Structural != nil:
		m.ElementType = smd.TypeRef{Inlined: atomOf(more.Structural, false)}
	case more != nil && more.Bool, s.XPreserveUnknownFields, len(s.Properties) == 0, resource:
		m.ElementType = anything
	}
	return m
}

// applyJSON has the fields of Kubernetes types by the name of the type, without fields that
// are scalars. The type of a field is "*" for any value, "" for a scalar, or the name of a
// type, which may be quantity. A prefix "{}" means a map of this type, "[]" an atomic list,
// "[set]" a set, "[a,b]" a list with the keys a and b, and "!" that the map is atomic. A
// suffix "=" precedes a default in JSON. TestApplyJSON writes the file from the schemas of
// client-go.
//
//go:embed apply.json
var applyJSON []byte

var kubernetesApplyTypes = sync.OnceValue(func() *smd.Schema {
	var types map[string]map[string]string
	if err := json.Unmarshal(applyJSON, &types); err != nil {
		// apply.json is embedded, and a test decodes it.
		panic(err)
	}
	s := &smd.Schema{Types: slices.Clone(smdtyped.DeducedParseableType.Schema.Types)}
	s.Types = append(s.Types, smd.TypeDef{Name: quantity, Atom: smd.Atom{Scalar: &scalar}})
	for name, fields := range types {
		m := &smd.Map{ElementType: anything}
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			text, value, _ := strings.Cut(fields[field], "=")
			f := smd.StructField{Name: field, Type: decodeRef(text)}
			if value != "" {
				_ = json.Unmarshal([]byte(value), &f.Default)
			}
			m.Fields = append(m.Fields, f)
		}
		s.Types = append(s.Types, smd.TypeDef{Name: name, Atom: smd.Atom{Map: m}})
	}
	return s
})

// decodeRef decodes the type of a field in applyJSON.
func decodeRef(text string) smd.TypeRef {
	element, atomic := strings.CutPrefix(text, "!")
	relation := smd.Separable
	if atomic {
		relation = smd.Atomic
	}
	switch {
	case element == "":
		return smd.TypeRef{Inlined: smd.Atom{Scalar: &scalar}}
	case element == "*" && !atomic:
		return anything
	case element == "*":
		return smd.TypeRef{NamedType: &anyName, ElementRelationship: &relation}
	case strings.HasPrefix(element, "{}"):
		return smd.TypeRef{Inlined: smd.Atom{Map: &smd.Map{ElementType: decodeRef(element[len("{}"):]), ElementRelationship: relation}}}
	case element[0] == '[':
		keys, of, _ := strings.Cut(element[1:], "]")
		list := &smd.List{ElementType: decodeRef(of), ElementRelationship: smd.Associative}
		switch keys {
		case "":
			list.ElementRelationship = smd.Atomic
		case "set":
		default:
			list.Keys = strings.Split(keys, ",")
		}
		return smd.TypeRef{Inlined: smd.Atom{List: list}}
	case atomic:
		return smd.TypeRef{NamedType: &element, ElementRelationship: &relation}
	default:
		return smd.TypeRef{NamedType: &element}
	}
}

// ApplyName returns the name of a kind's type in the schemas of Kubernetes, without the
// prefix "io.k8s.api.".
func ApplyName(gvk schema.GroupVersionKind) string {
	group, _, _ := strings.Cut(gvk.Group, ".")
	return cmp.Or(group, "core") + "." + gvk.Version + "." + gvk.Kind
}

func kubernetesApplyType(gvk schema.GroupVersionKind) (ApplyType, bool) {
	if strings.Contains(gvk.Group, ".") && !strings.HasSuffix(gvk.Group, ".k8s.io") {
		return ApplyType{}, false
	}
	all, name := kubernetesApplyTypes(), ApplyName(gvk)
	if _, ok := all.FindNamedType(name); !ok {
		return ApplyType{}, false
	}
	root := smd.TypeRef{NamedType: &name}
	return ApplyType{
		smdtyped.ParseableType{Schema: all, TypeRef: root},
		func(obj map[string]any) { complete(all, root, obj) },
	}, true
}

// quantity is the name of the type of quantities in applyJSON.
const quantity = "quantity"

// complete returns v, a value of the type r, as the API server stores it: with the defaults of
// missing fields, and quantities in canonical form. It changes v.
func complete(s *smd.Schema, r smd.TypeRef, v any) any {
	if r.NamedType != nil && *r.NamedType == quantity {
		return canonical(v)
	}
	atom, _ := s.Resolve(r)
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if atom.List != nil {
				v[i] = complete(s, atom.List.ElementType, item)
			}
		}
	case map[string]any:
		if atom.Map == nil {
			return v
		}
		for _, f := range atom.Fields {
			if _, ok := v[f.Name]; !ok && f.Default != nil {
				v[f.Name] = runtime.DeepCopyJSONValue(f.Default)
			}
		}
		for name, value := range v {
			of := atom.Map.ElementType
			if f, ok := atom.FindField(name); ok {
				of = f.Type
			}
			v[name] = complete(s, of, value)
		}
	}
	return v
}

// canonical returns a quantity in canonical form, or any other value unchanged.
func canonical(v any) any {
	switch v.(type) {
	case string, int64, float64:
	default:
		return v
	}
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	if err != nil {
		return v
	}
	return q.String()
}
