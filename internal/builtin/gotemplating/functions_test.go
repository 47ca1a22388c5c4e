package gotemplating_test

import (
	"bytes"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func data() map[string]any {
	condition := map[string]any{
		"type": "Ready", "status": "True", "reason": "Up", "message": "m",
		"lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": int64(3),
	}
	named := func(name string) map[string]any {
		return map[string]any{"resource": map[string]any{"metadata": map[string]any{"name": name}}}
	}
	return map[string]any{
		"meta": map[string]any{"tag": "t-1"},
		"observed": map[string]any{
			"composite": map[string]any{"resource": map[string]any{"kind": "Pier", "spec": map[string]any{"n": int64(1000000), "f": 2.5}}},
			"resources": map[string]any{
				"one": map[string]any{
					"resource":          map[string]any{"status": map[string]any{"conditions": []any{condition}}},
					"connectionDetails": map[string]any{"host": "aA=="},
				},
				"a.b": named("dotted"), "7": named("seven"), "x/y z": named("odd"), "*": named("star"), "4294967296": named("large"),
			},
		},
		"extraResources":    map[string]any{"e": map[string]any{"items": []any{named("x1")}}, "both": map[string]any{"items": []any{named("old")}}},
		"requiredResources": map[string]any{"r": map[string]any{"items": []any{named("r1")}}, "both": map[string]any{"items": []any{named("new")}}},
		"context":           map[string]any{"apiextensions.crossplane.io/extra-resources": map[string]any{"c": map[string]any{"items": []any{named("c1")}}}},
		"credentials":       map[string]any{"k": map[string]any{"credentialData": map[string]any{"data": map[string]any{"user": "YW5u"}}}},
	}
}

func TestFunctions(t *testing.T) {
	cases := map[string]struct {
		reason, template string
		want             string // the output of the template, or the end of the error
	}{
		"ToYaml": {
			reason:   "YAML is indented by four spaces and ends with a newline",
			template: `{{ toYaml (dict "a" (dict "b" (list 1 "x"))) }}|`,
			want: `a:
    b:
        - 1
        - x
|`,
		},
		"ToYamlQuotes": {
			reason:   "booleans of YAML 1.1 are quoted",
			template: `{{ toYaml (list "yes" "on" "y" "no" "true" "1") }}`,
			want: `- "yes"
- "on"
- "y"
- "no"
- "true"
- "1"
`,
		},
		"ToYamlFloat": {
			reason:   "a large float has an exponent",
			template: `{{ toYaml 1000000.0 }}{{ toYaml .observed.composite.resource.spec.n }}`,
			want: `1e+06
1000000
`,
		},
		"ToYamlStruct": {
			reason:   "fields of structs are in lower case",
			template: `{{ (fromYaml (toYaml (getResourceCondition "Ready" .observed.resources.one))).observedgeneration }}`,
			want:     "3",
		},
		"FromYaml": {
			reason:   "values of YAML 1.2 are parsed",
			template: `{{ range $k, $v := fromYaml "a: 1\nb: yes\nc: 2.5\nd: 18446744073709551615\ne: true\nf: [x]\n" }}{{ printf "%s=%v(%T) " $k $v $v }}{{ end }}`,
			want:     "a=1(int) b=yes(string) c=2.5(float64) d=18446744073709551615(uint64) e=true(bool) f=[x]([]interface {}) ",
		},
		"FromYamlDate":  {reason: "a date becomes a time", template: `{{ (fromYaml "d: 2026-01-02").d.Year }}`, want: "2026"},
		"FromYamlFirst": {reason: "only the first document is parsed", template: `{{ fromYaml "a: 1\n---\na: 2" }}`, want: "map[a:1]"},
		"FromYamlKeys": {
			reason:   "keys that are not strings result in another map type",
			template: `{{ printf "%T" (fromYaml "1: a") }} {{ printf "%T" (fromYaml "a: 1") }}`,
			want:     "map[interface {}]interface {} map[string]interface {}",
		},
		"FromYamlEmpty":    {reason: "an empty text results in an empty value", template: `{{ fromYaml "" }} {{ fromYaml "" | kindOf }}`, want: "<no value> invalid"},
		"RandomChoiceNone": {reason: "an empty list is an error", template: `{{ randomChoice }}`, want: "error calling randomChoice: invalid argument to Intn"},
		"Condition": {
			reason:   "a condition has all its fields",
			template: `{{ with getResourceCondition "Ready" .observed.resources.one }}{{ .Type }} {{ .Status }} {{ .Reason }} {{ .Message }} {{ .ObservedGeneration }} {{ .LastTransitionTime.UTC }}{{ end }}`,
			want:     "Ready True Up m 3 2026-01-02 03:04:05 +0000 UTC",
		},
		"ConditionOfResource": {
			reason:   "the resource itself can be passed",
			template: `{{ (getResourceCondition "Ready" .observed.resources.one.resource).Status }}`,
			want:     "True",
		},
		"ConditionUnknown": {
			reason:   "a missing condition is Unknown",
			template: `{{ with getResourceCondition "Synced" .observed.resources.one }}{{ .Status }}|{{ .Reason }}|{{ .Message }}{{ end }}`,
			want:     "Unknown||",
		},
		"ConditionNil": {reason: "a missing resource has the condition Unknown", template: `{{ (getResourceCondition "Ready" nil).Status }}`, want: "Unknown"},
		"ConditionText": {
			reason:   "a value of a named string type is not a string",
			template: `{{ (getResourceCondition "Ready" .observed.resources.one).Status | upper }}`,
			want:     "wrong type for value; expected string; got v1.ConditionStatus",
		},
		"Composed": {
			reason:   "names may contain dots, slashes, spaces and quotes",
			template: `{{ range list "a.b" "x/y z" "'a.b'" "\"a.b\"" "4294967296" }}{{ (getComposedResource $ .).metadata.name }} {{ end }}`,
			want:     "dotted odd dotted dotted large ",
		},
		"ComposedNot": {
			reason:   "digits, brackets, a star and an empty name are not names",
			template: `{{ range list "7" "a]b" "[x" "*" "" "gone" }}{{ getComposedResource $ . }}{{ end }}`,
			want:     "map[]map[]map[]map[]map[]map[]",
		},
		"ComposedFalsy": {reason: "an empty value is false", template: `{{ if getComposedResource . "gone" }}x{{ else }}no{{ end }}`, want: "no"},
		"ComposedCopy": {
			reason:   "changes to a returned copy do not change the request",
			template: `{{ $_ := set (getComposedResource . "a.b") "x" 1 }}{{ hasKey (index .observed.resources "a.b").resource "x" }}`,
			want:     "false",
		},
		"Details": {
			reason:   "connection details stay in base64",
			template: `{{ (getComposedConnectionDetails . "one").host }}{{ getComposedConnectionDetails . "gone" }}`,
			want:     "aA==map[]",
		},
		"Composite": {
			reason:   "the composite resource is returned with integers",
			template: `{{ (getCompositeResource .).kind }} {{ printf "%T" (getCompositeResource .).spec.n }}`,
			want:     "Pier int64",
		},
		"Extra": {
			reason:   "required resources take precedence over extra resources",
			template: `{{ range list "e" "r" "both" }}{{ (index (getExtraResources $ .) 0).resource.metadata.name }} {{ end }}{{ getExtraResources . "gone" }}`,
			want:     "x1 r1 new []",
		},
		"ExtraFromContext": {
			reason:   "the context has its own extra resources",
			template: `{{ (index (getExtraResourcesFromContext . "c") 0).resource.metadata.name }}{{ getExtraResourcesFromContext . "e" }}`,
			want:     "c1[]",
		},
		"Credentials": {
			reason:   "credentials are bytes, decoded from base64",
			template: `{{ getCredentialData . "k" }}{{ (getCredentialData . "k").user | toString }}{{ getCredentialData . "gone" }}`,
			want:     "map[user:[97 110 110]]annmap[]",
		},
		"CredentialsChanged": {reason: "the changed data is not a request any more", template: `{{ $_ := set . "x" 1 }}{{ getCredentialData . "k" }}`, want: "map[]"},
		"Include": {
			reason:   "the root template can include itself by name",
			template: `{{ if not .x }}{{ $_ := set . "x" 1 }}{{ include "manifests" . | upper }}{{ end }}a`,
			want:     "Aa",
		},
		"IncludeMissing": {
			reason:   "a missing template is an error",
			template: `{{ include "X" . }}`,
			want:     `<include "X" .>: error calling include: template: no template "X" associated with template "manifests"`,
		},
		"IncludeDeep": {
			reason:   "a template may include itself a thousand times",
			template: `{{ define "d" }}{{ if . }}{{ include "d" (sub . 1) }}{{ else }}end{{ end }}{{ end }}{{ include "d" 1000 }}`,
			want:     "end",
		},
		"IncludeTooDeep": {
			reason:   "including itself once more is an error",
			template: `{{ define "d" }}{{ if . }}{{ include "d" (sub . 1) }}{{ else }}end{{ end }}{{ end }}{{ include "d" 1001 }}`,
			want:     "error calling include: rendering template has a nested reference name: d: unable to execute template",
		},
		"IncludeAgain": {
			reason:   "includes that have ended do not count",
			template: `{{ define "d" }}x{{ end }}{{ range 3000 }}{{ $_ := include "d" . }}{{ end }}end`,
			want:     "end",
		},
		"NoEnvironment": {reason: "functions that read the environment do not exist", template: `{{ env "HOME" }}`, want: `function "env" not defined`},
		"Private":       {reason: "templates cannot call private functions", template: `{{ _leave 1000000 }}`, want: `function "_leave" not defined`},
		"TwoDefines": {
			reason:   "a template name can be defined once",
			template: `{{ define "t" }}a{{ end }}{{ define "t" }}b{{ end }}`,
			want:     `template: multiple definition of template "t"`,
		},
		"Numbers": {
			reason:   "integers and floats cannot be compared",
			template: `{{ eq .observed.composite.resource.spec.n 1000000 }}{{ eq .observed.composite.resource.spec.f 2 }}`,
			want:     "error calling eq: incompatible types for comparison: float64 and int",
		},
		"MissingKey": {reason: "an absent key has no value at any depth", template: `{{ .a }} {{ .a.b.c }}`, want: "<no value> <no value>"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := gotemplating.Render(t.Context(), tc.template, data())
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != tc.want || err != nil && !strings.HasSuffix(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestZones checks that times do not depend on the time zone of the machine.
func TestZones(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("X", 5*60*60)
	t.Cleanup(func() { time.Local = local })
	cases := map[string]struct{ reason, template, want string }{
		"ConditionTime": {
			reason:   "the default time zone is UTC",
			template: `{{ (getResourceCondition "Ready" .observed.resources.one).LastTransitionTime }}`,
			want:     "2026-01-02 03:04:05 +0000 UTC",
		},
		"Local": {
			reason:   "functions that create times use UTC",
			template: `{{ date "15:04 MST" 0 }} {{ dateInZone "15:04 MST" 0 "Local" }} {{ htmlDate 86399 }} {{ toDate "2006-01-02" "2026-08-01" }} {{ mustToDate "2006" "2026" }} {{ now.Location }}`,
			want:     "00:00 UTC 00:00 UTC 1970-01-01 2026-08-01 00:00:00 +0000 UTC 2026-01-01 00:00:00 +0000 UTC UTC",
		},
		"Zones": {
			reason:   "a time zone can be named, and an unknown zone is UTC",
			template: `{{ dateInZone "15:04 MST" 0 "Asia/Tokyo" }} {{ date_in_zone "15:04" 0 "Asia/Tokyo" }} {{ htmlDateInZone 86399 "Asia/Tokyo" }} {{ dateInZone "15:04 MST" 0 "Gone/Gone" }}`,
			want:     "09:00 JST 09:00 1970-01-02 00:00 UTC",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, e2e.Must(gotemplating.Render(t.Context(), tc.template, data()))(t))
		})
	}
}

// templates has templates that use every feature of the template language.
var templates = []string{
	``, ` `, `{{/* c */}}`, `a{{- " b " -}} c`,
	`{{ range $i, $e := list 1 2 3 }}{{ if eq $i 1 }}{{ continue }}{{ end }}{{ $i }}{{ $e }}{{ else }}none{{ end }}`,
	`{{ range list }}x{{ else }}none{{ end }}{{ range $k, $v := dict "b" 1 "a" 2 }}{{ $k }}{{ $v }}{{ end }}{{ range 3 }}{{ break }}{{ end }}`,
	`{{ $x := 1 }}{{ range 3 }}{{ $x = add $x . }}{{ $y := $x }}{{ end }}{{ $x }}`,
	`{{ with .meta }}{{ .tag }}{{ else with .gone }}{{ . }}{{ else }}x{{ end }}{{ with .gone }}{{ else with .meta }}{{ .tag }}{{ end }}`,
	`{{ define "t" }}<{{ . }}{{ $ }}>{{ end }}{{ template "t" 1 }}{{ template "t" }}{{ block "b" .meta }}{{ .tag }}{{ end }}`,
	`{{ define "manifests" }}x{{ end }}`, "{{ define `t` }}{{ end }}", `{{ template "gone" . }}`,
	`{{ 1 }}{{ 1.5 }}{{ 'a' }}{{ 0x10 }}{{ 1i }}{{ true }}{{ "s" }}{{ .gone }}{{ .meta }}{{ (.meta) }}{{ ((.meta).tag) }}`,
	`{{ nil }}`, `{{ 1 2 }}`, `{{ (1) 2 }}`, `{{ .meta 1 }}`, `{{ .meta.tag.x }}`, `{{ 1 | 2 }}`, `{{ .meta | .meta }}`, `{{ $x := 1 }}{{ $x 1 }}`,
	`{{ now.Year | kindOf }}{{ (toDate "2006-01-02" "2026-01-02").Format "Jan" }}{{ "2006" | (toDate "2006-01-02" "2026-01-02").Format }}`,
	`{{ (toDate "2006-01-02" "2026-01-02").Format }}`, `{{ now.Format 1 }}`, `{{ now.Gone }}`,
	`{{ add 1 (now.Format "x") }}{{ upper (now.AddDate 1 2 3) }}`, `{{ upper (now.AddDate 1 2 3) }}`, `{{ range now.Format (print "a" | trim) }}{{ end }}`, `{{ index ((toDate "2006" "2026").Format (print "(\")" ')' (now.Format "(") "(") | trim) (now.Format "y") 1 }}`,
	`{{ upper (now.AddDate 1 2 (and 0 1)) }}`, `{{ "x" | now.Format | now.AddDate 1 1 }}`, `{{ (1) 2 | now.Format | upper }}`, `{{ 1 | (2) | now.Format "x" | upper }}`,
	`{{ index (now.Format "x") "y" }}`, "{{ index (now.Format `)\\` | now.Format) (now.Format `y`) }}", `{{ (now.Format "x").y }}`, `{{ $t := now }}{{ upper ($t.AddDate 1 2 3) }}`, `{{ template "manifests" (now.Format) }}`, `{{ with now.AddDate 1 2 "x" }}{{ end }}`,
	`{{ $v := semver "1.2.3" }}{{ $v.Major }}{{ $v }}{{ $v.Compare $v }}`,
	`{{ and 1 0 (fail "x") }}{{ or 1 (fail "x") }}{{ not 1 }}{{ and .meta .gone }}{{ 1 | and 0 }}`,
	`{{ index (list 1 2) 1 }}{{ index .meta "tag" }}{{ index (list 1) 2 }}`, `{{ len .meta }}{{ len 3 }}`, `{{ slice "abc" 1 }}`, `{{ call .meta }}`,
	`{{ print 1 2 "a" "b" nil }}{{ printf "%d-%5.2f-%q-%v" 1 2.5 "x" .meta }}{{ println 1 }}{{ html "<a>" }}{{ js "'" }}{{ urlquery "a b" }}`,
	`{{ eq 1 1 }}{{ eq 1 2 1 }}{{ ne "a" "b" }}{{ lt 1 2 }}{{ le 1.5 1.5 }}{{ gt "b" "a" }}{{ ge 1 2 }}`,
	`{{ eq }}`, `{{ eq 1 }}`, `{{ eq 1 "a" }}`, `{{ eq .meta .meta }}`, `{{ eq (list) (list) }}`, `{{ eq .meta (list) }}`, `{{ eq .gone .gone }}`, `{{ eq nil nil }}`, `{{ eq .gone 1 }}`, `{{ ne .meta nil }}`,
	`{{ upper 5 }}`, `{{ upper .meta }}`, `{{ .meta | upper }}`, `{{ upper }}`, `{{ upper "a" "b" }}`, `{{ upper .gone }}`, `{{ fail "x" }}`, `{{ div 1 0 }}`, `{{ repeat -1 "x" }}`, `{{ until "a" }}`,
	`{{ range 1.5 }}{{ end }}`, `{{ range "abc" }}{{ end }}`, `{{ range $a, $b := 3 }}{{ end }}`, `{{ if list }}x{{ end }}{{ if .gone.gone }}{{ end }}`,
	"a\nb\n{{ if true }}\n  {{ range 2 }}\n    {{ upper 1 }}\n  {{ end }}\n{{ end }}", "{{ define `t` }}\n\n{{ upper 1 }}{{ end }}\n{{ template `t` }}",
	`{{ seq 1 2 9 }}|{{ seq 3 }}|{{ seq 0 -1 }}|{{ seq }}|{{ seq 1 0 5 }}|{{ untilStep 5 0 -2 }}|{{ until -3 }}|{{ untilStep 0 5 0 }}|{{ untilStep 5 0 1 }}`,
	`{{ list 1 "a" | toPrettyJson }}{{ dict "a" (list 1) "b" | toJson }}{{ merge (dict "a" (dict "x" 1)) (dict "a" (dict "y" 2)) }}{{ splitList "" "abc" }}{{ split "," "a,b" }}{{ splitn "," 2 "a,b,c" }}`,
	`{{ wrap 3 "a b c d" }}{{ wrapWith 1 "--" "abc" }}{{ indent 2 "a\nb" }}{{ replace "" "-" "ab" }}{{ join "," (list 1 nil "a") }}{{ regexReplaceAll "(a)" "aba" "${1}x" }}{{ regexFindAll "a." "abac" -1 }}{{ regexFind "(" "x" }}`,
	`{{ uniq (list 1 1 2) }}{{ without (list 1 2) 1 }}{{ chunk 2 (list 1 2 3) }}{{ dig "a" "b" "d" (dict "a" (dict "b" 1)) }}{{ pluck "a" (dict "a" 1) }}{{ first nil }}`,
	`{{ deepCopy (dict "a" 1) }}{{ fromJson "[1,{}]" }}{{ mustFromJson "{" }}`, `{{ semverCompare ">1" "1.2" }}{{ semver "x" }}`, `{{ sortAlpha (list "b" "a") }}{{ concat (list 1) (list 2) }}{{ omit (dict "a" 1) "a" }}`,
	`{{ with $x := .meta }}{{ $x.tag }}{{ end }}{{ if $y := 1 }}{{ $y }}{{ end }}{{ $z := .meta.tag | upper }}{{ $z }}`, `{{ (index (list (dict "a" 1)) 0).a }}{{ (list 1 2 | first) }}`,
}

// TestTransparent checks that the calls that compile adds to a template change
// neither its output nor its errors, including lines and columns.
func TestTransparent(t *testing.T) {
	for _, text := range templates {
		for _, option := range []string{"missingkey=default", "missingkey=zero", "missingkey=error"} {
			t.Run(option+" "+text, func(t *testing.T) {
				want, wantErr := render(text, data(), option)
				got, err := gotemplating.Render(t.Context(), text, data(), option)
				if wantErr != "" {
					want = wantErr
				}
				if err != nil {
					_, got, _ = strings.Cut(err.Error(), "template: ")
					_, want, _ = strings.Cut(want, "template: ")
				}
				e2e.Equal(t, "Render has the output or the error of text/template", want, got)
			})
		}
	}
}

// render executes a template with the packages text/template and sprig, without limits.
func render(text string, data any, options ...string) (out, failure string) {
	tmpl, err := template.New("manifests").Funcs(sprig.TxtFuncMap()).Option(options...).Parse(text)
	if err != nil {
		return "", err.Error()
	}
	var b bytes.Buffer
	if err := tmpl.Execute(&b, data); err != nil {
		return "", err.Error()
	}
	return b.String(), ""
}
