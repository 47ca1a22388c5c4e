package xpkg_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

func lines(ps xpkg.Problems) []string {
	all := []string{}
	for _, p := range ps {
		all = append(all, p.Rule+" "+filepath.ToSlash(p.Err().Error()))
	}
	return all
}

// Read reports the problems of all files and documents in one call.
func TestReadFindsAll(t *testing.T) {
	files := map[string]string{
		"p/b.yaml":          "a: [\n---\n" + functionYAML + "extra: 1\nspce: {a: 1}\nkind: Function\n---\nkind: X\n",
		"p/a.yaml":          "apiVersion: v1\nkind: Secret\n---\napiVersion: v1\nkind: ConfigMap\n",
		"p/sep.yaml":        "--- x\n",
		"p/examples/x.yaml": "spec: {}\n",
	}
	_, err := xpkg.Read(t.Context(), e2e.Memory(t, files), "p", xpkg.ReadOptions{ExamplesRoot: "p/examples"})
	var got xpkg.Problems
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want problems", err)
	}
	want := []string{
		"unknown-kind p/a.yaml:1: kind Secret of v1 cannot be in a package",
		"unknown-kind p/a.yaml:4: kind ConfigMap of v1 cannot be in a package",
		"syntax p/b.yaml:1: did not find expected node content: the document ends before a { or [ is closed",
		"unknown-field p/b.yaml:8: kind Function of meta.pkg.crossplane.io/v1 has no field extra, so it would be lost",
		"unknown-field p/b.yaml:9: kind Function of meta.pkg.crossplane.io/v1 has no field spce, so it would be lost, did you mean spec?",
		`duplicate-key p/b.yaml:10: key "kind" already set, so the first value would be lost`,
		"object-type p/b.yaml:12: the object has no apiVersion",
		"object-type p/examples/x.yaml:1: the example has no kind",
		`syntax p/sep.yaml:1: a document separator is followed by "x" on its line`,
	}
	e2e.Equal(t, "problems of all files and documents are reported", want, lines(got))
}

// At levels below Strict, Read drops invalid content and returns the package.
func TestReadLevels(t *testing.T) {
	const dropped = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: fn\nspec: {}\n"
	cases := map[string]struct {
		reason, text, want string
	}{
		"Field":     {"an unknown field is dropped", functionYAML + "extra: 1\n", dropped},
		"Key":       {"the last of two equal keys is kept", "kind: X\n" + functionYAML, dropped},
		"End":       {"text after the end of a document is dropped", functionYAML + "...\nmore: 1\n", dropped},
		"TwoInFlow": {"a second object in a document is dropped", functionJSON + `{"a": 1}`, dropped},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fsys := e2e.Memory(t, map[string]string{"p/crossplane.yaml": tc.text})
			e2e.Error(t, tc.reason+", but it is an error at the level Strict", e2e.Err(xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{})))
			for level, warnings := range map[xpkg.Level]int{xpkg.Warn: 1, xpkg.Off: 0} {
				pkg, err := xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{Lint: level})
				if err != nil {
					t.Fatalf("level %d: %v", level, err)
				}
				e2e.Equal(t, fmt.Sprintf("level %d decides whether problems are warnings", level), warnings, len(pkg.Warnings))
				e2e.Equal(t, fmt.Sprintf("%s: level %d", tc.reason, level), "---\n"+tc.want+"---\n", string(pkg.YAML))
			}
		})
	}
}

// At the levels Warn and Off, Read reports only what the control plane refuses.
func TestReadRefusesAtAnyLevel(t *testing.T) {
	files := map[string]string{"p/crossplane.yaml": functionYAML + "extra: 1\n", "p/s.yaml": "apiVersion: v1\nkind: Secret\n"}
	for _, level := range []xpkg.Level{xpkg.Warn, xpkg.Off} {
		_, err := xpkg.Read(t.Context(), e2e.Memory(t, files), "p", xpkg.ReadOptions{Lint: level})
		if err == nil || strings.Contains(err.Error(), "extra") || !strings.Contains(err.Error(), "Secret") {
			t.Errorf("level %d: got %v, want an error about the Secret alone", level, err)
		}
	}
}
