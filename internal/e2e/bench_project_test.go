package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// BenchmarkProject measures a project with a Configuration and two functions in
// go-templating, whose base image is in the cache: build (goal: below 150 ms), render of an
// example (goal: below 40 ms) and a push that changes nothing (goal: below 100 ms). many
// builds a project of 5,000 files.
func BenchmarkProject(b *testing.B) {
	xfn := e2e.Binary(b)
	address := remotetest.Serve(b, remotetest.Embedded(b))
	pushBases(b, address)
	dir := b.TempDir()
	b.Setenv("XFN_CACHE_DIR", filepath.Join(dir, "cache"))
	work := filepath.Join(dir, "project")
	if err := os.CopyFS(work, os.DirFS(filepath.Join(projectCorpus, "push-basic", "in"))); err != nil {
		b.Fatal(err)
	}
	replace(b, filepath.Join(work, "crossplane-project.yaml"), recorded, address)
	replace(b, filepath.Join(work, "apis", "app", "composition.yaml"), "acme-demo", "gold-basic")
	template := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations: {gotemplating.fn.crossplane.io/composition-resource-name: a}\ndata: {size: {{ .observed.composite.resource.spec.size }}}\n"
	if err := os.WriteFile(filepath.Join(work, "functions", "compose", "a.tmpl"), []byte(template), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(work, "functions", "second"), os.DirFS(filepath.Join(work, "functions", "compose"))); err != nil {
		b.Fatal(err)
	}
	run1(b, work, xfn, "project", "build", "-q")
	run1(b, work, xfn, "project", "push", "-q", "-t", "v1")
	for name, args := range map[string][]string{
		"build":  {"project", "build", "-q"},
		"render": {"render", "-q", "examples/app/app.yaml"},
		"again":  {"project", "push", "-q", "-t", "v1"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run1(b, work, xfn, args...)
			}
		})
	}
	b.Run("many", func(b *testing.B) {
		text := readBench(b, filepath.Join(work, "apis", "app", "composition.yaml"))
		for i := range 5000 {
			path := filepath.Join(work, "apis", fmt.Sprintf("%d.yaml", i))
			if err := os.WriteFile(path, []byte(strings.Replace(text, "name: apps", fmt.Sprintf("name: apps-%d", i), 1)), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			run1(b, work, xfn, "project", "build", "-q")
		}
	})
}

func readBench(b *testing.B, path string) string {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

func replace(b *testing.B, path, old, with string) {
	b.Helper()
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(readBench(b, path), old, with)), 0o600); err != nil {
		b.Fatal(err)
	}
}
