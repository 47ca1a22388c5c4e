package gotemplating_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating/limit"
)

func inlineRequest(t testing.TB, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	in, err := structpb.NewStruct(map[string]any{"source": "Inline", "inline": map[string]any{"template": text}})
	if err != nil {
		t.Fatal(err)
	}
	return &fnv1.RunFunctionRequest{Input: in}
}

// small are limits that hold as the usual ones do, and are reached sooner.
func small() limit.Limits {
	return limit.Limits{Memory: 64 << 20, Value: 32 << 20, Output: 8 << 20, Stack: 16 << 20, Loops: 256}
}

// TestHostile has templates that would take the process with them.
func TestHostile(t *testing.T) {
	const (
		tooMuch  = "the values that the template makes take more than 64 MiB"
		tooLarge = "more than 32 MiB" // a value, or all documents
		tooDeep  = "the value is nested more than 1000 deep, or holds itself"
		// maxMade is how many MiB an execution takes, garbage and the reading of
		// documents included. Without bounds most of these templates take it all.
		maxMade = 512
	)
	cyclic := `{{ $d := dict }}{{ $_ := set $d "a" $d }}`
	graph := `{{ $v := list "x" }}{{ range until 64 }}{{ $v = list $v $v }}{{ end }}`
	cases := map[string]struct {
		reason   string
		template string
		want     string
	}{
		"Until": {
			reason:   "a list of a thousand million",
			template: `{{ until 1000000000 }}`,
			want:     tooLarge,
		},
		"UntilStep": {
			reason:   "a count whose end is beyond the largest integer",
			template: `{{ untilStep 0 9223372036854775807 4611686018427387904 }}`,
			want:     "the work is too much",
		},
		"UntilStepDown": {
			reason:   "the same below the smallest",
			template: `{{ untilStep 0 -9223372036854775807 -4611686018427387904 }}`,
			want:     "the work is too much",
		},
		"Seq": {
			reason:   "numbers as text",
			template: `{{ seq 1 1000000000 }}`,
			want:     tooLarge,
		},
		"SeqStep": {
			reason:   "a step beyond the largest integer",
			template: `{{ seq 0 4611686018427387904 9223372036854775800 }}`,
			want:     "the work is too much",
		},
		"Repeat": {
			reason:   "a long text",
			template: `{{ repeat 1000000000 "x" }}`,
			want:     tooLarge,
		},
		"RepeatOverflow": {
			reason:   "a length that is no integer",
			template: `{{ repeat 9223372036854775807 "xx" }}`,
			want:     tooLarge,
		},
		"RepeatedRepeat": {
			reason:   "a text made longer step by step",
			template: `{{ $s := "x" }}{{ range until 64 }}{{ $s = repeat 16 $s }}{{ end }}`,
			want:     tooLarge,
		},
		"Replace": {
			reason:   "something between all characters",
			template: `{{ $s := repeat 100000 "x" }}{{ replace "" $s $s }}`,
			want:     tooLarge,
		},
		"Join": {
			reason:   "a long separator",
			template: `{{ join (repeat 1000000 "x") (until 10000) }}`,
			want:     tooLarge,
		},
		"Indent": {
			reason:   "a wide margin",
			template: `{{ indent 1000000000 "x" }}`,
			want:     tooLarge,
		},
		"NindentLines": {
			reason:   "a margin of many lines",
			template: `{{ repeat 1000000 "\n" | nindent 1000 }}`,
			want:     tooLarge,
		},
		"Wrap": {
			reason:   "a long separator of lines",
			template: `{{ wrapWith 1 (repeat 100000 "x") (repeat 100000 "y") }}`,
			want:     tooLarge,
		},
		"PrintfWidth": {
			reason:   "many wide fields",
			template: `{{ printf (repeat 1000 "%999999d") 1 }}`,
			want:     tooLarge,
		},
		"PrintfList": {
			reason:   "a width for each element",
			template: `{{ printf "%1000000d" (until 10000) }}`,
			want:     tooLarge,
		},
		"PrintfStar": {
			reason:   "a width that is an argument",
			template: `{{ printf (repeat 1000 "%[1]*[1]d") 1000000 }}`,
			want:     tooLarge,
		},
		"PrintfVerbs": {
			reason:   "one argument many times",
			template: `{{ printf (repeat 10000 "%[1]s") (repeat 100000 "x") }}`,
			want:     tooLarge,
		},
		"Random": {
			reason:   "random text takes time",
			template: `{{ randAlphaNum 100000000 }}`,
			want:     tooLarge,
		},
		"RandomBytes": {
			reason:   "random bytes",
			template: `{{ randBytes 9223372036854775807 }}`,
			want:     tooLarge,
		},
		"RegexReplace": {
			reason:   "a long replacement of all characters",
			template: `{{ $s := repeat 100000 "x" }}{{ regexReplaceAll "x" $s $s }}`,
			want:     tooLarge,
		},
		"RegexLength": {
			reason:   "a long pattern",
			template: `{{ regexMatch (repeat 100000 "a") "a" }}`,
			want:     "an argument is too long",
		},
		"Uniq": {
			reason:   "all compared with all",
			template: `{{ until 200000 | uniq }}`,
			want:     "the work is too much",
		},
		"Semver": {
			reason:   "a version is short",
			template: `{{ semver (printf "1.2.3-%s" (repeat 2000 "x")) }}`,
			want:     "an argument is too long",
		},
		"Key": {
			reason:   "a key takes time with the cube of its length",
			template: `{{ genCAWithKey "a" 1 (repeat 20000 "x") }}`,
			want:     "an argument is too long",
		},
		"FromJson": {
			reason:   "values are larger than their text",
			template: `{{ repeat 30000000 "[]," | printf "[%s0]" | fromJson }}`,
			want:     tooLarge,
		},
		"FromYaml": {
			reason:   "so they are in YAML",
			template: `{{ repeat 3000000 "[]," | printf "[%s0]" | fromYaml }}`,
			want:     tooLarge,
		},
		"FromYamlAliases": {
			reason:   "a few lines of YAML that are a thousand million values",
			template: `{{ fromYaml "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n" }}`,
			want:     "excessive aliasing",
		},
		"Output": {
			reason:   "output without an end",
			template: `{{ $s := repeat 100000 "x" }}{{ range 1000000000 }}{{ $s }}{{ end }}`,
			want:     "the output is larger than 8 MiB",
		},
		"IncludedOutput": {
			reason:   "the same into a text",
			template: `{{ define "a" }}{{ range 1000000000 }}{{ $ }}{{ end }}{{ end }}{{ include "a" (repeat 100000 "x") | len }}`,
			want:     "the output is larger than 8 MiB",
		},
		"Kept": {
			reason:   "many values that are small",
			template: `{{ $d := dict }}{{ range $i := 1000000000 }}{{ $_ := set $d (toString $i) (repeat 10000 "x") }}{{ end }}`,
			want:     tooMuch,
		},
		"KeptByMethod": {
			reason:   "text that a method makes",
			template: `{{ $d := dict }}{{ $f := repeat 100000 "Mon" }}{{ range $i := 1000000000 }}{{ $_ := set $d (toString $i) (now.Format $f) }}{{ end }}`,
			want:     tooMuch,
		},
		"Appended": {
			reason:   "a list that grows",
			template: `{{ $l := list }}{{ range 1000000000 }}{{ $l = append $l . }}{{ end }}`,
			want:     tooMuch,
		},
		"CyclicPrinted": {
			reason:   "a value in itself, printed",
			template: cyclic + `{{ $d }}`,
			want:     tooDeep,
		},
		"CyclicList": {
			reason:   "through a list",
			template: `{{ $d := dict }}{{ $_ := set $d "a" (list 1 $d) }}{{ $d }}`,
			want:     tooDeep,
		},
		"CyclicYaml": {
			reason:   "written as YAML",
			template: cyclic + `{{ toYaml $d }}`,
			want:     tooDeep,
		},
		"CyclicJson": {
			reason:   "written as JSON",
			template: cyclic + `{{ toPrettyJson $d }}`,
			want:     tooDeep,
		},
		"CyclicQuote": {
			reason:   "quoted",
			template: cyclic + `{{ quote $d }}`,
			want:     tooDeep,
		},
		"CyclicPrint": {
			reason:   "by a function of Go",
			template: cyclic + `{{ print $d }}`,
			want:     tooDeep,
		},
		"CyclicPrintf": {
			reason:   "formatted",
			template: cyclic + `{{ printf "%#v" $d }}`,
			want:     tooDeep,
		},
		"CyclicHTML": {
			reason:   "escaped",
			template: cyclic + `{{ html $d }}`,
			want:     tooDeep,
		},
		"CyclicCopy": {
			reason:   "copied",
			template: cyclic + `{{ deepCopy $d }}`,
			want:     tooDeep,
		},
		"CyclicMerge": {
			reason:   "merged",
			template: cyclic + `{{ merge (dict "a" (dict)) $d }}`,
			want:     tooDeep,
		},
		"CyclicEqual": {
			reason:   "compared",
			template: cyclic + `{{ deepEqual $d $d }}`,
			want:     tooDeep,
		},
		"CyclicEq": {
			reason:   "compared by Go, which writes it into the error",
			template: cyclic + `{{ eq $d $d }}`,
			want:     tooDeep,
		},
		"CyclicNe": {
			reason:   "the same",
			template: cyclic + `{{ if ne $d $d }}{{ end }}`,
			want:     tooDeep,
		},
		"CyclicNumber": {
			reason:   "made a number, which writes it into an error",
			template: cyclic + `{{ int $d }}`,
			want:     tooDeep,
		},
		"CyclicSum": {
			reason:   "added",
			template: cyclic + `{{ add 1 $d }}`,
			want:     tooDeep,
		},
		"CyclicKey": {
			reason:   "made the key of a dict",
			template: cyclic + `{{ dict $d 1 }}`,
			want:     tooDeep,
		},
		"CyclicIndex": {
			reason:   "made an index",
			template: cyclic + `{{ slice (list 1) $d }}`,
			want:     tooDeep,
		},
		"CyclicResource": {
			reason:   "taken for a resource",
			template: cyclic + `{{ getResourceCondition "Ready" (dict "status" $d) }}`,
			want:     tooDeep,
		},
		"CyclicData": {
			reason:   "put into the request",
			template: `{{ $_ := set .meta "x" .meta }}{{ getCredentialData . "x" }}`,
			want:     tooDeep,
		},
		"CyclicComposite": {
			reason:   "put into the composite resource",
			template: `{{ $r := dict }}{{ $_ := set $r "r" $r }}{{ getCompositeResource (dict "observed" (dict "composite" (dict "resource" $r))) }}`,
			want:     tooDeep,
		},
		"GraphPrinted": {
			reason:   "a small value that prints as 2^64 characters",
			template: graph + `{{ $v }}`,
			want:     tooLarge,
		},
		"GraphYaml": {
			reason:   "the same as YAML",
			template: graph + `{{ toYaml $v }}`,
			want:     tooLarge,
		},
		"Deep": {
			reason:   "a value that is nested deeply, but not in itself",
			template: `{{ $v := list }}{{ range until 100000 }}{{ $v = list $v }}{{ end }}{{ $v }}`,
			want:     tooDeep,
		},
		"RecursionInIfs": {
			reason:   "the same within so much that the stack would be too large",
			template: `{{ define "a" }}` + strings.Repeat("{{if 1}}", 1000) + `{{ template "a" . }}` + strings.Repeat("{{end}}", 1000) + `{{ end }}{{ template "a" . }}`,
			want:     "take more than 16 MiB of stack",
		},
		"RecursionInLoops": {
			reason:   "the same within loops",
			template: `{{ define "a" }}{{ range 1 }}{{ template "a" . }}{{ end }}{{ end }}{{ template "a" . }}`,
			want:     "more than 256 loops",
		},
		"Loops": {
			reason:   "loops within each other",
			template: strings.Repeat("{{range 1}}", 4000) + "{{fail `x`}}" + strings.Repeat("{{end}}", 4000),
			want:     "more than 256 loops",
		},
		"Includes": {
			reason:   "includes of many names, each often",
			template: manyIncludes(),
			want:     "error calling include",
		},
		"IncludedError": {
			reason:   "an error within many includes",
			template: `{{ define "a" }}{{ include "a" "` + strings.Repeat("x", 10000) + `" }}{{ end }}{{ include "a" . }}`,
			want:     "xxx...",
		},
		"Ifs": {
			reason:   "blocks within each other",
			template: strings.Repeat("{{if 1}}", 60000) + strings.Repeat("{{end}}", 60000),
			want:     "the template has more than 100000 actions",
		},
		"Elses": {
			reason:   "blocks that do not look nested",
			template: "{{if 1}}" + strings.Repeat("{{else if 1}}", 120000) + "{{end}}",
			want:     "the template has more than 100000 actions",
		},
		"Text": {
			reason:   "a template that is too long",
			template: strings.Repeat("x", 5<<20),
			want:     "the template is larger than 4 MiB",
		},
		"Arguments": {
			reason:   "a call with many arguments",
			template: "{{ mulf 1.1" + strings.Repeat(" 1.1", 100000) + "}}",
			want:     "there are more than 10000 arguments",
		},
		"Host": {
			reason:   "a builtin has no network",
			template: `{{ getHostByName "example.org" }}`,
			want:     `<getHostByName "example.org">: error calling getHostByName: a builtin function has no network`,
		},
		"LongMessage": {
			reason:   "a long error",
			template: `{{ fail (repeat 1000000 "x") }}`,
			want:     "xxx...",
		},
		"Document": {
			reason:   "a document that is too large",
			template: `{{ repeat 5000000 "x" }}`,
			want:     "cannot decode manifest: a document is larger than 2 MiB",
		},
		"JSONDocument": {
			reason:   "the same of JSON",
			template: `{"a":"{{ repeat 5000000 "x" }}"}`,
			want:     "cannot decode manifest: a document is larger than 2 MiB",
		},
		"Aliases": {
			reason: "a document whose aliases stand for more than there is memory",
			template: `a: &a "{{ repeat 100000 "x" }}"` + `
b: [{{ repeat 100000 "*a," }}]
`,
			want: tooLarge,
		},
		"AliasesAfterJSON": {
			reason: "the same after JSON",
			template: `{"kind":"A"}` + "\n" + `a: &a "{{ repeat 100000 "x" }}"` + `
b: [{{ repeat 100000 "*a," }}]
`,
			want: "cannot decode manifest: json: offset 14",
		},
		"Lists": {
			reason: "documents that are larger read than written",
			template: strings.Repeat(`kind: A
b: [{{ repeat 60000 "{}," }}]
---
`, 10),
			want: tooLarge,
		},
		"Keys": {
			reason: "the same with keys",
			template: strings.Repeat(`kind: A
b: [{{ repeat 30000 "{a: }," }}]
---
`, 10),
			want: tooLarge,
		},
		"RepeatedKeys": {
			reason:   "keys of YAML that are alike, of which each pair would be described",
			template: `{{ fromYaml (repeat 50000 "a:\n") }}`,
			want:     "a mapping has ",
		},
		"ManyKeys": {
			reason:   "keys that are compared with each other",
			template: `{{ $s := "" }}{{ range $i := until 11000 }}{{ $s = print $s $i ":\n" }}{{ end }}{{ fromYaml $s }}`,
			want:     "",
		},
		"Variables": {
			reason:   "variables, which the parser compares with each other",
			template: strings.Repeat("{{$v:=1}}", 30000) + "{{print" + strings.Repeat(" $", 30000) + "}}",
			want:     "the template has too many variables",
		},
		"Decimals": {
			reason:   "decimals that get longer by each argument",
			template: `{{ divf ` + strings.Repeat("1e-308 ", 5000) + `}}`,
			want:     "arguments",
		},
		"JSONKeys": {
			reason: "the same in JSON",
			template: strings.Repeat(`{"kind": "A", "b": [{{ repeat 25000 "{\"\":0}," }}0]}
`, 10),
			want: tooLarge,
		},
	}
	r := gotemplating.NewLimited(gotemplating.Options{}, small())
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := inlineRequest(t, tc.template)
			req.Meta = &fnv1.RequestMeta{Tag: "t"}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rsp, err := r.RunFunction(t.Context(), "", req)
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > maxMade {
				t.Errorf("%s: it made %d MiB, want %d at most", tc.reason, made, maxMade)
			}
			holds(t, tc.reason, rsp, tc.want)
		})
	}
}

