package main

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestAlphaChecksIDsInOrder checks that the same one of two wrong flags is named each time.
func TestAlphaChecksIDsInOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	for range 20 {
		text := output(t, strings.Fields("xfn alpha run none.xpkg none.yaml --map-root-gid=0 --map-root-uid=0"))
		e2e.Has(t, "the first of the two flags is named", text, "--map-root-uid must be positive")
	}
}
