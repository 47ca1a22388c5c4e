package gotemplating_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestLarge checks that large templates such as users may have do not reach a limit.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("it renders large documents")
	}
	const named = `kind: A
metadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: "%s"}}
`
	cases := map[string]struct {
		reason, template string
		want             int // the number of composed resources
	}{
		"Documents": {
			reason:   "300 documents, some of 60 kB, are rendered",
			template: `{{ range $i := until 300 }}---` + "\n" + fmt.Sprintf(named, "{{ $i }}") + `v: {{ repeat (ternary 60000 600 (lt $i 20)) "x" }}` + "\n{{ end }}",
			want:     300,
		},
		"Appended": {
			reason:   "a list of 3,000 values can be built in steps",
			template: `{{ $l := list }}{{ range until 3000 }}{{ $l = append $l . }}{{ end }}` + fmt.Sprintf(named, "{{ len $l }}"),
			want:     1,
		},
		"Set": {
			reason:   "a dict of 10,000 keys can be built in steps",
			template: `{{ $d := dict }}{{ range until 10000 }}{{ $_ := set $d (toString .) . }}{{ end }}` + fmt.Sprintf(named, "{{ len $d }}"),
			want:     1,
		},
		"Copies": {
			reason:   "a value of a hundred kilobytes can be copied 100 times",
			template: `{{ $v := dict "a" (repeat 50000 "x") "b" (until 2000) "c" (list (repeat 10000 "y")) }}{{ range 100 }}{{ $_ := deepCopy $v }}{{ end }}` + fmt.Sprintf(named, "x"),
			want:     1,
		},
		"Matches": {
			reason:   "a search in 200 kilobytes can match everything",
			template: `{{ $s := repeat 4000 "The quick brown fox jumps over the lazy dog. 0123456" }}{{ $m := regexMatch "^([A-Za-z]+|[0-9]{1,10}|[ .])*END$" $s }}{{ $n := regexFindAll "dog. [0-9]+(The quick.*dog. )?" $s -1 | len }}` + fmt.Sprintf(named, "{{ $n }} {{ $m }}"),
			want:     1,
		},
		"Calls": {reason: "twenty thousand calls are made", template: `{{ $n := 0 }}{{ range 20000 }}{{ $n = add1 $n }}{{ end }}` + fmt.Sprintf(named, "{{ $n }}"), want: 1},
		"Recursion": {
			reason:   "nested templates with a loop and a block are rendered",
			template: `{{ define "a" }}{{ range . }}{{ template "a" . }}{{ end }}{{ end }}{{ $v := list }}{{ range 900 }}{{ $v = list $v }}{{ end }}{{ template "a" $v }}` + fmt.Sprintf(named, "x"),
			want:     1,
		},
		"Includes": {
			reason:   "nested includes with two loops are rendered",
			template: `{{ define "a" }}{{ range . }}{{ range list . }}{{ include "a" . }}{{ end }}{{ end }}{{ end }}{{ $v := list }}{{ range 900 }}{{ $v = list $v }}{{ end }}{{ include "a" $v }}` + fmt.Sprintf(named, "x"),
			want:     1,
		},
		"Nested": {reason: "a thousand nested blocks are rendered", template: strings.Repeat("{{ if 1 }}", 1000) + fmt.Sprintf(named, "x") + strings.Repeat("{{ end }}", 1000), want: 1},
		"Elses": {
			reason:   "many else branches are rendered",
			template: "{{ if 0 }}" + strings.Repeat("{{ else if 0 }}", 5000) + "{{ else }}" + fmt.Sprintf(named, "x") + "{{ end }}",
			want:     1,
		},
		"Yaml": {
			reason:   "a hundred kilobytes are encoded and decoded",
			template: `{{ $v := dict "a" (repeat 100000 "x") "b" (until 3000) }}` + fmt.Sprintf(named, "{{ len (fromYaml (toYaml $v)) }}") + `spec: {{ toYaml $v | nindent 2 }}`,
			want:     1,
		},
		"Json": {
			reason:   "a megabyte is encoded and decoded",
			template: `{{ $v := dict "a" (repeat 1000000 "x") }}` + fmt.Sprintf(named, "{{ len (fromJson (toJson $v)) }}"),
			want:     1,
		},
		"Text": {
			reason:   "a megabyte passes through many functions",
			template: `{{ $s := repeat 1000000 "x" | upper | quote | b64enc | b64dec | replace "X" "y" | indent 2 | trim | sha256sum }}` + fmt.Sprintf(named, "{{ len $s }}"),
			want:     1,
		},
		"Aliases": {reason: "an anchor can have a hundred aliases", template: fmt.Sprintf(named, "x") + "a: &a {b: [1, 2, 3]}\nc: [{{ repeat 100 \"*a,\" }}]", want: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp, err := gotemplating.New(gotemplating.Options{}).RunFunction(t.Context(), "", inlineRequest(t, tc.template))
			if err != nil || len(rsp.GetResults()) > 0 {
				t.Fatalf("%s: %v %.500v", tc.reason, err, rsp.GetResults())
			}
			e2e.Equal(t, tc.reason, tc.want, len(rsp.GetDesired().GetResources()))
		})
	}
}
