package runtimes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// TestIsSource checks that a folder with the name of an image reference is not the source of a
// function: it would replace an image that was verified.
func TestIsSource(t *testing.T) {
	t.Chdir(t.TempDir())
	const tag = "registry.example.org/acme/fn:v1"
	digest := "registry.example.org/acme/fn@sha256:" + strings.Repeat("a", 64)
	for _, dir := range []string{filepath.FromSlash(tag), filepath.FromSlash(digest), "fn", "layout"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Skipf("the file system cannot have a folder with the name of a reference: %v", err)
		}
	}
	e2e.WriteFile(t, "layout/oci-layout", "")
	for pkg, want := range map[string]bool{
		tag: false, digest: false, "fn": false,
		"./" + digest: true, "./fn": true, "./layout": false, "./absent": false,
	} {
		if got := runtimes.IsSource(pkg); got != want {
			t.Errorf("IsSource(%q) is %t, want %t", pkg, got, want)
		}
	}
}
