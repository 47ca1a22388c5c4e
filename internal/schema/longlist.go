package schema

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

const (
	// longList is the length from which a list is shortened.
	longList = 1000
	// maxChecked limits the number of different elements whose validity is stored.
	maxChecked = 1000
)

// shorten returns v, a value with schema s, with its long lists of valid scalars cut to the
// least valid length. The faults of the short value are those of v, but need less time and
// memory: the library makes validators and a path for each element of a list. shorten does not
// change v. It copies the objects and lists around a list that it cuts. The bool is false if
// it cuts none.
func shorten(v any, s *spec.Schema) (any, bool) {
	// These fields may depend on all elements of a list in v.
	if s == nil || len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.Enum) > 0 || s.Not != nil {
		return v, false
	}
	switch v := v.(type) {
	case map[string]any:
		return shortenObject(v, s)
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return v, false
		}
		if canCut(v, s) {
			least := int64(0)
			if s.MinItems != nil {
				least = *s.MinItems
			}
			return v[:least], true
		}
		if isSet(s) { // Different elements must stay different.
			return v, false
		}
		return shortenElements(v, s.Items.Schema)
	}
	return v, false
}

func shortenObject(obj map[string]any, s *spec.Schema) (any, bool) {
	var short map[string]any
	for key, v := range obj {
		var of *spec.Schema
		if property, ok := s.Properties[key]; ok {
			of = &property
		} else if s.AdditionalProperties != nil {
			of = s.AdditionalProperties.Schema
		}
		v, ok := shorten(v, of)
		if !ok {
			continue
		}
		if short == nil {
			short = maps.Clone(obj)
		}
		short[key] = v
	}
	if short == nil {
		return obj, false
	}
	return short, true
}

func shortenElements(list []any, s *spec.Schema) (any, bool) {
	var short []any
	for i, v := range list {
		v, ok := shorten(v, s)
		if !ok {
			continue
		}
		if short == nil {
			short = slices.Clone(list)
		}
		short[i] = v
	}
	if short == nil {
		return list, false
	}
	return short, true
}

// isSet reports whether the elements of a list must differ.
func isSet(s *spec.Schema) bool {
	listType, _ := s.Extensions.GetString("x-kubernetes-list-type")
	return s.UniqueItems || listType == "set"
}

// canCut reports whether list is long and has only scalars, and is valid by its schema s.
func canCut(list []any, s *spec.Schema) bool {
	n := int64(len(list))
	switch {
	case n < longList, !s.Type.Contains("array"), isSet(s):
		return false
	case s.MinItems != nil && n < *s.MinItems, s.MaxItems != nil && n > *s.MaxItems:
		return false
	}
	validator := validate.NewSchemaValidator(s.Items.Schema, nil, "", strfmt.Default)
	valid := map[any]bool{}
	for _, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
		if valid[v] {
			continue
		}
		if !validator.Validate(v).IsValid() {
			return false
		}
		if len(valid) < maxChecked {
			valid[v] = true
		}
	}
	return true
}
