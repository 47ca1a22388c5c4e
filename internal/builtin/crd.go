package builtin

import (
	"strings"

	"github.com/xfn-dev/xfn/internal/schema"
)

// Schema returns the structural schema of the input, or nil if the function has no input.
func (b Builtin) Schema() map[string]any {
	if b.Input == "" {
		return nil
	}
	s := schema.OfType(b.Type)
	properties, _ := s["properties"].(map[string]any)
	for _, name := range []string{"apiVersion", "kind"} {
		properties[name] = map[string]any{"type": "string"}
	}
	properties["metadata"] = map[string]any{"type": "object"}
	return s
}

// CRD returns the CustomResourceDefinition of the input, as in the package of the real function,
// or nil if the function has no input.
func (b Builtin) CRD() map[string]any {
	apiVersion, kind, ok := strings.Cut(b.Input, " ")
	if !ok {
		return nil
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	singular := strings.ToLower(kind)
	plural := strings.TrimSuffix(singular, "s") + "s"
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{
				"kind": kind, "listKind": kind + "List", "plural": plural, "singular": singular, "categories": []any{"crossplane"},
			},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": b.Schema()},
			}},
		},
	}
}
