package xpkg

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// knownCapabilities are the capabilities that Crossplane v2 uses, by kind of package.
var knownCapabilities = map[string][]string{
	function: {"composition", "operation"},
	provider: {"safe-start"},
}

// capabilities finds capabilities that are empty, occur twice, or resemble a
// known one. The control plane compares their letters and digits, without case.
func capabilities(_ context.Context, c content, f *finder) {
	f.in(c.meta)
	seen := map[string]bool{}
	for i, entry := range fieldpath.List(c.meta.data, "spec", "capabilities") {
		written, _ := entry.(string)
		at, got := fmt.Sprintf("spec.capabilities[%d]", i), fold(written)
		if got == "" || seen[got] {
			f.add("capability", at, "remove it", "%s is %q, which is empty or occurs twice", at, written)
			continue
		}
		seen[got] = true
		near, distance := "", 2
		for _, known := range knownCapabilities[c.meta.Kind] {
			if d := hint.EditDistance(fold(known), got); d < distance {
				near, distance = known, d
			}
		}
		if distance == 1 {
			f.add("capability", at, "", "%s is %q, which has no effect: is it %q?", at, written, near)
			seen[fold(near)] = true
		}
	}
	if c.meta.Kind == function && len(seen) > 0 && !seen["composition"] {
		// A function may be only for operations.
		f.add("capability", "spec.capabilities", "add composition to spec.capabilities, or remove spec.capabilities", "spec.capabilities has no composition, so Crossplane refuses Compositions that call the function").Warning = seen["operation"]
	}
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
