package runtimes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

func TestUnpackedMetadata(t *testing.T) {
	const meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f}\n"
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Listed":   {"the list of the metadata is returned", "---\napiVersion: v1\n---\n" + meta + "spec: {capabilities: [operation, x]}\n", []string{"operation", "x"}},
		"Unlisted": {"metadata may have no list", meta, nil},
		"Other":    {"a file may have no metadata", "apiVersion: v1\nspec: {capabilities: [a]}\n", nil},
		"Broken":   {"a file that is not YAML has no capabilities", "a: [", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e2e.WriteFile(t, filepath.Join(dir, "package.yaml"), tc.text)
			e2e.Equal(t, tc.reason, tc.want, runtimes.UnpackedMetadata(dir).Capabilities)
		})
	}
	t.Run("Link", func(t *testing.T) {
		dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "package.yaml")
		e2e.WriteFile(t, outside, meta+"spec: {capabilities: [operation]}\n")
		if err := os.Symlink(outside, filepath.Join(dir, "package.yaml")); err != nil {
			t.Skip(err)
		}
		if got := runtimes.UnpackedMetadata(dir); got.Capabilities != nil {
			t.Errorf("a link out of the folder is not followed: got %q", got)
		}
	})
}

func TestSourceMetadata(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: inputs.f.example.org}\n"
	const meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nspec: {capabilities: [composition]}\n"
	for _, root := range []string{"package", "package-function"} {
		dir := t.TempDir()
		for path, text := range map[string]string{"crossplane.yaml": meta, "input/a.yaml": crd, "input/b.yaml": "apiVersion: v1\nkind: Secret\n", "other.yaml": crd} {
			e2e.WriteFile(t, filepath.Join(dir, root, filepath.FromSlash(path)), text)
		}
		got := runtimes.SourceMetadata(dir)
		if len(got.Inputs) != 1 || !slices.Equal(got.Capabilities, []string{"composition"}) {
			t.Errorf("the CRDs in the directory input of %s and the capabilities are read: got %v", root, got)
		}
	}
}

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
		e2e.Equal(t, fmt.Sprintf("only the path of a folder without a layout is source: %q", pkg), want, runtimes.IsSource(pkg))
	}
}
