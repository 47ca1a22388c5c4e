package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// BenchmarkProject measures a project with a Configuration and two functions in
// go-templating, whose base image is in the cache.
func BenchmarkProject(b *testing.B) {
	xfn := e2e.Binary(b)
	address := remotetest.Serve(b, remotetest.Embedded(b))
	pushBases(b, address)
	dir := b.TempDir()
	b.Setenv("XFN_CACHE_DIR", filepath.Join(dir, "cache"))
	work := filepath.Join(dir, "project")
	e2e.NoError(b, os.CopyFS(work, os.DirFS(filepath.Join(projectCorpus, "push-basic", "in"))))
	replace(b, filepath.Join(work, "crossplane-project.yaml"), recorded, address)
	replace(b, filepath.Join(work, "apis", "app", "composition.yaml"), "acme-demo", "gold-basic")
	template := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations: {gotemplating.fn.crossplane.io/composition-resource-name: a}\ndata: {size: {{ .observed.composite.resource.spec.size }}}\n"
	e2e.WriteFile(b, filepath.Join(work, "functions", "compose", "a.tmpl"), template)
	e2e.NoError(b, os.CopyFS(filepath.Join(work, "functions", "second"), os.DirFS(filepath.Join(work, "functions", "compose"))))
	benchtest.Run(b, work, xfn, "project", "build", "-q")
	benchtest.Run(b, work, xfn, "project", "push", "-q", "-t", "v1")
	for row, args := range map[string][]string{
		"ProjectBuild":     {"project", "build", "-q"},
		"ProjectRender":    {"render", "-q", "examples/app/app.yaml"},
		"ProjectPushAgain": {"project", "push", "-q", "-t", "v1"},
	} {
		benchtest.Measure(b, row, benchtest.Jobs{XFN: func(xfn string) benchtest.Cost { return benchtest.Run(b, work, xfn, args...) }})
	}
}

// BenchmarkProjectGo builds a project with a function in Go after a change of its source,
// compared with go build for both platforms at once.
func BenchmarkProjectGo(b *testing.B) {
	address := remotetest.Serve(b, remotetest.Embedded(b))
	pushBases(b, address)
	work := filepath.Join(b.TempDir(), "project")
	e2e.NoError(b, os.CopyFS(work, os.DirFS(filepath.Join(projectsDir, "go-models"))))
	replace(b, filepath.Join(work, "crossplane-project.yaml"), "mirror.example.org", address)
	b.Setenv("XFN_CACHE_DIR", filepath.Join(work, "cache"))
	source := filepath.Join(work, "functions", "compose")
	build := func(xfn string) benchtest.Cost {
		change(b, source)
		return benchtest.Run(b, work, xfn, "project", "build", "-q")
	}
	build(e2e.Binary(b))
	benchtest.Measure(b, "ProjectGo", benchtest.Jobs{
		XFN:   build,
		Limit: func() benchtest.Cost { change(b, source); return goBuilds(b, source, "amd64", "arm64") },
		Floor: func() benchtest.Cost { change(b, source); return goBuildsAndZips(b, source, "amd64", "arm64") },
	})
}

func replace(b *testing.B, path, old, with string) {
	b.Helper()
	e2e.WriteFile(b, path, strings.ReplaceAll(e2e.ReadFile(b, path), old, with))
}