// holds fails if a response is not one fatal result with a text.
func holds(t *testing.T, reason string, rsp *fnv1.RunFunctionResponse, want string) {
	t.Helper()
	results := rsp.GetResults()
	if len(results) != 1 || results[0].GetSeverity() != fnv1.Severity_SEVERITY_FATAL {
		t.Fatalf("%s: got %v, want one fatal result", reason, results)
	}
	if got := results[0].GetMessage(); !strings.Contains(got, want) {
		t.Errorf("%s: got %.400q, want %q", reason, got, want)
	}
}

// TestHostileUsual has what comes to the limits that templates have.
func TestHostileUsual(t *testing.T) {
	cases := map[string]struct{ reason, template, want string }{
		"Recursion": {
			reason:   "a template that calls itself has all the stack that text/template allows",
			template: `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`,
			want:     `template: manifests:1:28: executing "a" at <{{template "a" .}}>: exceeded maximum template depth (100000)`,
		},
		"Value": {
			reason:   "a value",
			template: `{{ repeat 269000000 "x" }}`,
			want:     "a value takes more than 256 MiB",
		},
		"Values": {
			reason:   "values that are not even kept",
			template: `{{ $s := repeat 100000000 "x" }}{{ range 10 }}{{ $_ := repeat 2 $s }}{{ end }}`,
			want:     "the values that the template makes take more than 1024 MiB",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp, err := gotemplating.New(gotemplating.Options{}).RunFunction(t.Context(), "", inlineRequest(t, tc.template))
			if err != nil {
				t.Fatal(err)
			}
			holds(t, tc.reason, rsp, tc.want)
		})
	}
}

