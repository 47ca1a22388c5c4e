package builtin

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed tagmanager_kinds.txt
var taggedKindsText string

// taggedKinds returns the kinds whose tags are managed, by the API group without its suffix
// ".upbound.io" or ".m.upbound.io".
var taggedKinds = sync.OnceValue(func() map[string][]string {
	groups := map[string][]string{}
	provider := ""
	for line := range strings.Lines(taggedKindsText) {
		service, names, ok := strings.Cut(line, ":")
		switch {
		case !ok:
			provider = strings.TrimSpace(strings.TrimPrefix(line, "# "))
		case service == "-":
			groups[provider] = strings.Fields(names)
		default:
			groups[service+"."+provider] = strings.Fields(names)
		}
	}
	return groups
})

// hasTags reports whether the objects of a kind have tags that are managed.
func hasTags(kind kschema.GroupKind) bool {
	group, ok := strings.CutSuffix(kind.Group, ".upbound.io")
	return ok && slices.Contains(taggedKinds()[strings.TrimSuffix(group, ".m")], kind.Kind)
}
