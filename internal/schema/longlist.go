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

// A cutter cuts the long lists of valid scalars of an object to the least valid length. The
// faults of the object with the short lists are the same, but need less time and memory: the
// library makes validators and a path for each element of a list.
type cutter map[*any][]any // the lists, by their first elements

// value returns v, a value with schema s, with short lists. It does not change v: it copies the objects
// and lists around a list that it cuts. The bool is false if it cuts no list.
func (c cutter) value(v any, s *spec.Schema) (any, bool) {
	// These fields may depend on all elements of a list in v.
	if s == nil || len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.Enum) > 0 || s.Not != nil {
		return v, false
	}
	switch v := v.(type) {
	case map[string]any:
		return c.fields(v, s)
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return v, false
		}
		if canCut(v, s) {
			least := int64(0)
			if s.MinItems != nil {
				least = *s.MinItems
			}
			c[&v[0]] = v
			return v[:least], true
		}
		if isSet(s) { // Different elements must stay different.
			return v, false
		}
		return c.elements(v, s.Items.Schema)
	}
	return v, false
}

func (c cutter) fields(obj map[string]any, s *spec.Schema) (any, bool) {
	var short map[string]any
	for key, v := range obj {
		var of *spec.Schema
		if property, ok := s.Properties[key]; ok {
			of = &property
		} else if s.AdditionalProperties != nil {
			of = s.AdditionalProperties.Schema
		}
		v, ok := c.value(v, of)
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

func (c cutter) elements(list []any, s *spec.Schema) (any, bool) {
	var short []any
	for i, v := range list {
		v, ok := c.value(v, s)
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

// restore replaces the short lists in v by the whole ones, and returns v.
func (c cutter) restore(v any) any {
	if len(c) == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = c.restore(field)
		}
	case []any:
		if cap(v) > 0 && c[&v[:1][0]] != nil {
			return c[&v[:1][0]]
		}
		for i, element := range v {
			v[i] = c.restore(element)
		}
	}
	return v
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
	case n < longList, !s.Type.Contains("array"), isSet(s),
		s.MinItems != nil && n < *s.MinItems, s.MaxItems != nil && n > *s.MaxItems:
		return false
	}
	validator := validate.NewSchemaValidator(s.Items.Schema, nil, "", strfmt.Default)
	valid := map[any]bool{}
	for i, v := range list {
		switch v.(type) {
		case nil, map[string]any, []any: // A default may replace a null.
			return false
		}
		if i > 0 && v == list[i-1] || valid[v] {
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
