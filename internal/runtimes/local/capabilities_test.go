package local_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

func TestCapabilities(t *testing.T) {
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
			if err := os.WriteFile(filepath.Join(dir, "package.yaml"), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := local.Capabilities(dir, "absent.yaml", "package.yaml"); !slices.Equal(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	t.Run("Link", func(t *testing.T) {
		dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "package.yaml")
		if err := os.WriteFile(outside, []byte(meta+"spec: {capabilities: [operation]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(dir, "package.yaml")); err != nil {
			t.Skip(err)
		}
		if got := local.Capabilities(dir, "package.yaml"); got != nil {
			t.Errorf("a link out of the folder is not followed: got %q", got)
		}
	})
}
