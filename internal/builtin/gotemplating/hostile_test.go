package gotemplating_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func inlineRequest(t testing.TB, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	in := e2e.Must(structpb.NewStruct(map[string]any{"source": "Inline", "inline": map[string]any{"template": text}}))(t)
	return &fnv1.RunFunctionRequest{Input: in}
}

// TestHostile checks templates that would crash the process without limits.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("it reaches limits of many megabytes")
	}
	const (
		tooLarge = "the call would allocate more than 256 MiB"
		cyclic   = "the value would contain itself"
		tooDeep  = "templates and loops are nested too deeply"
	)
	cases := map[string]struct{ reason, template, want string }{
		"Until":     {reason: "a list of a billion values is an error", template: `{{ until 1000000000 }}`, want: tooLarge},
		"UntilStep": {reason: "a count that ends above the largest integer is an error", template: `{{ untilStep 0 9223372036854775807 4611686018427387904 }}`, want: tooLarge},
		"UntilStepDown": {
			reason:   "a count that ends below the smallest integer is an error",
			template: `{{ untilStep 0 -9223372036854775807 -4611686018427387904 }}`,
			want:     tooLarge,
		},
		"Seq":            {reason: "a sequence of a billion numbers is an error", template: `{{ seq 1 1000000000 }}`, want: tooLarge},
		"SeqStep":        {reason: "a step above the largest integer is an error", template: `{{ seq 0 4611686018427387904 9223372036854775800 }}`, want: tooLarge},
		"Repeat":         {reason: "a text of a gigabyte is an error", template: `{{ repeat 1000000000 "x" }}`, want: tooLarge},
		"RepeatOverflow": {reason: "a length that is not an integer is an error", template: `{{ repeat 9223372036854775807 "xx" }}`, want: tooLarge},
		"RepeatedRepeat": {reason: "a text that grows in steps is limited", template: `{{ $s := "x" }}{{ range until 64 }}{{ $s = repeat 16 $s }}{{ end }}`, want: tooLarge},
		"Replace":        {reason: "a text between all characters is limited", template: `{{ $s := repeat 100000 "x" }}{{ replace "" $s $s }}`, want: tooLarge},
		"Join":           {reason: "a long separator is limited", template: `{{ join (repeat 1000000 "x") (until 10000) }}`, want: tooLarge},
		"JoinElements": {
			reason:   "a list of long elements is limited",
			template: `{{ $s := repeat 16000000 "x" }}{{ $l := list $s $s $s $s $s $s $s $s $s $s $s $s $s $s $s $s $s $s $s $s }}{{ join "" $l }}`,
			want:     tooLarge,
		},
		"Indent":       {reason: "a wide indentation is an error", template: `{{ indent 1000000000 "x" }}`, want: tooLarge},
		"NindentLines": {reason: "a wide indentation of many lines is an error", template: `{{ repeat 1000000 "\n" | nindent 1000 }}`, want: tooLarge},
		"Random":       {reason: "a random text of 100 megabytes is an error", template: `{{ randAlphaNum 100000000 }}`, want: tooLarge},
		"RandomBytes":  {reason: "more random bytes than the memory has are an error", template: `{{ randBytes 9223372036854775807 }}`, want: tooLarge},
		"FromYamlAliases": {
			reason:   "a few lines of YAML with aliases for a billion values are an error",
			template: `{{ fromYaml "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n" }}`,
			want:     "excessive aliasing",
		},
		"Output": {
			reason:   "an endless output is an error",
			template: `{{ $s := repeat 100000 "x" }}{{ range 1000000000 }}{{ $s }}{{ end }}`,
			want:     "the output is larger than 64 MiB",
		},
		"IncludedOutput": {
			reason:   "an include with an endless output is an error",
			template: `{{ define "a" }}{{ range 1000000000 }}{{ $ }}{{ end }}{{ end }}{{ include "a" (repeat 100000 "x") | len }}`,
			want:     "the output is larger than 64 MiB",
		},
		"CyclicPrinted": {reason: "a value that contains itself is printed", template: `{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ $d }}`, want: cyclic},
		"CyclicList":    {reason: "a value contains itself in a list", template: `{{ $d := dict }}{{ $_ := set $d "a" (list 1 $d) }}{{ $d }}`, want: cyclic},
		"CyclicData":    {reason: "the request's data contains itself", template: `{{ $_ := set .meta "x" .meta }}{{ getCredentialData . "x" }}`, want: cyclic},
		"Deep": {
			reason:   "a deeply nested value is printed",
			template: `{{ $v := list }}{{ range until 20000 }}{{ $v = list $v }}{{ end }}{{ $v }}`,
			want:     "cannot decode manifest",
		},
		"RecursionInIfs": {
			reason:   "a template that calls itself in too many blocks for the stack is an error",
			template: `{{ define "a" }}` + strings.Repeat("{{if 1}}", 1000) + `{{ template "a" . }}` + strings.Repeat("{{end}}", 1000) + `{{ end }}{{ template "a" . }}`,
			want:     tooDeep,
		},
		"RecursionInLoops": {
			reason: "a template that calls itself in loops is an error",
			// The block that does not run makes each call heavy, so that few calls reach the limit.
			template: `{{ define "a" }}{{ range 1 }}{{ template "a" . }}{{ end }}{{ if 0 }}` + strings.Repeat("{{range 1}}", 100) + strings.Repeat("{{end}}", 101) + `{{ end }}{{ template "a" . }}`,
			want:     tooDeep,
		},
		"Loops":    {reason: "deeply nested loops are an error", template: strings.Repeat("{{range 1}}", 4000) + "{{fail `x`}}" + strings.Repeat("{{end}}", 4000), want: tooDeep},
		"Includes": {reason: "many templates that include themselves often are an error", template: manyIncludes(), want: "error calling include"},
		"IncludedError": {
			reason:   "an error in many nested includes is cut",
			template: `{{ define "a" }}{{ include "a" "` + strings.Repeat("x", 10000) + `" }}{{ end }}{{ include "a" . }}`,
			want:     "xxx...",
		},
		"Ifs": {
			reason:   "deeply nested blocks are an error",
			template: strings.Repeat("{{if 1}}", 60000) + strings.Repeat("{{end}}", 60000),
			want:     "the template has more than 100000 actions",
		},
		"Elses": {
			reason:   "nested blocks that are written as a chain are an error",
			template: "{{if 1}}" + strings.Repeat("{{else if 1}}", 120000) + "{{end}}",
			want:     "the template has more than 100000 actions",
		},
		"Text": {reason: "a template that is too long is an error", template: strings.Repeat("x", 5<<20), want: "the template is larger than 4 MiB"},
		"Host": {
			reason:   "a builtin has no network",
			template: `{{ getHostByName "example.org" }}`,
			want:     `<getHostByName "example.org">: error calling getHostByName: a builtin function has no network`,
		},
		"LongMessage": {reason: "a long error is cut", template: `{{ fail (repeat 1000000 "x") }}`, want: "xxx..."},
		"Document":    {reason: "a document that is too large is an error", template: `{{ repeat 5000000 "x" }}`, want: "cannot decode manifest: a document is larger than 2 MiB"},
		"JSONDocument": {
			reason:   "a JSON document that is too large is an error",
			template: `{"a":"{{ repeat 5000000 "x" }}"}`,
			want:     "cannot decode manifest: a document is larger than 2 MiB",
		},
	}
	r := gotemplating.New(gotemplating.Options{})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := inlineRequest(t, tc.template)
			req.Meta = &fnv1.RequestMeta{Tag: "t"}
			rsp := e2e.Must(r.RunFunction(t.Context(), "", req))(t)
			assertFatal(t, tc.reason, rsp, tc.want)
		})
	}
}

