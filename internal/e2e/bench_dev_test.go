package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

// BenchmarkDev saves a file, and waits until xfn dev has rendered 100 resources again.
func BenchmarkDev(b *testing.B) {
	const template = `{{- range $i := until 100 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  namespace: default
  annotations: {gotemplating.fn.crossplane.io/composition-resource-name: "r{{ $i }}"}
data: {value: "{{ if eq $i 7 }}%d{{ end }}"}
{{- end }}
`
	const composition = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: bench}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XApp}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-app}
`
	inline := composition + "    input:\n      apiVersion: gotemplating.fn.crossplane.io/v1beta1\n      kind: GoTemplate\n      source: Inline\n      inline:\n        template: |\n" +
		regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(template, "          $1")
	files := map[string]string{
		"xr.yaml": "apiVersion: example.org/v1\nkind: XApp\nmetadata: {name: a, namespace: default}\n",
	}
	written := filepath.Join(b.TempDir(), "file")
	for _, row := range []struct{ name, composition, file, content string }{
		{"DevTemplate", composition, "templates/all.gotmpl", template},
		{"DevComposition", inline, "composition.yaml", inline},
	} {
		files["composition.yaml"] = row.composition
		watched := map[string]string{}
		outputs := map[string]*transcript{}
		parsed := texttemplate.Must(texttemplate.New("").Funcs(sprig.TxtFuncMap()).Parse(fmt.Sprintf(template, 0)))
		floor := func() {
			time.Sleep(2 * time.Millisecond) // Editors write a file in several steps.
			var text strings.Builder
			e2e.NoError(b, parsed.Execute(&text, nil))
			for part := range strings.SplitSeq(text.String(), "\n---\n") {
				var object map[string]any
				e2e.NoError(b, yaml.Unmarshal([]byte(part), &object))
			}
		}
		benchtest.Measure(b, row.name, benchtest.Jobs{Floor: func() benchtest.Cost { return benchtest.Timed(floor) }, XFN: func(xfn string) benchtest.Cost {
			out, dir := outputs[xfn], watched[xfn]
			await := func() {
				e2e.NoError(b, e2e.Err(out.await(rendered)))
			}
			save := func() { // Like editors, it replaces the file at once.
				err := os.WriteFile(written, fmt.Appendf(nil, row.content, time.Now().UnixNano()), 0o600)
				e2e.NoError(b, errors.Join(err, os.Rename(written, filepath.Join(dir, row.file))))
			}
			if out == nil {
				dir = b.TempDir()
				copyFiles(b, filepath.Join(dir, "templates"), map[string]string{"all.gotmpl": fmt.Sprintf(template, 0)})
				copyFiles(b, dir, files)
				save()
				out = dev(b, xfn, dir)
				outputs[xfn], watched[xfn] = out, dir
				await()
			}
			return benchtest.Timed(func() { save(); await() })
		}})
	}
}

// rendered matches the output of a round of xfn dev.
var rendered = regexp.MustCompile(`(?m)^rendered (?s:.*?)^watching .*$`)

// dev starts xfn dev until the benchmark ends.
func dev(b *testing.B, xfn, dir string) *transcript {
	b.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	cmd := exec.CommandContext(ctx, xfn, "dev", "xr.yaml", "composition.yaml", "--package", "function-app=templates")
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	e2e.NoError(b, cmd.Start())
	b.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // xfn dev was interrupted, so its exit code does not matter.
		_ = w.Close()
	})
	return transcribe(r)
}
