package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Check returns the errors that the API server would find in the definition: in
// its schemas, defaults, types and CEL rules. It does not check the cost limit
// of CEL rules. Fault.Field is a path in the defining CRD, XRD or MRD.
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
		return []Fault{{Field: FieldName(v.at.String()), Text: v.err.Error()}}
	case v.structural == nil:
		return []Fault{{Field: FieldName(v.at.String()), Text: "is required"}}
	}
	errs := structural.ValidateStructural(v.at, v.structural)
	if len(errs) > 0 {
		return faults(errs)
	}
	errs, err := defaulting.ValidateDefaults(ctx, v.at, v.structural, true, true)
	if err != nil {
		return []Fault{{Field: FieldName(v.at.String()), Text: err.Error()}}
	}
	return faults(append(errs, checkEach(v.at, v.structural, true)...))
}

// checkEach returns the errors in types and CEL rules of s and of all schemas in it.
func checkEach(at *field.Path, s *structural.Structural, root bool) field.ErrorList {
	var errs field.ErrorList
	if _, ok := typeNames[s.Type]; !ok && s.Type != "" {
		errs = append(errs, field.NotSupported(at.Child("type"), s.Type, slices.Sorted(maps.Keys(typeNames))))
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

// compile returns the errors in the CEL rules of s itself, not in those of nested schemas.
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

// ErrNotServed is the error for a version of a kind with served: false.
var ErrNotServed = errors.New("not served")

// Serves returns an error unless the kind has a version called name with served: true.
func (d *Definition) Serves(name string) error {
	v, ok := d.version(name)
	if !ok {
		return fmt.Errorf("version %s does not exist; the versions are %s", name, strings.Join(d.Versions(), ", "))
	}
	if !v.served {
		return fmt.Errorf("version %s: %w", name, ErrNotServed)
	}
	return nil
}

// valid returns the version called name, or an error if it does not exist or
// has no structural schema.
func (d *Definition) valid(name string) (version, error) {
	v, ok := d.version(name)
	switch {
	case !ok:
		return v, d.Serves(name)
	case v.err != nil:
		return v, fmt.Errorf("the schema of version %s cannot be used: %w", name, v.err)
	case v.structural == nil:
		return v, fmt.Errorf("version %s has no schema", name)
	}
	return v, nil
}

func (d *Definition) version(name string) (version, bool) {
	i := slices.IndexFunc(d.versions, func(v version) bool { return v.name == name })
	if i < 0 {
		return version{}, false
	}
	return d.versions[i], true
}
