package gotemplating_test

import (
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

// hundred is a template of 100 resources. It calls only functions of sprig and text/template.
const hundred = `{{- $xr := .observed.composite.resource }}
{{- range $i := until 100 }}
---
apiVersion: dock.example.net/v1
kind: Crane
metadata:
  annotations: {gotemplating.fn.crossplane.io/composition-resource-name: crane-{{ $i }}}
  labels:
    app: {{ $xr.metadata.name }}
    team: {{ $xr.spec.team | default "none" | quote }}
spec:
  region: {{ $xr.spec.region | upper }}
  size: {{ mul $i $xr.spec.size }}
  tags: {{ $xr.spec.tags | toJson }}
{{- end }}
`

// BenchmarkHundred composes 100 resources with a template that is in the cache. The limit
// executes the parsed template, and decodes its output with the parser of Kubernetes.
func BenchmarkHundred(b *testing.B) {
	const times = 10 // A sample is the mean of several calls, because one takes milliseconds.
	mean := func(f func()) benchtest.Cost {
		c := benchtest.Timed(func() {
			for range times {
				f()
			}
		})
		return benchtest.Cost{Took: c.Took / times}
	}
	r := gotemplating.New(gotemplating.Options{})
	req := typicalRequest(b, "p")
	req.GetInput().GetFields()["inline"].GetStructValue().GetFields()["template"] = structpb.NewStringValue(hundred)
	data := e2e.Must(gotemplating.TemplateData(req))(b)
	parsed := template.Must(template.New("").Funcs(sprig.TxtFuncMap()).Parse(hundred))
	benchtest.Measure(b, "GoTemplating", benchtest.Jobs{
		XFN: func(string) benchtest.Cost {
			return mean(func() {
				rsp, err := r.RunFunction(b.Context(), "", req)
				if err != nil || len(rsp.GetResults()) > 0 || len(rsp.GetDesired().GetResources()) != 100 {
					b.Fatal(rsp, err)
				}
			})
		},
		Limit: func() benchtest.Cost {
			return mean(func() {
				var text strings.Builder
				e2e.NoError(b, parsed.Execute(&text, data))
				for part := range strings.SplitSeq(text.String(), "\n---\n") {
					var object map[string]any
					e2e.NoError(b, yaml.Unmarshal([]byte(part), &object))
				}
			})
		},
	})
}
