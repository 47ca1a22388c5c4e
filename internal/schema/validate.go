package schema

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Options configure Validate. The zero value validates obj as a new object.
type Options struct {
	// Old is the existing object that obj replaces, of the same version and kind.
	// Nil means that obj is new.
	Old map[string]any
	// Reuse allows Validate to change obj, which saves the memory of a copy.
	Reuse bool
	// Metadata enables the validation of metadata, as the function Metadata does it.
	Metadata bool
	// Embedded means that obj is part of another object, such as the input of a function. It
	// needs no metadata, even if its schema requires it.
	Embedded bool
}

// Validate returns the faults that the API server would find when it creates obj or, if
// o.Old is not nil, updates o.Old to obj. Faults are unknown fields, values that the schema
// does not allow, and violated CEL rules, also in status. As in the API server, defaults
// are applied first, and CEL rules are checked only if the structure is valid.
//
// obj must have the types of decoded JSON, with whole numbers as int64.
// Validate does not change obj, unless o.Reuse is set. It returns an error if obj's version does not
// exist or has an invalid schema. It is safe for concurrent use.
func (d *Definition) Validate(ctx context.Context, obj map[string]any, o Options) ([]Fault, error) {
	apiVersion, _ := obj["apiVersion"].(string)
	name := apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
	v, err := d.valid(name)
	if err != nil {
		return nil, err
	}
	j := v.validators()
	if j.err != nil {
		return nil, fmt.Errorf("reading the schema of version %s: %w", name, j.err)
	}
	if !o.Reuse {
		obj = Copy(obj)
	}
	if o.Embedded && obj["metadata"] == nil {
		obj["metadata"] = map[string]any{}
	}
	cut := cutter{}
	old := o.Old
	if old == nil {
		if contains(obj, isLong) {
			short, _ := cut.value(obj, j.spec)
			obj = short.(map[string]any)
		}
	}
	found := j.unknown(obj)
	j.fill(obj)
	if old != nil {
		old = Copy(old)
		j.unknown(old)
		j.fill(old)
	}
	var errs field.ErrorList
	if o.Metadata {
		errs = metadata(obj, old, d.Namespaced, subdomain)
	}
	found = append(found, j.faults(ctx, obj, old, errs, cut)...)
	slices.SortStableFunc(found, compare)
	// The library returns some errors twice.
	return slices.CompactFunc(found, func(a, b Fault) bool { return compare(a, b) == 0 }), nil
}

// compare orders faults by field, because the order of the library's errors is random.
func compare(a, b Fault) int {
	switch {
	case a.Unchecked != b.Unchecked && a.Unchecked:
		return 1
	case a.Unchecked != b.Unchecked:
		return -1
	}
	return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.String(), b.String()))
}

// fill sets missing fields of obj to their defaults, and removes nulls that the
// schema does not allow.
func (j validators) fill(obj map[string]any) {
	defaulting.Default(obj, j.defaults)
	if contains(obj, isNull) {
		defaulting.PruneNonNullableNullsWithoutDefaults(obj, j.tree)
	}
}

