package gotemplating_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// typical is a typical template, with ten composed resources.
const typical = `{{- define "labels" }}
app: {{ .observed.composite.resource.metadata.name }}
team: {{ .observed.composite.resource.spec.team | default "none" | quote }}
{{- end }}
{{- $spec := .observed.composite.resource.spec }}
{{- range $i := until 10 }}
---
apiVersion: dock.example.net/v1
kind: Crane
metadata:
  annotations:
    {{ setResourceNameAnnotation (printf "crane-%d" $i) }}
    {{- if eq (getResourceCondition "Ready" (getComposedResource $ (printf "crane-%d" $i))).Status "True" }}
    gotemplating.fn.crossplane.io/ready: "True"
    {{- end }}
  labels: {{- include "labels" $ | nindent 4 }}
spec:
  region: {{ $spec.region | upper }}
  size: {{ mul $i $spec.size }}
  tags: {{ $spec.tags | toJson }}
{{- end }}
---
apiVersion: {{ .observed.composite.resource.apiVersion }}
kind: {{ .observed.composite.resource.kind }}
status:
  cranes: {{ len (default dict .observed.resources) }}
`

func typicalRequest(t testing.TB, name string) *fnv1.RunFunctionRequest {
	req := inlineRequest(t, typical)
	xr, err := structpb.NewStruct(map[string]any{
		"apiVersion": "harbor.example.org/v1", "kind": "Pier",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"region": "eu", "size": 3, "tags": map[string]any{"a": "b"}},
	})
	e2e.NoError(t, err)
	req.Observed = &fnv1.State{Composite: &fnv1.Resource{Resource: xr}}
	return req
}

// TestConcurrent runs one template for many composite resources concurrently.
func TestConcurrent(t *testing.T) {
	r := gotemplating.New(gotemplating.Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		req := typicalRequest(t, fmt.Sprint("pier-", i))
		want, err := gotemplating.New(gotemplating.Options{}).RunFunction(t.Context(), "", proto.CloneOf(req))
		if err != nil || len(want.GetDesired().GetResources()) != 10 {
			t.Fatalf("got %v, %v, want ten resources", want, err)
		}
		wg.Go(func() {
			for range 5 {
				got, err := r.RunFunction(t.Context(), "", req)
				if err != nil {
					t.Error(err)
				}
				e2e.Equal(t, "concurrent requests get the response of a single request", want, got, protocmp.Transform())
			}
		})
	}
	e2e.Wait(t, &wg)
}

func FuzzTemplate(f *testing.F) {
	f.Add(typical)
	for _, text := range templates {
		f.Add(text)
	}
	for _, text := range texts {
		f.Add(text)
	}
	r := gotemplating.New(gotemplating.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 || strings.Contains(text, "gen") || strings.Contains(text, "bcrypt") {
			return // functions that generate keys or hashes take long
		}
		ctx := &countdown{Context: context.WithoutCancel(t.Context())}
		ctx.left.Store(100_000)
		req := typicalRequest(t, "p")
		req.GetInput().GetFields()["inline"].GetStructValue().GetFields()["template"] = structpb.NewStringValue(text)
		before := proto.CloneOf(req)
		rsp, err := r.RunFunction(ctx, "", req)
		if (rsp == nil) == (err == nil) {
			t.Errorf("got %v, %v, want a response or an error", rsp, err)
		}
		if err != nil && ctx.Err() == nil {
			t.Errorf("got %v before the context ended", err)
		}
		if !proto.Equal(before, req) {
			t.Error("the request was changed")
		}
	})
}