// assertFatal fails the test unless the response has exactly one fatal result
// that contains want.
func assertFatal(t *testing.T, reason string, rsp *fnv1.RunFunctionResponse, want string) {
	t.Helper()
	results := rsp.GetResults()
	if len(results) != 1 || results[0].GetSeverity() != fnv1.Severity_SEVERITY_FATAL {
		t.Fatalf("%s: got %v, want one fatal result", reason, results)
	}
	e2e.Has(t, reason, results[0].GetMessage(), want)
}

// TestHostileUsual checks templates that reach a limit of text/template, or the
// limit of a single value.
func TestHostileUsual(t *testing.T) {
	cases := map[string]struct{ reason, template, want string }{
		"Recursion": {
			reason:   "a template that calls itself may use the whole stack that text/template permits",
			template: `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`,
			want:     `template: manifests:1:28: executing "a" at <{{template "a" .}}>: exceeded maximum template depth (100000)`,
		},
		"Include": {
			reason:   "each nested include wraps the error once",
			template: `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`,
			want: `cannot execute template: template: manifests:1:47: executing "manifests" at <include "x" .>` +
				strings.Repeat(`: error calling include: template: manifests:1:19: executing "x" at <include "x" .>`, 1001) +
				`: error calling include: rendering template has a nested reference name: x: unable to execute template`,
		},
		"Value": {reason: "the size of a single value is limited", template: `{{ repeat 269000000 "x" }}`, want: "the call would allocate more than 256 MiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := e2e.Must(gotemplating.New(gotemplating.Options{}).RunFunction(t.Context(), "", inlineRequest(t, tc.template)))(t)
			assertFatal(t, tc.reason, rsp, tc.want)
		})
	}
}

