package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// A Fault is what the API server would refuse of an object, or drop from it.
type Fault struct {
	// Field is as in "spec.sizes[0].unit". It is empty for the whole object.
	Field string
	// Unknown says that the field would be dropped, for no schema has it.
	Unknown bool
	// Value is what the field holds, if that is known.
	Value any
	// Text says what is wrong with the field.
	Text string
}

// Check returns what the API server would refuse of the object that defines the
// kind: a version without a schema, a schema that is not structural, a default
// that does not fit it, a type that is none, a CEL rule that does not compile.
// The cost of rules is not estimated. Fields are those of that object.
func (d *Definition) Check(ctx context.Context) []Fault {
	var found []Fault
	for _, v := range d.versions {
		found = append(found, v.check(ctx)...)
	}
	return found
}

func (v version) check(ctx context.Context) []Fault {
	switch {
	case v.err != nil:
		return []Fault{{Field: fieldName(v.at.String()), Text: v.err.Error()}}
	case v.structural == nil:
		return []Fault{{Field: fieldName(v.at.String()), Text: "is required"}}
	}
	errs := structural.ValidateStructural(v.at, v.structural)
	if len(errs) > 0 {
		return faults(errs)
	}
	errs, err := defaulting.ValidateDefaults(ctx, v.at, v.structural, true, true)
	if err != nil {
		return []Fault{{Field: fieldName(v.at.String()), Text: err.Error()}}
	}
	return faults(append(errs, checkEach(v.at, v.structural, true)...))
}

// types are those of JSON schemas, and none, which structural schemas restrict.
var types = []string{"", "array", "boolean", "integer", "number", "object", "string"}

// checkEach returns what is wrong with the type and CEL rules of a
// schema, and of those below.
func checkEach(at *field.Path, s *structural.Structural, root bool) field.ErrorList {
	var errs field.ErrorList
	if !slices.Contains(types, s.Type) {
		errs = append(errs, field.NotSupported(at.Child("type"), s.Type, types[1:]))
	}
	if len(s.XValidations) > 0 {
		errs = append(errs, compile(at.Child("x-kubernetes-validations"), s, root)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		prop := s.Properties[name]
		errs = append(errs, checkEach(at.Child("properties").Key(name), &prop, prop.XEmbeddedResource)...)
	}
	if s.Items != nil {
		errs = append(errs, checkEach(at.Child("items"), s.Items, s.Items.XEmbeddedResource)...)
	}
	if p := s.AdditionalProperties; p != nil && p.Structural != nil {
		errs = append(errs, checkEach(at.Child("additionalProperties"), p.Structural, p.Structural.XEmbeddedResource)...)
	}
	return errs
}

// compile returns what is wrong with the CEL rules of a schema.
func compile(at *field.Path, s *structural.Structural, root bool) field.ErrorList {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	rules, err := cel.Compile(s, model.SchemaDeclType(s, root), celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
	if err != nil {
		return field.ErrorList{field.Invalid(at, nil, err.Error())}
	}
	var errs field.ErrorList
	for i, r := range rules {
		if r.Error != nil {
			errs = append(errs, field.Invalid(at.Index(i).Child("rule"), s.XValidations[i].Rule, r.Error.Detail))
		}
		if r.MessageExpressionError != nil {
			errs = append(errs, field.Invalid(at.Index(i).Child("messageExpression"), s.XValidations[i].MessageExpression, r.MessageExpressionError.Detail))
		}
	}
	return errs
}

// ErrNotServed is the error of a version that exists, but that the API server
// does not serve.
var ErrNotServed = errors.New("it is not served")

// Serves returns an error unless the kind has the version and the API server
// serves it.
func (d *Definition) Serves(name string) error {
	v, ok := d.version(name)
	if !ok {
		return fmt.Errorf("there is no version %s of it, only %s", name, strings.Join(d.Versions(), ", "))
	}
	if !v.served {
		return fmt.Errorf("version %s: %w", name, ErrNotServed)
	}
	return nil
}

func (d *Definition) version(name string) (version, bool) {
	i := slices.IndexFunc(d.versions, func(v version) bool { return v.name == name })
	if i < 0 {
		return version{}, false
	}
	return d.versions[i], true
}

// Validate returns what the API server would refuse of an object of the kind,
// or drop from it, when it is created: unknown fields, values that do not fit
// the schema of its version, CEL rules that it breaks. As there, what is left
// out counts with its default, and rules are only tried on what fits the
// schema. The object is as JSON decodes, but for whole numbers, which must be
// int64, and stays as it is. A version that does not exist, or whose own schema
// is faulty, is an error.
func (d *Definition) Validate(ctx context.Context, obj map[string]any) ([]Fault, error) {
	apiVersion, _ := obj["apiVersion"].(string)
	name := apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
	v, ok := d.version(name)
	if !ok {
		return nil, d.Serves(name)
	}
	if v.err != nil || v.structural == nil {
		return nil, fmt.Errorf("version %s has no schema that can be used", name)
	}
	validator, _, err := validation.NewSchemaValidator(v.props)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of version %s: %w", name, err)
	}
	obj = runtime.DeepCopyJSON(obj)
	found := v.unknown(obj)
	defaulting.Default(obj, v.structural)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.structural)
	errs := validation.ValidateCustomResource(nil, obj, validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, obj)...)
	if len(errs) == 0 {
		rules := cel.NewValidator(v.structural, true, celconfig.PerCallLimit)
		errs, _ = rules.Validate(ctx, nil, v.structural, obj, nil, celconfig.RuntimeCELCostBudget)
	}
	return append(found, faults(errs)...), nil
}

