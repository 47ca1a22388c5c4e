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
	n := Node{root, true}
	for _, key := range strings.FieldsFunc(parent, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		if n.schema != nil && n.schema.Items != nil {
			n = n.Element()
		} else {
			n, _ = n.Field(key)
		}
	}
	names := n.Named()
	if n.schema != nil && (n.resource || n.schema.XEmbeddedResource) {
		names = append(names, slices.Sorted(maps.Keys(kubernetes().Properties))...)
	}
	slices.Sort(names)
	return hint.Nearest(name, names)
}
