package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The API server refuses these combinations of keywords in addition to what ValidateStructural
// refuses. Its own check of a CRD needs packages that make each start of a program slower.

// checkKeywords returns the errors in the keywords of s itself, not of nested schemas.
func checkKeywords(p part, s *structural.Structural) field.ErrorList {
	var errs field.ErrorList
	if _, ok := typeNames[s.Type]; !ok && s.Type != "" {
		errs = append(errs, field.NotSupported(p.at.Child("type"), s.Type, slices.Sorted(maps.Keys(typeNames))))
	}
	if p.noDefault != "" && s.Default.Object != nil {
		errs = append(errs, field.Forbidden(p.at.Child("default"), "must not be set "+p.noDefault))
	}
	if p.meta && s.XEmbeddedResource {
		errs = append(errs, field.Forbidden(p.at.Child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta"))
	}
	if p.top && s.Nullable {
		errs = append(errs, field.Forbidden(p.at.Child("nullable"), "nullable cannot be true at the root"))
	}
	if more := s.AdditionalProperties; more != nil && len(s.Properties) > 0 && (more.Structural != nil || !more.Bool) {
		errs = append(errs, field.Forbidden(p.at.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive"))
	}
	return slices.Concat(errs, checkUnique(p.at, s.ValueValidation), checkMapType(p.at, s), checkListType(p.at, s), checkRuleTexts(p.at, s))
}

func checkUnique(at *field.Path, v *structural.ValueValidation) field.ErrorList {
	if v == nil {
		return nil
	}
	var errs field.ErrorList
	if v.UniqueItems {
		errs = append(errs, field.Forbidden(at.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"))
	}
	each := func(name string, all []structural.NestedValueValidation) {
		for i := range all {
			errs = append(errs, checkNested(at.Child(name).Index(i), &all[i])...)
		}
	}
	each("allOf", v.AllOf)
	each("anyOf", v.AnyOf)
	each("oneOf", v.OneOf)
	return append(errs, checkNested(at.Child("not"), v.Not)...)
}

func checkNested(at *field.Path, n *structural.NestedValueValidation) field.ErrorList {
	if n == nil {
		return nil
	}
	errs := append(checkUnique(at, &n.ValueValidation), checkNested(at.Child("items"), n.Items)...)
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		prop := n.Properties[name]
		errs = append(errs, checkNested(at.Child("properties").Key(name), &prop)...)
	}
	return errs
}

// checkOfType returns an error unless s has the type that the keyword needs.
func checkOfType(at *field.Path, s *structural.Structural, want, keyword string) field.ErrorList {
	text := fmt.Sprintf("must be %s if %s is specified", want, keyword)
	switch s.Type {
	case want:
		return nil
	case "":
		return field.ErrorList{field.Required(at.Child("type"), text)}
	}
	return field.ErrorList{field.Invalid(at.Child("type"), s.Type, text)}
}

func checkMapType(at *field.Path, s *structural.Structural) field.ErrorList {
	const keyword = "x-kubernetes-map-type"
	if s.XMapType == nil {
		return nil
	}
	errs, allowed := checkOfType(at, s, "object", keyword), []string{"atomic", "granular"}
	if !slices.Contains(allowed, *s.XMapType) {
		errs = append(errs, field.NotSupported(at.Child(keyword), *s.XMapType, allowed))
	}
	return errs
}

const (
	listTypeKeyword = "x-kubernetes-list-type"
	listKeysKeyword = "x-kubernetes-list-map-keys"
)

func checkListType(at *field.Path, s *structural.Structural) field.ErrorList {
	const needsMap = "must be map if " + listKeysKeyword + " is non-empty"
	if s.XListType == nil {
		if len(s.XListMapKeys) == 0 {
			return nil
		}
		return field.ErrorList{field.Required(at.Child(listTypeKeyword), needsMap)}
	}
	kind, allowed := *s.XListType, []string{"atomic", "map", "set"}
	errs := checkOfType(at, s, "array", listTypeKeyword)
	if !slices.Contains(allowed, kind) {
		errs = append(errs, field.NotSupported(at.Child(listTypeKeyword), kind, allowed))
	}
	if kind != "map" && len(s.XListMapKeys) > 0 {
		errs = append(errs, field.Invalid(at.Child(listTypeKeyword), kind, needsMap))
	}
	if kind == "map" && len(s.XListMapKeys) == 0 {
		errs = append(errs, field.Required(at.Child(listKeysKeyword), "must not be empty if "+listTypeKeyword+" is map"))
	}
	if s.Items == nil || kind != "map" && kind != "set" {
		return errs
	}
	items := at.Child("items")
	if s.Items.Nullable {
		errs = append(errs, field.Forbidden(items.Child("nullable"), "cannot be nullable when "+listTypeKeyword+" is "+kind))
	}
	if kind == "map" {
		return append(errs, checkListKeys(at, s)...)
	}
	return append(errs, checkSetItems(items, s.Items)...)
}

// checkSetItems returns the error of elements of a set that are merged by field.
func checkSetItems(at *field.Path, items *structural.Structural) field.ErrorList {
	const text = "must be atomic as item of a list with x-kubernetes-list-type=set"
	switch {
	case items.Type == "array" && items.XListType != nil && *items.XListType != "atomic":
		return field.ErrorList{field.Invalid(at.Child(listTypeKeyword), *items.XListType, text)}
	case items.Type == "object" && (items.XMapType == nil || *items.XMapType != "atomic"):
		return field.ErrorList{field.Invalid(at.Child("x-kubernetes-map-type"), field.OmitValueType{}, text)}
	}
	return nil
}

// checkListKeys returns the errors in the elements and the keys of a list of type map.
func checkListKeys(at *field.Path, s *structural.Structural) field.ErrorList {
	items, keys := at.Child("items"), at.Child(listKeysKeyword)
	if s.Items.Type != "object" {
		return field.ErrorList{field.Invalid(items.Child("type"), s.Items.Type, "must be object if parent array's "+listTypeKeyword+" is map")}
	}
	var errs field.ErrorList
	const isKey = "this property is in " + listKeysKeyword
	for i, name := range s.XListMapKeys {
		if slices.Contains(s.XListMapKeys[:i], name) {
			errs = append(errs, field.Invalid(keys, s.XListMapKeys, "must not contain duplicate entries"))
		}
		prop, ok := s.Items.Properties[name]
		at := items.Child("properties").Key(name)
		if !ok {
			errs = append(errs, field.Invalid(keys, s.XListMapKeys, "entries must all be names of item properties"))
			continue
		}
		if prop.Type == "array" || prop.Type == "object" {
			errs = append(errs, field.Invalid(at.Child("type"), prop.Type, "must be a scalar type if parent array's "+listTypeKeyword+" is map"))
		}
		required := s.Items.ValueValidation != nil && slices.Contains(s.Items.ValueValidation.Required, name)
		if !required && prop.Default.Object == nil {
			errs = append(errs, field.Required(at.Child("default"), isKey+", so it must have a default or be a required property"))
		}
		if prop.Nullable {
			errs = append(errs, field.Forbidden(at.Child("nullable"), isKey+", so it cannot be nullable"))
		}
	}
	return errs
}

// checkRuleTexts returns the errors in the fields of CEL rules that need no compiler.
func checkRuleTexts(at *field.Path, s *structural.Structural) field.ErrorList {
	var errs field.ErrorList
	lines := func(text string) bool { return strings.ContainsAny(text, "\r\n") }
	blank := func(text string) bool { return text != "" && strings.TrimSpace(text) == "" }
	reasons := []string{string(field.ErrorTypeDuplicate), string(field.ErrorTypeForbidden), string(field.ErrorTypeInvalid), string(field.ErrorTypeRequired)}
	for i, r := range s.XValidations {
		at := at.Child("x-kubernetes-validations").Index(i)
		message := strings.TrimSpace(r.Message)
		switch rule := strings.TrimSpace(r.Rule); {
		case rule == "":
			errs = append(errs, field.Required(at.Child("rule"), "rule is not specified"))
		case blank(r.Message):
			errs = append(errs, field.Invalid(at.Child("message"), r.Message, "must be non-empty if specified"))
		case lines(message):
			errs = append(errs, field.Invalid(at.Child("message"), r.Message, "must not contain line breaks"))
		case lines(rule) && message == "":
			errs = append(errs, field.Required(at.Child("message"), "message must be specified if rule contains line breaks"))
		}
		if blank(r.MessageExpression) {
			errs = append(errs, field.Required(at.Child("messageExpression"), "messageExpression must be non-empty if specified"))
		}
		if r.Reason != nil && !slices.Contains(reasons, string(*r.Reason)) {
			errs = append(errs, field.NotSupported(at.Child("reason"), string(*r.Reason), reasons))
		}
		errs = append(errs, checkFieldPath(at.Child("fieldPath"), s, r.FieldPath)...)
	}
	return errs
}

func checkFieldPath(at *field.Path, s *structural.Structural, path string) field.ErrorList {
	text := "must be a valid path"
	switch _, _, err := validFieldPath(path, s); {
	case path == "":
		return nil
	case strings.TrimSpace(path) == "":
		text = "must be non-empty if specified"
	case strings.ContainsAny(path, "\r\n"):
		text = "must not contain line breaks"
	case err == nil:
		return nil
	}
	return field.ErrorList{field.Invalid(at, path, text)}
}

// Check returns the errors that the API server would find in the definition: in its names, versions,
// schemas, defaults, types and CEL rules, and in the estimated costs of these rules.
// Fault.Field is a path in the defining CRD, XRD or MRD.
func (d *Definition) Check(ctx context.Context) []Fault {
	found := faults(d.checkSpec())
	for _, v := range d.versions {
		found = append(found, v.load().check(ctx)...)
	}
	return found
}

func (v version) check(ctx context.Context) []Fault {
	switch {
	case v.undecodable != nil:
		return v.undecodable
	case v.err != nil:
		return faults(unsupported(v.at, v.props, v.err))
	case v.structural == nil:
		return faults(field.ErrorList{field.Required(v.at, "schemas are required")})
	}
	errs := structural.ValidateStructural(v.at, v.structural)
	if len(errs) == 0 {
		var err error
		if errs, err = defaulting.ValidateDefaults(ctx, v.at, v.structural, true, true); err != nil {
			return []Fault{{Field: FieldName(v.at.String()), Text: err.Error()}}
		}
		// checkEach reports these at the rule.
		errs = slices.DeleteFunc(errs, func(e *field.Error) bool { return strings.HasPrefix(e.Detail, "rule compile error: ") })
	}
	// The API server compiles no rules of a schema that is not structural.
	one, c := uint64(1), &ruleChecker{keywordsOnly: len(errs) > 0}
	errs = append(errs, c.checkEach(part{at: v.at, root: true, top: true, count: &one}, v.structural)...)
	return faults(append(errs, c.check(v.at)...))
}

// CheckNames returns the errors that Check finds in the names of the kind.
func (d *Definition) CheckNames() []Fault {
	if crd, ok := d.decodeSpec(); ok {
		return faults(d.checkNames(crd))
	}
	return nil
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
	i := slices.IndexFunc(d.versions, func(v lazyVersion) bool { return v.name == name })
	if i < 0 {
		return version{}, false
	}
	return d.versions[i].load(), true
}
