package schema

import (
	"maps"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/xfn-dev/xfn/internal/hint"
)

// nearestTo returns a field that is similar to an unknown one beside it, or "".
func nearestTo(unknown string, root *structural.Structural) string {
	at := strings.LastIndexByte(unknown, '.')
	parent, name := unknown[:max(at, 0)], unknown[at+1:]
	if parent == "metadata" {
		return hint.Nearest(name, slices.Sorted(maps.Keys(kubernetes().Properties["metadata"].Properties)))
	}
	s := root
	for _, key := range strings.FieldsFunc(parent, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		if s = below(s, key); s == nil {
			return ""
		}
	}
	return hint.Nearest(name, siblings(s, s == root || s.XEmbeddedResource))
}

// below returns the schema of a key or element, or nil.
func below(s *structural.Structural, key string) *structural.Structural {
	if prop, ok := s.Properties[key]; ok {
		return &prop
	}
	if s.Items != nil {
		return s.Items
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// siblings returns the fields of an object in order. For a whole Kubernetes
// object it adds the common fields.
func siblings(s *structural.Structural, whole bool) []string {
	names := slices.Collect(maps.Keys(s.Properties))
	if whole {
		names = append(names, "apiVersion", "kind", "metadata")
	}
	return slices.Sorted(slices.Values(names))
}
