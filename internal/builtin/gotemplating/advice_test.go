package gotemplating_test

import (
	"encoding/json"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestAdvice checks the hints for fatal results of templates.
func TestAdvice(t *testing.T) {
	const (
		prefix    = "write the function before its values: "
		operators = prefix + "eq A B, ne A B, gt A B, ge A B, lt A B, le A B, and A B, or A B, not A"
		numbers   = prefix + "add A B, sub A B, mul A B, div A B, mod A B"
		infix     = prefix + "or A B, not A or B"
		dot       = "here . is not the request: within range and with, $ is it, as in $.observed.composite.resource"
		hyphen    = `write a field with - in its name as index .spec "my-field", a difference as sub A B, and a space before -}}`
		brackets  = `write index LIST 0 for an element, and index OBJECT "KEY" for a field`
		spaces    = `put only spaces between a function and its values: default "x", not default("x")`
		comment   = "write a comment without spaces before /* and after */: {{/* TEXT */}}"
		object    = "apiVersion: v1\nkind: A\n"
	)
	cases := map[string]struct{ reason, template, delims, want string }{
		"Call":         {"a call with parentheses", `{{ .a | default("x") }}`, "", spaces},
		"Comma":        {"a comma between values", `{{ default "x", .a }}`, "", spaces},
		"Hyphen":       {"a field with a hyphen", `{{ .a.my-b }}`, "", hyphen},
		"Trim":         {"a trim marker without a space", `{{ .a-}}`, "", hyphen},
		"Brackets":     {"a field in brackets", `{{ $x := .a }}{{ $x["b"] }}`, "", brackets},
		"Element":      {"an index after a dot", `{{ .a.0 }}`, "", brackets},
		"Greater":      {"a comparison", `{{ if .a > 1 }}{{ end }}`, "", operators},
		"Equal":        {"an equality", `{{ if .a == 1 }}{{ end }}`, "", operators},
		"And":          {"a conjunction", `{{ if .a && .b }}{{ end }}`, "", operators},
		"Or":           {"a disjunction", `{{ if .a || .b }}{{ end }}`, "", operators},
		"Not":          {"a negation", `{{ if !.a }}{{ end }}`, "", operators},
		"Plus":         {"a sum", `{{ .a + 1 }}`, "", numbers},
		"Product":      {"a product", `{{ .a * 2 }}`, "", numbers},
		"Comment":      {"a comment with a space", `{{ /* x */}}`, "", comment},
		"CommentEnd":   {"a comment with a space at its end", `{{/* x */ }}`, "", comment},
		"Single":       {"a text in single quotes", `{{ 'xy' }}`, "", "write texts in double quotes"},
		"Elif":         {"a branch of Python", `{{ if .a }}{{ elif .b }}{{ end }}`, "", "write else if"},
		"For":          {"a loop of other languages", `{{ for .a }}{{ end }}`, "", "write range $x := LIST"},
		"Endif":        {"an end of Jinja", `{{ if .a }}{{ endif }}`, "", "write end"},
		"Let":          {"a variable of other languages", `{{ let 1 }}`, "", "write $x := VALUE"},
		"Unknown":      {"another function that does not exist has no hint", `{{ none 1 }}`, "", ""},
		"Infix":        {"a function after a field", `{{ .observed or "x" }}`, "", infix},
		"InfixName":    {"a function after a variable", `{{ $x := 1 }}{{ $x or "x" }}`, "", infix},
		"Nested":       {"a call in a call without parentheses", `{{ if not .a and .b }}{{ end }}`, "", "put a call in another call in parentheses: and (not A) (eq B C)"},
		"Helm":         {"a value of Helm", `{{ with "a" }}{{ .Values.b }}{{ end }}`, "", "Helm has .Values, and a function does not: the composite resource is .observed.composite.resource"},
		"Range":        {"a field of the request within range", `{{ range list "a" }}{{ .observed.composite }}{{ end }}`, "", dot},
		"Element2":     {"a field of an element has no hint", `{{ range list "a" }}{{ .name }}{{ end }}`, "", ""},
		"Argument":     {"an argument within range", `{{ range list "a" }}{{ getCompositeResource . }}{{ end }}`, "", dot},
		"Observed":     {"a resource that is not observed", `{{ index $.observed.resources "a" }}`, "", `a value in <index $.observed.resources "a"> does not exist: a resource is observed only after it was created, so read it within if, or by getComposedResource`},
		"Index":        {"a value in a value that does not exist", `{{ index .desired "a" "b" }}`, "", `a value in <index .desired "a" "b"> does not exist: correct its path, or read it within if`},
		"Pointer":      {"a field of null", `{{ $x := dict "a" nil }}{{ $x.a.b }}`, "", `a value in <$x.a.b> does not exist: correct the path before .b, or read it within if; the composite resource is .observed.composite.resource`},
		"Zero":         {"a function of a value that does not exist", `{{ len .a.b }}`, "", `a value in <len .a.b> does not exist: correct its path; the composite resource is .observed.composite.resource`},
		"Status":       {"a status that is not a text", "apiVersion: meta.gotemplating.fn.crossplane.io/v1alpha1\nkind: ClaimConditions\nconditions: [{type: A, status: true}]", "", `put the status in quotes: "True" or "False"`},
		"QuotedTwice":  {"quotation marks around quote", object + `a: "{{ "b" | quote }}"`, "", `remove the quotation marks around {{ "b" | quote }}, because quote writes them`},
		"Delimiters":   {"the usual delimiters although others are set", "{{ $x := 1 }}" + object, `[[`, "write [[ … ]] in the template, or remove delims: the delimiters are not {{ and }}"},
		"Folded":       {"lines that YAML joined", "# {{ .a }}\napiVersion: v1 kind: A metadata: {name: b}", "", `write "template: |", which keeps the lines: other forms join them`},
		"YAML":         {"other invalid output has no hint", object + `a: b: c`, "", ""},
		"NoDelimiters": {"invalid output of a template with its delimiters has no hint", "[[ `a: b: c` ]] # {{", "[[", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := map[string]any{"source": "Inline", "inline": map[string]any{"template": tc.template}}
			if tc.delims != "" {
				in["delims"] = map[string]any{"left": tc.delims, "right": "]]"}
			}
			input := e2e.Must(json.Marshal(in))(t)
			message := fatalOf(t, gotemplating.New(gotemplating.Options{}), "input: "+string(input))
			e2e.Equal(t, tc.reason+": "+message, tc.want, gotemplating.Advice(message, input))
		})
	}
}