// manyIncludes returns a template that defines many templates. Each of them
// includes itself as often as possible, and then includes the next one.
func manyIncludes() string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `{{ define "%d" }}{{ if . }}{{ include "%d" (sub . 1) }}{{ else }}{{ include "%d" 900 }}{{ end }}{{ end }}`, i, i, i+1)
	}
	return b.String() + `{{ include "0" 900 }}`
}

// A countdown is a context that is canceled after its Err method was called a
// number of times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancel checks that templates which run long or forever end when their
// context is done.
func TestCancel(t *testing.T) {
	cases := map[string]struct{ reason, template string }{
		"EmptyLoop": {reason: "a loop without a body ends", template: `{{range 9223372036854775807}}{{end}}`},
		"Continue":  {reason: "a loop with continue ends", template: `{{range 9223372036854775807}}{{continue}}{{end}}`},
		"Nested":    {reason: "many short loops end", template: `{{range 100000}}{{range 100000}}{{range 100000}}{{end}}{{end}}{{end}}`},
		"Else":      {reason: "a loop in an else block ends", template: `{{range list}}{{else}}{{range 9223372036854775807}}{{else}}{{end}}{{end}}`},
		"With":      {reason: "a loop in blocks ends", template: `{{with 1}}{{if .}}{{range 9223372036854775807}}{{end}}{{end}}{{end}}`},
		"Templates": {
			reason:   "templates that call each other 2^60 times end",
			template: `{{define "a"}}{{if .}}{{template "a" (sub . 1)}}{{template "a" (sub . 1)}}{{end}}{{end}}{{template "a" 60}}`,
		},
		"Bare": {
			reason:   "templates that call each other often and contain nothing else end",
			template: `{{define "a"}}{{template "b"}}{{template "b"}}{{end}}{{define "b"}}{{template "c"}}{{template "c"}}{{end}}{{define "c"}}{{template "d"}}{{template "d"}}{{end}}{{define "d"}}{{end}}` + strings.Repeat(`{{template "a"}}`, 500),
		},
		"Include": {reason: "includes in a loop end", template: `{{define "a"}}{{end}}{{range 9223372036854775807}}{{if include "a" .}}{{end}}{{end}}`},
		"Values":  {reason: "a template with many values ends", template: strings.Repeat(`{{1}}`, 2000)},
		"Text":    {reason: "a template with many texts ends", template: strings.Repeat(`x{{if 0}}{{end}}`, 2000)},
		"Documents": {
			reason: "a template with many documents ends",
			template: strings.Repeat(`kind: A
---
`, 2000),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx := &countdown{Context: context.WithoutCancel(t.Context())}
			ctx.left.Store(1000)
			rsp, err := gotemplating.New(gotemplating.Options{}).RunFunction(ctx, "", inlineRequest(t, tc.template))
			if !errors.Is(err, context.Canceled) || rsp != nil {
				t.Fatalf("%s: got %v, %v, want %v", tc.reason, rsp, err, context.Canceled)
			}
			e2e.Equal(t, tc.reason, "executing the template: context canceled", err.Error())
		})
	}
}