// manyIncludes returns a template in which each of many templates includes itself
// as often as it can, and then the next one.
func manyIncludes() string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `{{ define "%d" }}{{ if . }}{{ include "%d" (sub . 1) }}{{ else }}{{ include "%d" 900 }}{{ end }}{{ end }}`, i, i, i+1)
	}
	return b.String() + `{{ include "0" 900 }}`
}

// A countdown is a context that is cancelled once it was asked often enough.
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

// TestCancel has templates that do not end, or not for long, until the context is
// done.
func TestCancel(t *testing.T) {
	cases := map[string]struct {
		reason   string
		template string
	}{
		"EmptyLoop": {
			reason:   "a loop without a body",
			template: `{{range 9223372036854775807}}{{end}}`,
		},
		"Continue": {
			reason:   "a loop that goes on at once",
			template: `{{range 9223372036854775807}}{{continue}}{{end}}`,
		},
		"Nested": {
			reason:   "loops that are short",
			template: `{{range 100000}}{{range 100000}}{{range 100000}}{{end}}{{end}}{{end}}`,
		},
		"Else": {
			reason:   "a loop in what is done otherwise",
			template: `{{range list}}{{else}}{{range 9223372036854775807}}{{else}}{{end}}{{end}}`,
		},
		"With": {
			reason:   "a loop in blocks",
			template: `{{with 1}}{{if .}}{{range 9223372036854775807}}{{end}}{{end}}{{end}}`,
		},
		"Templates": {
			reason:   "templates that call each other 2^60 times",
			template: `{{define "a"}}{{if .}}{{template "a" (sub . 1)}}{{template "a" (sub . 1)}}{{end}}{{end}}{{template "a" 60}}`,
		},
		"Bare": {
			reason:   "the same without a function",
			template: `{{define "a"}}{{template "b"}}{{template "b"}}{{end}}{{define "b"}}{{template "c"}}{{template "c"}}{{end}}{{define "c"}}{{template "d"}}{{template "d"}}{{end}}{{define "d"}}{{end}}` + strings.Repeat(`{{template "a"}}`, 500),
		},
		"Include": {
			reason:   "includes in a loop",
			template: `{{define "a"}}{{end}}{{range 9223372036854775807}}{{if include "a" .}}{{end}}{{end}}`,
		},
		"Calls": {
			reason:   "calls one after the other",
			template: strings.Repeat(`{{$_ := upper "x"}}`, 2000),
		},
		"Values": {
			reason:   "values one after the other",
			template: strings.Repeat(`{{1}}`, 2000),
		},
		"Text": {
			reason:   "text one after the other",
			template: strings.Repeat(`x{{if 0}}{{end}}`, 2000),
		},
		"Documents": {
			reason: "documents one after the other",
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
			if got, want := err.Error(), "executing the template: context canceled"; got != want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, want)
			}
		})
	}
}
