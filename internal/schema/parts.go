package schema

import structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// The libraries of the API server copy the schema of each field that they visit. For defaults,
// embedded resources and unique elements, they need only the parts of a schema that have them.

// partsWith returns the parts of s that matches reports true for, with all their parents, or nil
// without such parts. It does not change s.
func partsWith(s *structural.Structural, matches func(*structural.Structural) bool) *structural.Structural {
	if s == nil {
		return nil
	}
	parts := *s
	parts.Items = partsWith(s.Items, matches)
	parts.AdditionalProperties = nil
	if more := s.AdditionalProperties; more != nil && partsWith(more.Structural, matches) != nil {
		// Without its schema, a property would be an additional one: keep all.
		parts.AdditionalProperties = more
		return &parts
	}
	parts.Properties = map[string]structural.Structural{}
	for name, property := range s.Properties {
		if part := partsWith(&property, matches); part != nil {
			parts.Properties[name] = *part
		}
	}
	if parts.Items == nil && len(parts.Properties) == 0 && !matches(s) {
		return nil
	}
	return &parts
}

func hasDefault(s *structural.Structural) bool { return s.Default.Object != nil }

func isEmbedded(s *structural.Structural) bool { return s.XEmbeddedResource }

// hasUnique reports whether the elements of a list, or their keys, must differ.
func hasUnique(s *structural.Structural) bool {
	return s.XListType != nil && (*s.XListType == "set" || *s.XListType == "map")
}

// contains reports whether is reports true for v or a value in v, which has the types of decoded JSON.
func contains(v any, is func(any) bool) bool {
	if is(v) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if contains(field, is) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if contains(element, is) {
				return true
			}
		}
	}
	return false
}

func isNull(v any) bool { return v == nil }

func isLong(v any) bool {
	list, _ := v.([]any)
	return len(list) >= longList
}
