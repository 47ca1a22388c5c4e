package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
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
	for _, f := range DecodeKind(at, own, reflect.TypeFor[extv1.JSONSchemaProps]()) {
		if name := f.Field[strings.LastIndexByte(f.Field, '.')+1:]; f.Unknown && f.Nearest == "" && isMisplaced(name, s) {
			f.Nearest, f.Misplaced = "properties."+name, true
		}
		found = append(found, f)
	}
	return found
}

// otherKeywords are keywords of JSON Schema with a schema as value that OpenAPI v3 lacks.
var otherKeywords = strings.Fields("contains contentSchema else if propertyNames then unevaluatedItems unevaluatedProperties")

// isMisplaced reports whether name, an unknown keyword of the schema s of an object, is probably a
// property: its value is a schema.
func isMisplaced(name string, s map[string]any) bool {
	value, _ := s[name].(map[string]any)
	_, hasType := value["type"].(string)
	_, hasProperties := s["properties"].(map[string]any)
	return hasType && (hasProperties || s["type"] == "object") && !strings.HasPrefix(name, "x-") && !slices.Contains(otherKeywords, name)
}

// undecodable returns the faults that prevent the decoding of data, the JSON of a schema at
// a path. err is the error of decoding.
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

// decode returns v with the schema in data, or with undecodable if data is not a schema.
func (v version) decode(data []byte) version {
	s := &extv1.JSONSchemaProps{}
	err := json.Unmarshal(data, s)
	if err == nil {
		v.setSchema(s)
		return v
	}
	v.undecodable = undecodable(v.at, data, err)
	v.err = fmt.Errorf("%s", v.undecodable[0])
	return v
}

// keyword matches the name of a keyword in an error of structural.NewStructural.
var keyword = proc.Regexp(`'(\S+)'`)

// unsupported returns an error for each keyword that prevents a structural form of s, the schema at
// a path. err is the error of the conversion of s, which does not say where the keyword is.
func unsupported(at *field.Path, s *apiextensions.JSONSchemaProps, err error) field.ErrorList {
	var errs field.ErrorList
	below := func(at *field.Path, sub *apiextensions.JSONSchemaProps) {
		if sub == nil {
			return
		}
		if _, err := structural.NewStructural(sub); err != nil {
			errs = append(errs, unsupported(at, sub, err)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub := s.Properties[name]
		below(at.Child("properties").Key(name), &sub)
	}
	if s.Items != nil {
		below(at.Child("items"), s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		below(at.Child("additionalProperties"), s.AdditionalProperties.Schema)
	}
	below(at.Child("not"), s.Not)
	each := func(name string, all []apiextensions.JSONSchemaProps) {
		for i := range all {
			below(at.Child(name).Index(i), &all[i])
		}
	}
	each("allOf", s.AllOf)
	each("anyOf", s.AnyOf)
	each("oneOf", s.OneOf)
	if m := keyword().FindStringSubmatch(err.Error()); len(errs) == 0 && m != nil {
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "OpenAPIV3Schema "), "internal error: ")
		if name := m[1]; name == "$ref" || name == "definitions" {
			text += ": write each schema where it is used"
		}
		return field.ErrorList{field.Forbidden(at.Child(m[1]), text)}
	}
	if len(errs) == 0 {
		errs = field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())}
	}
	return errs
}

// Undeclared returns the faults of a definition that the API server accepts, but that probably does
// not do what its author means. Such a fault is a field that is required or printed in a column but
// not declared, a misspelled format, a kind in lower case, or a field of an XRD that Crossplane
// drops. The API server removes an undeclared field from all objects: it refuses all objects if the
// field is required, and a column is empty. It ignores an unknown format.
func (d *Definition) Undeclared() []Fault {
	found := slices.Clone(d.dropped)
	if near := upperKind(d.GroupKind.Kind); near != d.GroupKind.Kind {
		found = append(found, Fault{Field: "spec.names.kind", Nearest: near, Text: fmt.Sprintf("the kind %q begins with a lower-case letter", d.GroupKind.Kind)})
	}
	for i, lazy := range d.versions {
		v := lazy.load()
		if v.structural == nil {
			continue
		}
		found = append(found, undeclared(v.at, v.structural, true)...)
		for j, column := range fieldpath.List(fieldpath.List(d.slim, "spec", "versions")[i], "additionalPrinterColumns") {
			if f, ok := v.emptyColumn(fieldpath.Text(column, "jsonPath")); ok {
				f.Field = fmt.Sprintf("spec.versions[%d].additionalPrinterColumns[%d].jsonPath", i, j)
				found = append(found, f)
			}
		}
	}
	return found
}

// upperKind returns a kind with an upper-case letter at the start, as all kinds of Kubernetes have.
func upperKind(kind string) string {
	first := min(1, len(kind))
	return strings.ToUpper(kind[:first]) + kind[first:]
}

// simplePath matches a JSON path that only selects fields.
var simplePath = proc.Regexp(`^(\.[A-Za-z][\w-]*)+$`)

// emptyColumn returns a fault if objects have no field at the JSON path of a printer column.
func (v version) emptyColumn(path string) (Fault, bool) {
	if !simplePath().MatchString(path) {
		return Fault{}, false
	}
	n := Node{v.structural, true}
	for _, name := range strings.Split(path, ".")[1:] {
		next, ok := n.Field(name)
		if !ok {
			return Fault{Text: fmt.Sprintf("the column is empty, because the schema does not declare the field %s", path), Nearest: hint.Nearest(name, n.Named())}, true
		}
		n = next
	}
	return Fault{}, false
}

// formats are the formats that the API server validates, and the formats that describe numbers.
var formats = []string{
	"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13",
	"creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime", "date-time",
	"int32", "int64", "float", "double", "int-or-string", "k8s-short-name", "k8s-long-name",
}

// undeclared is like Undeclared, for one schema at a path. resource is true for the schema of
// an object that has apiVersion, kind and metadata.
func undeclared(at *field.Path, s *structural.Structural, resource bool) []Fault {
	var found []Fault
	n := Node{s, resource || s.XEmbeddedResource}
	if s.ValueValidation != nil {
		if format := s.ValueValidation.Format; hint.Misspelled(format, formats) != "" {
			found = append(found, Fault{
				Field: FieldName(at.Child("format").String()), Nearest: hint.Misspelled(format, formats),
				Text: fmt.Sprintf("the API server ignores the format %q, which it does not know", format),
			})
		}
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
