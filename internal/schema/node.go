package schema

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// Types is a set of JSON types.
type Types uint8

// The JSON types. Number, as schemas call it, includes Integer and Fraction.
const (
	String Types = 1 << iota
	Integer
	Fraction
	Boolean
	Object
	Array
	Null

	Number = Integer | Fraction
	Any    = String | Number | Boolean | Object | Array | Null
)

// String describes the types for error messages, such as "a string or an integer".
func (t Types) String() string {
	switch {
	case t&Any == Any, t|Null == Any:
		return "a value of any type"
	case t&Number == Number:
		t &^= Integer
	}
	text := ""
	for i, name := range []string{"a string", "an integer", "a number", "a boolean", "an object", "an array", "null"} {
		if t&(1<<i) == 0 {
			continue
		}
		if text != "" {
			text += " or "
		}
		text += name
	}
	return text
}

// A Node is the schema of a value. The zero Node allows any value.
type Node struct {
	schema *structural.Structural
	// resource is true for the schema of a Kubernetes object, which has
	// apiVersion, kind and metadata.
	resource bool
}

// Root returns the schema of a whole object of the version called name. It
// returns an error if the version does not exist or its schema is invalid.
func (d *Definition) Root(name string) (Node, error) {
	v, err := d.valid(name)
	if err != nil {
		return Node{}, err
	}
	if errs := structural.ValidateStructural(v.at, v.structural); len(errs) > 0 {
		f := faults(errs[:1])[0]
		return Node{}, fmt.Errorf("the schema of version %s cannot be used: %s %s", name, f.Field, f.Text)
	}
	return Node{v.structural, true}, nil
}

var typeNames = map[string]Types{
	"string": String, "integer": Integer, "number": Number, "boolean": Boolean, "object": Object, "array": Array,
}

// Types returns the JSON types that the value may have. A schema with an
// unknown type allows all types.
func (n Node) Types() Types {
	if n.schema == nil {
		return Any
	}
	types, known := typeNames[n.schema.Type]
	switch {
	case n.schema.XIntOrString:
		types = Integer | String
	case !known:
		return Any
	}
	if n.schema.Nullable {
		types |= Null
	}
	return types
}

// Field returns the schema of the field called name. The bool is false if the
// schema does not allow such a field.
func (n Node) Field(name string) (Node, bool) {
	if n.schema == nil {
		return Node{}, true
	}
	if n.resource || n.schema.XEmbeddedResource {
		if field, ok := kubernetes().Properties[name]; ok {
			return Node{schema: &field}, true
		}
	}
	if field, ok := n.schema.Properties[name]; ok {
		return Node{schema: &field}, true
	}
	switch rest := n.schema.AdditionalProperties; {
	case rest != nil && rest.Structural != nil:
		return Node{schema: rest.Structural}, true
	case rest != nil && rest.Bool, n.schema.XPreserveUnknownFields:
		return Node{}, true
	}
	return Node{}, n.Types() == Any
}

// Rest returns the schema of the fields that Named does not return. The bool is
// false if the schema allows no such fields.
func (n Node) Rest() (Node, bool) {
	// No schema has a property with an empty name, so Field returns the schema of
	// all other fields.
	return n.Field("")
}

// Named returns the names of the schema's properties in sorted order.
func (n Node) Named() []string {
	if n.schema == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(n.schema.Properties))
}

// Always reports whether the field called name is required or has a default.
func (n Node) Always(name string) bool {
	if n.schema == nil {
		return false
	}
	required := n.schema.ValueValidation != nil && slices.Contains(n.schema.ValueValidation.Required, name)
	return required || n.schema.Properties[name].Default.Object != nil
}

// Element returns the schema of the elements of a list.
func (n Node) Element() Node {
	if n.schema == nil {
		return Node{}
	}
	return Node{schema: n.schema.Items}
}

// Enum returns the values that an enum allows, or nil if the schema has no enum.
func (n Node) Enum() []any {
	if n.schema == nil || n.schema.ValueValidation == nil {
		return nil
	}
	var values []any
	for _, v := range n.schema.ValueValidation.Enum {
		values = append(values, v.Object)
	}
	return values
}

// kubernetes is the schema of apiVersion, kind and metadata. Schemas of kinds
// can only restrict these fields (Kubernetes' API conventions, "Metadata").
var kubernetes = sync.OnceValue(func() *structural.Structural {
	text, number, truth := typed("string"), typed("integer"), typed("boolean")
	texts := typed("object")
	texts.AdditionalProperties = &structural.StructuralOrBool{Structural: &text}
	owner := typed("object")
	owner.Properties = map[string]structural.Structural{
		"apiVersion": text, "kind": text, "name": text, "uid": text, "controller": truth, "blockOwnerDeletion": truth,
	}
	manager := typed("object")
	manager.XPreserveUnknownFields = true
	meta := typed("object")
	meta.Properties = map[string]structural.Structural{
		"name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text, "resourceVersion": text,
		"generation": number, "creationTimestamp": text, "deletionTimestamp": text, "deletionGracePeriodSeconds": number,
		"labels": texts, "annotations": texts, "finalizers": list(text), "ownerReferences": list(owner), "managedFields": list(manager),
	}
	object := typed("object")
	object.Properties = map[string]structural.Structural{"apiVersion": text, "kind": text, "metadata": meta}
	return &object
})

func typed(name string) structural.Structural {
	return structural.Structural{Generic: structural.Generic{Type: name}}
}

func list(of structural.Structural) structural.Structural {
	l := typed("array")
	l.Items = &of
	return l
}
