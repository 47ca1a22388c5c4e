package schema

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
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
	"k8s.io/apiserver/pkg/cel/common"
)

// Options say how an object is judged. The zero value is for one that is
// created, and whose metadata does not count.
type Options struct {
	// Old is the object that is to be replaced: of the same version, group and
	// kind. It stays as it is.
	Old map[string]any
	// Metadata judges the object's metadata, too, as the function Metadata does.
	Metadata bool
}

// Validate returns what the API server would refuse of an object of the kind,
// or drop from it, when it is created, or updated if there is an old one:
// unknown fields, values that do not fit the schema of its version, CEL rules
// that it breaks. As there, what is left out counts with its default, CEL rules
// are only tried on what has the right form, and those about a transition only
// with an old object. The status counts, too, though it is not the one who makes
// an object that writes it. The object is as JSON decodes, but for whole
// numbers, which must be int64, and stays as it is. A version that does not
// exist, or whose own schema is faulty, is an error. It is safe for concurrent
// use.
func (d *Definition) Validate(ctx context.Context, obj map[string]any, o Options) ([]Fault, error) {
	apiVersion, _ := obj["apiVersion"].(string)
	name := apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
	v, ok := d.version(name)
	if !ok {
		return nil, d.Serves(name)
	}
	if v.err != nil || v.structural == nil {
		return nil, fmt.Errorf("version %s has no schema that can be used", name)
	}
	j := v.judge()
	if j.err != nil {
		return nil, fmt.Errorf("reading the schema of version %s: %w", name, j.err)
	}
	obj = runtime.DeepCopyJSON(obj)
	found := v.unknown(obj)
	v.fill(obj)
	old := o.Old
	if old != nil {
		old = runtime.DeepCopyJSON(old)
		v.unknown(old)
		v.fill(old)
	}
	var errs field.ErrorList
	if o.Metadata {
		errs = metadata(obj, old, d.Namespaced, subdomain)
	}
	found = append(found, j.faults(ctx, obj, old, errs)...)
	slices.SortStableFunc(found, compare)
	// What the library says twice is said once.
	return slices.CompactFunc(found, func(a, b Fault) bool { return compare(a, b) == 0 }), nil
}

// compare orders faults by their fields, since the library has no order, and puts
// what was not checked last.
func compare(a, b Fault) int {
	switch {
	case a.Unchecked != b.Unchecked && a.Unchecked:
		return 1
	case a.Unchecked != b.Unchecked:
		return -1
	}
	return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.String(), b.String()))
}

// fill puts in what is left out.
func (v version) fill(obj map[string]any) {
	defaulting.Default(obj, v.structural)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.structural)
}

// unknown removes what the schema does not have, and returns that, and metadata
// that is no metadata.
func (v version) unknown(obj map[string]any) []Fault {
	var found []Fault
	paths := pruning.PruneWithOptions(obj, v.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	err, more := objectmeta.CoerceWithOptions(nil, obj, v.structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	for _, path := range append(paths, more...) {
		name := FieldName(path)
		found = append(found, Fault{Field: name, Unknown: true, Nearest: nearestTo(name, v.structural), Text: "unknown field"})
	}
	if err != nil {
		found = append(found, inWords(err))
	}
	return found
}

// A judge is what a schema comes to. It is safe for concurrent use.
type judge struct {
	tree  *structural.Structural
	forms validation.SchemaValidator
	rules *cel.Validator
	err   error
}

func newJudge(props *apiextensions.JSONSchemaProps, tree *structural.Structural) judge {
	forms, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return judge{err: err}
	}
	return judge{tree: tree, forms: forms, rules: cel.NewValidator(tree, true, celconfig.PerCallLimit)}
}

// faults returns errs and what else is wrong with an object, in the order and by
// the conditions of the API server's strategy for custom resources.
func (j judge) faults(ctx context.Context, obj, old map[string]any, errs field.ErrorList) []Fault {
	var was any // Not a nil map: to the library that is an object.
	var ratchet []cel.Option
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, obj, j.forms)...)
	} else {
		both := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: j.tree})
		was, ratchet = old, []cel.Option{cel.WithRatcheting(both)}
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, obj, old, j.forms, validation.WithRatcheting(both))...)
	}
	errs = append(errs, objectmeta.Validate(nil, obj, j.tree, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, j.tree, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, j.tree, obj)...)
	}
	switch {
	case j.rules == nil:
	case malformed(errs):
		const text = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
		return append(faults(errs), Fault{Unchecked: true, Text: text, Err: field.Invalid(nil, nil, text)})
	default:
		broken, _ := j.rules.Validate(ctx, nil, j.tree, obj, was, celconfig.RuntimeCELCostBudget, ratchet...)
		errs = append(errs, broken...)
	}
	return faults(errs)
}

// malformed reports whether an object has not even the form that rules are
// written for.
func malformed(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