// unknown removes unknown fields from obj. It returns faults for them, and for
// metadata of the wrong type.
func (j validators) unknown(obj map[string]any) []Fault {
	var found []Fault
	paths := pruning.PruneWithOptions(obj, j.tree, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	var err *field.Error
	var more []string
	if j.embedded != nil || !isOrdinary(obj) {
		err, more = objectmeta.CoerceWithOptions(nil, obj, j.embedded, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	}
	for _, path := range append(paths, more...) {
		name := FieldName(path)
		near := nearestTo(name, j.tree)
		if near == defaultDeletePolicy && !hasClaims(obj) {
			near = "" // An XRD without claims has no default for them.
		}
		found = append(found, Fault{Field: name, Unknown: true, Nearest: near, Text: "unknown field"})
	}
	if err != nil {
		found = append(found, metadataFault(err))
	}
	return found
}

// isOrdinary reports whether objectmeta.CoerceWithOptions would find no fault in the metadata of obj
// and change nothing. The library writes metadata as JSON and reads it again.
func isOrdinary(obj map[string]any) bool {
	for _, key := range []string{"apiVersion", "kind"} {
		if _, isText := obj[key].(string); !isText {
			return false
		}
	}
	meta, _ := obj["metadata"].(map[string]any)
	for key, value := range meta {
		switch key {
		case "name", "generateName", "namespace":
			if text, _ := value.(string); text == "" {
				return false
			}
		case "labels", "annotations":
			texts, _ := value.(map[string]any)
			for _, text := range texts {
				if _, isText := text.(string); !isText {
					return false
				}
			}
			if len(texts) == 0 {
				return false
			}
		default:
			return false
		}
	}
	return meta != nil
}

// validators is the compiled form of a schema. It is safe for concurrent use.
type validators struct {
	tree *structural.Structural
	// defaults, embedded and unique are the parts of tree that have defaults, embedded resources, and
	// lists whose elements must differ.
	defaults, embedded, unique *structural.Structural

	forms validation.SchemaValidator
	// spec is the schema of forms.
	spec *spec.Schema
	// hasRules is true if the schema has CEL rules. usual has the rules among them that are in
	// usualRules, by their messages. rules compiles all rules at its first call, and ofNew the rules
	// that the API server checks for new objects.
	hasRules     bool
	usual        map[string]usualRule
	rules, ofNew func() *cel.Validator
	err          error
}

func newValidators(props *apiextensions.JSONSchemaProps, tree *structural.Structural) validators {
	forms, spec, err := validation.NewSchemaValidator(props)
	if err != nil {
		return validators{err: err}
	}
	v := validators{
		tree: tree, defaults: partsWith(tree, hasDefault), embedded: partsWith(tree, isEmbedded), unique: partsWith(tree, hasUnique),
		forms: forms, spec: spec, usual: map[string]usualRule{},
	}
	(&structural.Visitor{Structural: func(s *structural.Structural) bool {
		for _, r := range s.XValidations {
			v.hasRules = true
			if usual, ok := usualRules[r.Rule]; ok {
				v.usual[r.Message] = usual
			}
		}
		return false
	}}).Visit(tree)
	compile := func(s *structural.Structural) *cel.Validator {
		return cel.NewValidator(s, true, celconfig.PerCallLimit)
	}
	v.rules = sync.OnceValue(func() *cel.Validator { return compile(tree) })
	v.ofNew = sync.OnceValue(func() *cel.Validator { return compile(withoutImmutable(tree)) })
	return v
}

// withoutImmutable returns a copy of a schema without the rules that make fields immutable. Compiling
// such a rule takes a millisecond.
func withoutImmutable(tree *structural.Structural) *structural.Structural {
	tree = tree.DeepCopy()
	(&structural.Visitor{Structural: func(s *structural.Structural) bool {
		all := len(s.XValidations)
		s.XValidations = slices.DeleteFunc(s.XValidations, immutable)
		return len(s.XValidations) < all
	}}).Visit(tree)
	return tree
}

// faults validates obj as a new object or, if old is not nil, as an update of old. It
// returns errs, followed by the errors that it finds, in the order of the API server. CEL rules
// get the lists of obj that were cut as a whole.
func (j validators) faults(ctx context.Context, obj, old map[string]any, errs field.ErrorList, cut cutter) []Fault {
	var was any // This must be an untyped nil: the library treats a nil map as an object.
	var ratchet []cel.Option
	var violated []Fault
	rules := j.ofNew
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, obj, j.forms)...)
	} else {
		both := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: j.tree})
		was, ratchet, rules = old, []cel.Option{cel.WithRatcheting(both)}, j.rules
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, obj, old, j.forms, validation.WithRatcheting(both))...)
	}
	errs = append(errs, objectmeta.Validate(nil, obj, j.embedded, false)...)
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, j.unique, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, j.unique, obj)...)
	}
	switch {
	case !j.hasRules:
	case malformed(errs):
		const text = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
		return append(faults(errs), Fault{Unchecked: true, Text: text, Err: field.Invalid(nil, nil, text)})
	default:
		cut.restore(obj)
		if len(j.usual) > 0 && old == nil && obeys(obj, j.tree) {
			break
		}
		broken, _ := rules().Validate(ctx, nil, j.tree, obj, was, celconfig.RuntimeCELCostBudget, ratchet...)
		for _, f := range faults(broken) {
			f.Rule = true
			violated = append(violated, explained(f, j.usual))
		}
	}
	return append(faults(errs), violated...)
}

// malformed reports whether errs contains an error because of which the API
// server does not check CEL rules.
func malformed(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
