package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/hint"
)

// CheckKeywords returns the errors of strictly decoding the schema s at a path and all
// schemas in it: unknown keywords, and values of a wrong type.
func CheckKeywords(at *field.Path, s map[string]any) []Fault {
	own := maps.Clone(s)
	var found []Fault
	below := func(at *field.Path, v any) {
		if sub, ok := v.(map[string]any); ok {
			found = append(found, CheckKeywords(at, sub)...)
		} else {
			found = append(found, DecodeKind(at, v, reflect.TypeFor[extv1.JSONSchemaProps]())...)
		}
	}
	for _, key := range []string{"additionalProperties", "items", "not"} {
		if sub, ok := s[key].(map[string]any); ok {
			below(at.Child(key), sub)
			delete(own, key)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if all, ok := s[key].([]any); ok {
			for i, sub := range all {
				below(at.Child(key).Index(i), sub)
			}
			delete(own, key)
		}
	}
	if all, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			below(at.Child("properties").Key(name), all[name])
		}
		delete(own, "properties")
	}
	return append(found, DecodeKind(at, own, reflect.TypeFor[extv1.JSONSchemaProps]())...)
}

// undecodable returns the faults because of which data, the JSON of a schema at a path, does
// not decode to a schema. err is the error of decoding.
func undecodable(at *field.Path, data []byte, err error) []Fault {
	var value any
	if kjson.Unmarshal(data, &value) != nil {
		return []Fault{Of(field.Invalid(at, field.OmitValueType{}, err.Error()))}
	}
	s, ok := value.(map[string]any)
	if !ok {
		return DecodeKind(at, value, reflect.TypeFor[extv1.JSONSchemaProps]())
	}
	found := slices.DeleteFunc(CheckKeywords(at, s), func(f Fault) bool { return f.Unknown })
	if len(found) == 0 {
		found = []Fault{Of(field.Invalid(at, field.OmitValueType{}, "expected an OpenAPI v3 schema"))}
	}
	return found
}

// decode sets the schema from its JSON, or undecodable if it is none.
func (v *version) decode(data []byte) {
	s := &extv1.JSONSchemaProps{}
	err := json.Unmarshal(data, s)
	if err == nil {
		v.setSchema(s)
		return
	}
	v.undecodable = undecodable(v.at, data, err)
	v.err = fmt.Errorf("%s", v.undecodable[0])
}

// Undeclared returns a fault for each field that a schema requires without declaring it. The
// API server accepts such a schema. Then it removes the field from all objects, and so refuses them.
func (d *Definition) Undeclared() []Fault {
	var found []Fault
	for _, v := range d.versions {
		if v.structural != nil {
			found = append(found, undeclared(v.at, v.structural, true)...)
		}
	}
	return found
}

// undeclared is like Undeclared, for one schema at a path. resource is true for the schema of
// an object that has apiVersion, kind and metadata.
func undeclared(at *field.Path, s *structural.Structural, resource bool) []Fault {
	var found []Fault
	n := Node{s, resource || s.XEmbeddedResource}
	if s.ValueValidation != nil {
		for i, name := range s.ValueValidation.Required {
			if _, ok := n.Field(name); !ok {
				at := at.Child("required").Index(i)
				found = append(found, Fault{
					Field: FieldName(at.String()), Nearest: hint.Nearest(name, n.Named()),
					Text: fmt.Sprintf("the schema requires the field %q and does not declare it, so the API server refuses all objects", name),
				})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub := s.Properties[name]
		found = append(found, undeclared(at.Child("properties").Key(name), &sub, false)...)
	}
	if s.Items != nil {
		found = append(found, undeclared(at.Child("items"), s.Items, false)...)
	}
	if rest := s.AdditionalProperties; rest != nil && rest.Structural != nil {
		found = append(found, undeclared(at.Child("additionalProperties"), rest.Structural, false)...)
	}
	return found
}
