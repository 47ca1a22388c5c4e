package xpkg_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

// elsewhere are the rules that other packages report and test.
var elsewhere = []string{"cluster-role", "composition"}

// TestLintRules checks that each rule of LintRules reports a problem with its
// Severity, and that all reported rules are in LintRules.
func TestLintRules(t *testing.T) {
	severities := map[string]string{}
	for _, p := range slices.Concat(fileProblems(t), documentProblems(t), imageProblems(t)) {
		severity := "warning"
		if p.Refused {
			severity = "error"
		}
		if got := severities[p.Rule]; got != "" && got != severity {
			severity = "error or warning"
		}
		severities[p.Rule] = severity
	}
	for _, r := range xpkg.LintRules() {
		if slices.Contains(elsewhere, r.Name) {
			continue
		}
		if got := cmp.Or(severities[r.Name], "never reported"); got != r.Severity {
			t.Errorf("rule %s: got %s, and the table says %s", r.Name, got, r.Severity)
		}
		delete(severities, r.Name)
	}
	for name := range severities {
		t.Errorf("rule %s is not in the table", name)
	}
}

// TestLintRuleTexts checks that each rule fits on one line of a help text.
func TestLintRuleTexts(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range xpkg.LintRules() {
		if len(r.Finds) > 56 || r.Finds == "" || !strings.HasSuffix(r.Why, ".") || seen[r.Name] {
			t.Errorf("rule %s: want a unique name, at most 56 characters in Finds, got %d, and a sentence in Why", r.Name, len(r.Finds))
		}
		seen[r.Name] = true
	}
}

// fileProblems returns the problems of unreadable files and broken links.
func fileProblems(t *testing.T) xpkg.Problems {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"p/crossplane.yaml": functionYAML, "outside.yaml": crdYAML}
	for name, text := range files {
		path := filepath.Join(dir, name)
		e2e.NoError(t, cmp.Or(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	for name, to := range map[string]string{"gone.yaml": "nothing", "out.yaml": "../outside.yaml"} {
		if err := os.Symlink(to, filepath.Join(dir, "p", name)); err != nil {
			t.Skip("no symbolic links:", err)
		}
	}
	deep := filepath.Join(append([]string{dir, "p"}, slices.Repeat([]string{"d"}, 200)...)...)
	e2e.NoError(t, os.MkdirAll(deep, 0o700))
	return problemsOf(t, afero.NewOsFs(), filepath.Join(dir, "p"), xpkg.ReadOptions{ExamplesRoot: "none"})
}

func problemsOf(t *testing.T, fsys afero.Fs, root string, opts xpkg.ReadOptions) (ps xpkg.Problems) {
	t.Helper()
	if _, err := xpkg.Read(t.Context(), fsys, root, opts); err == nil || !errors.As(err, &ps) {
		t.Fatalf("got %v, want problems", err)
	}
	return ps
}

// documentProblems returns the problems of YAML documents, metadata and objects.
func documentProblems(t *testing.T) (all xpkg.Problems) {
	t.Helper()
	crd := widgetCRD("{type: object}")
	packages := map[string]map[string]string{
		"documents": {
			"a.yaml": functionYAML + "extra: 1\nkind: Function\n...\nmore: 1\n", "b.yaml": "a: [\n", "c.yaml": "kind: X\ny: 1\n",
			"d.yaml": "apiVersion: v1\nkind: Secret\n", "e.yaml": "# " + strings.Repeat("x", 81<<20) + "\na: 1\n",
			"f.yaml": strings.Replace(crd, "group: gold.test", "group: 1", 1),
		},
		"no metadata": {"a.yaml": crd},
		"metadata": {"a.yaml": strings.Replace(metadata("Function", "  crossplane: {}\n  capabilities: [x, x]\n  dependsOn:\n"+
			"  - {version: v1}\n  - {function: a, version: latest}\n  - {function: a, version: v1}\n"+
			"  - {apiVersion: pkg.crossplane.io/v1, kind: Funktion, package: a.example.org/x, version: v1}\n"), "name: p", "name: P", 1)},
		"a misspelled function": {
			"a.yaml": metadata("Configuration", "  dependsOn: [{function: a.example.org/x/function-a, version: v1}]\n"),
			"b.yaml": "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: gold.test/v1, kind: Widget}\n  mode: Pipeline\n  pipeline: [{step: a, functionRef: {name: x-functoin-a}}]\n",
		},
		"not allowed": {"a.yaml": metadata("Configuration", "  dependsOn: []\n"), "b.yaml": crd},
		"an Operation without steps": {
			"a.yaml": metadata("Configuration", "  dependsOn: []\n"),
			"b.yaml": "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: o}\nspec: {mode: Pipeline, pipeline: []}\n",
		},
		"objects": {
			"a.yaml": metadata("Provider", "  dependsOn: []\n"), "b.yaml": crd, "c.yaml": crd,
			"d.yaml":          definition("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "x", widget, "{properties: {a: {type: text}}}"),
			"e.yaml":          definition(crdV1, "CustomResourceDefinition", "others.gold.test", "names: {kind: Other, plural: others}", "{properties: {a: {type: text}}}"),
			"examples/a.yaml": "apiVersion: gold.test/v2\nkind: Widget\nmetadata: {name: a}\n",
		},
	}
	for _, files := range packages {
		all = append(all, problemsOf(t, e2e.Memory(t, files), ".", xpkg.ReadOptions{ExamplesRoot: "examples", ExamplesOptional: true, Lint: xpkg.All})...)
	}
	return all
}

// imageProblems returns the problems of built packages.
func imageProblems(t *testing.T) (all xpkg.Problems) {
	t.Helper()
	fn := aPackage("Function", "fn")
	img := build(t, fn, "linux/amd64").(v1.Image)
	two := build(t, fn, "linux/amd64", "linux/arm64").(v1.ImageIndex)
	text := strings.Repeat("no tar", 1000)
	notTar, err := imageOf(strings.NewReader(text), hashOf(t, text), int64(len(text)))
	e2e.NoError(t, err)
	for _, a := range []xpkg.Artifact{
		notTar, plain(t, img), build(t, fn, "windows/amd64"),
		changed(t, img, func(p *oci.Parts) {
			d := p.Descriptors[0]
			if p.Layers[0], err = oci.Layer(bytes.NewReader(make([]byte, d.Size)), oci.Blob{Digest: d.Digest, Size: d.Size, MediaType: d.MediaType}); err != nil {
				t.Fatal(err)
			}
		}),
		changed(t, img, func(p *oci.Parts) { p.Descriptors[1].Annotations = map[string]string{xpkg.Annotation: "base"} }),
		reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests = nil }),
		reindexed(t, two, func(m *v1.IndexManifest) { m.Manifests = append(m.Manifests, m.Manifests[0]) }),
	} {
		all = append(all, e2e.Must(xpkg.Lint(context.Background(), a, nil))(t).Problems...)
	}
	return all
}
