package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/session"
)

// TestFatalPosition: after the text of a fatal result of a builtin, the error has the line and the
// path of the field in the file of the Composition to which the result refers.
func TestFatalPosition(t *testing.T) {
	block := func(function string) string {
		return steps() + "  - step: one\n    functionRef: {name: " + function + "}\n    input:\n"
	}
	pipeline := block("function-patch-and-transform") + "      apiVersion: pt.fn.crossplane.io/v1beta1\n      kind: Resources\n"
	legacy := strings.Replace(steps(), "mode: Pipeline\n  pipeline:", "mode: Resources", 1)
	inline := block("function-go-templating") + "      apiVersion: gotemplating.fn.crossplane.io/v1beta1\n      kind: GoTemplate\n      source: Inline\n      inline:\n"
	const (
		sets      = "patchSets: [{name: one, patches: [{fromFieldPath: spec.none}, {fromFieldPath: spec.none}]}]\n"
		resources = "resources:\n- name: other\n  base: {apiVersion: v1, kind: Other}\n- name: thing\n"
		base      = "  base: {apiVersion: v1, kind: Thing}\n"
		mapped    = "{fromFieldPath: spec.size, toFieldPath: size, transforms: [{type: map, map: {none: x}}]}"
	)
	indent := func(n int, text string) string {
		return strings.ReplaceAll(strings.TrimSuffix("\n"+text, "\n"), "\n", "\n"+strings.Repeat(" ", n))[1:] + "\n"
	}
	cases := map[string]struct{ reason, composition, at, field string }{
		"Invalid":     {"a field with an invalid value", pipeline + indent(6, resources+base+"  patches:\n  - type: Odd\n"), "- type: Odd", "spec.pipeline[0].input.resources[1].patches[0].type"},
		"Unknown":     {"a field that does not exist", pipeline + indent(6, resources+base+"  patches:\n  - toFieldPat: a\n"), "toFieldPat", "spec.pipeline[0].input.resources[1].patches[0].toFieldPat"},
		"Base":        {"a base without a kind", pipeline + indent(6, resources+"  base: {apiVersion: v1}\n"), "base: {apiVersion: v1}", "spec.pipeline[0].input.resources[1].base"},
		"NoBase":      {"a resource without a base has the line of the resource", pipeline + indent(6, resources), "name: thing", "spec.pipeline[0].input.resources[1].base"},
		"Patch":       {"a patch that fails", pipeline + indent(6, resources+base+"  patches:\n  - fromFieldPath: spec.none\n  - "+mapped+"\n"), "map: {none", "spec.pipeline[0].input.resources[1].patches[1].transforms[0]"},
		"AfterSet":    {"a patch after a patch set is counted after the patches of the set", pipeline + indent(6, sets+resources+base+"  patches:\n  - {type: PatchSet, patchSetName: one}\n  - "+mapped+"\n"), "map: {none", "spec.pipeline[0].input.resources[1].patches[1].transforms[0]"},
		"InSet":       {"a patch of a patch set", pipeline + indent(6, "patchSets:\n- name: one\n  patches:\n  - fromFieldPath: spec.none\n  - "+mapped+"\n"+resources+base+"  patches:\n  - {type: PatchSet, patchSetName: one}\n"), "map: {none", "spec.pipeline[0].input.patchSets[0].patches[1].transforms[0]"},
		"NoSet":       {"a patch set that does not exist", pipeline + indent(6, resources+base+"  patches:\n  - {type: PatchSet, patchSetName: two}\n"), "patchSetName: two", "spec.pipeline[0].input.resources[1].patches[0].patchSetName"},
		"Environment": {"an environment patch that fails", pipeline + indent(6, "environment:\n  patches:\n  - "+mapped+"\n"+resources+base), "map: {none", "spec.pipeline[0].input.environment.patches[0]"},
		"Legacy":      {"a field of a Composition of mode Resources has its own path", legacy + indent(2, resources+base+"  patches:\n  - type: Odd\n"), "- type: Odd", "spec.resources[1].patches[0].type"},
		"Template":    {"the line of a template in a literal block", inline + indent(8, "template: |\n  a: 1\n  b: {{ none }}\n"), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Templates":   {"the line of the second template", inline + indent(8, "templates:\n- |\n  a: 1\n- |\n  b: 1\n  c: {{ none }}\n"), "{{ none }}", "spec.pipeline[0].input.inline.templates[1]"},
		"Strip":       {"a literal block without its last newline", inline + indent(8, "template: |-\n  a: 1\n  b: {{ none }}\n"), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Indented":    {"a literal block with an indentation indicator", inline + indent(8, "template: |2+\n    a: 1\n\n    b: {{ none }}\n"), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Escapes":     {"a template in quotes on one line", inline + indent(8, `template: "a: 1\nb: {{ none }}"`), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Quoted":      {"a template in double quotes on several lines", inline + indent(8, "template: \"a: é\\n\n  c: 1\\n\\\n  d: 1\\n\n\n  b: {{ none }}\"\n"), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Single":      {"a template in single quotes on several lines", inline + indent(8, "template: 'a: 1\n\n  c: ''x''\n\n  b: {{ none }}\n\n  d: 1'\n"), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Plain":       {"a template without quotes on several lines", inline + indent(8, "template: a\n\n  b {{ none }}\n\n  d\n"), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Folded":      {"a template in a folded block", inline + indent(8, "template: >-\n  a: 1\n\n  x\n  y\n\n    more\n    more\n\n  b: {{ none }}\n\n  d: 1\n"), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"FoldedFirst": {"the first line of a folded block", inline + indent(8, "template: >\n  {{ none }}\n  d: 1\n"), "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Flow":        {"a template in an object on one line", block("function-go-templating") + "      {source: Inline, inline: {template: 'a\n\n        b {{ none }}'}}\n", "{{ none }}", "spec.pipeline[0].input.inline.template"},
		"Alias":       {"a template behind an alias has the line of the anchor", inline + indent(8, "templates:\n- &a |\n  a: 1\n  b: {{ none }}\n- *a\n"), "{{ none }}", "spec.pipeline[0].input.inline.templates[0]"},
		"Define":      {"an error in a defined template", inline + indent(8, "template: |\n  {{ define `x` }}\n  {{ fail `no` }}\n  {{ end }}\n  a: {{ include `x` . }}\n"), "{{ fail", "spec.pipeline[0].input.inline.template"},
		"Output":      {"a line of the output that is not YAML", inline + indent(8, "template: |\n  a: 1\n  b: {{ 1 }}: {{ 2 }}\n"), "b: {{ 1 }}", "spec.pipeline[0].input.inline.template"},
		"Random":      {"a template that writes another output each time", inline + indent(8, "template: |\n  {{ randAlphaNum 20 }}: {{ `b: c` }}\n"), "{{ rand", "spec.pipeline[0].input.inline.template, line 1 of the output"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Config{}, map[string]string{"composition.yaml": tc.composition})
			_, err := renderOne(t.Context(), s, inputs)
			before, _, _ := strings.Cut(tc.composition, tc.at)
			want := fmt.Sprintf(" (at composition.yaml:%d: %s)", strings.Count(before, "\n")+1, tc.field)
			begin := `rendering composite resource "alpha": `
			if name == "Unknown" { // The result has no path of the field.
				begin += "the input has no field resources[1].patches[0].toFieldPat: "
			}
			if err == nil || !strings.HasSuffix(err.Error(), want) || !strings.HasPrefix(err.Error(), begin+`pipeline step "`) {
				t.Errorf("%s: got %v, want %q in\n%s", tc.reason, err, want, tc.composition)
			}
		})
	}
}