var misfit = regexp.MustCompile(`^json: cannot unmarshal (\w+) into Go struct field \w+\.([\w.]+) of type .*$`)

// inWords says of metadata which field is wrong, where Go's decoder names types.
func inWords(found []Fault) []Fault {
	for i, f := range found {
		if m := misfit.FindStringSubmatch(f.Text); m != nil {
			found[i].Field, found[i].Text = f.Field+"."+m[2], "cannot be a "+strings.TrimSuffix(m[1], "ean")
		}
	}
	return found
}

// unknown removes what the schema does not have, and returns that, and metadata
// that is no metadata.
func (v version) unknown(obj map[string]any) []Fault {
	var found []Fault
	for _, path := range pruning.PruneWithOptions(obj, v.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		found = append(found, Fault{Field: fieldName(path), Unknown: true, Text: "unknown field"})
	}
	err, paths := objectmeta.CoerceWithOptions(nil, obj, v.structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	for _, path := range paths {
		found = append(found, Fault{Field: fieldName(path), Unknown: true, Text: "unknown field"})
	}
	if err != nil {
		found = append(found, inWords(faults(field.ErrorList{err}))...)
	}
	return found
}

func faults(errs field.ErrorList) []Fault {
	found := make([]Fault, 0, len(errs))
	for i, err := range errs {
		// The error about a fraction, which has a type error besides.
		if i > 0 && err.Field == "<nil>" && strings.HasSuffix(err.Detail, " in "+errs[i-1].Field) {
			continue
		}
		found = append(found, Fault{Field: fieldName(err.Field), Value: err.BadValue, Text: faultText(err)})
	}
	return found
}

// keyed is a key of a map, as field paths have it.
var keyed = regexp.MustCompile(`\[([^\]]*[^\]\d][^\]]*)\]`)

// fieldName returns a field path in the form of Fault's.
func fieldName(path string) string {
	if path == "<nil>" {
		return ""
	}
	return strings.TrimPrefix(keyed.ReplaceAllString(path, ".$1"), ".")
}

// faultText returns what an error says besides the field's name.
func faultText(err *field.Error) string {
	_, detail, ok := strings.Cut(err.Detail, " in body ")
	if !ok {
		detail = err.Detail
	}
	switch err.Type {
	case field.ErrorTypeRequired:
		if detail == "" {
			return "is required"
		}
		return "is required: " + detail
	case field.ErrorTypeNotSupported:
		return fmt.Sprintf("is %q: %s", err.BadValue, detail)
	case field.ErrorTypeDuplicate:
		return "occurs twice"
	default:
		if detail == "" {
			return err.ErrorBody()
		}
		return detail
	}
}
