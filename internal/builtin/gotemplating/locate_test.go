package gotemplating_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestLocate checks the places to which fatal results refer. Each input fails.
func TestLocate(t *testing.T) {
	dir := e2e.Dir(t, map[string]string{
		"random/x.yaml":  "{{ randAlphaNum 20 }}: {{ `d: e` }}\n",
		"two/1.yaml":     "kind: One\n# {{ .a }}",
		"two/2.yaml":     "kind: Two\nmetadata: {{ fail `no` }}\n",
		"open/1.yaml":    "a: 1\n",
		"open/2.yaml":    "{{ if true }}\nb: 1\n",
		"parse/1.yaml":   "a: 1\n",
		"parse/2.yaml":   "\n\nb: {{ none }}\n",
		"output/1.yaml":  "kind: A\n",
		"output/2.yaml":  "kind: B\nc: d: e\n",
		"default/d.yaml": "a: 1\n{{ fail `no` }}\n",
	})
	field := func(field string, line int) sdk.Location { return sdk.Location{Field: field, Line: line} }
	file := func(path string, line int) sdk.Location {
		return sdk.Location{File: filepath.Join(dir, filepath.FromSlash(path)), Line: line}
	}
	detailed := func(at sdk.Location, detail string) sdk.Location {
		at.Detail = detail
		return at
	}
	inline := func(template string) string {
		text := e2e.Must(yaml.Marshal(map[string]any{"source": "Inline", "inline": map[string]any{"template": template}}))(t)
		return string(text)
	}
	files := func(path string) string { return "{source: FileSystem, fileSystem: {dirPath: " + path + "}}" }
	cases := map[string]struct {
		reason, input string
		want          sdk.Location
	}{
		"Parse":      {"a syntax error", inline("a: 1\nb: {{ none }}\n"), field("inline.template", 2)},
		"Execute":    {"an error of an action", inline("a: 1\n\nb: {{ fail `no` }}\n"), field("inline.template", 3)},
		"Unclosed":   {"an end that is missing has the line of the block", inline("a: 1\n{{ if true }}\nb: 1\n"), detailed(field("inline.template", 2), "where if, or a block in it, has no end")},
		"Define":     {"an error in a defined template", inline("{{ define `x` }}\na: 1\n{{ fail `no` }}\n{{ end }}\n{{ template `x` }}\n"), field("inline.template", 3)},
		"Include":    {"an error in an included template has the line of the innermost template", inline("{{ define `y` }}\n{{ fail `no` }}\n{{ end }}{{ define `x` }}\n{{ include `y` . }}{{ end }}\n\n{{ include `x` . }}\n"), field("inline.template", 2)},
		"Unended":    {"a template whose end is missing has no variables of others", inline("{{ $x := 1 }}\n{{ define \"t\" }}\na: 1\n\n{{ range list }}\nb: {{ $x }}\n{{ end }}\n"), detailed(field("inline.template", 6), `where define "t" has no end yet, and a defined template has no variables of others: add the end before, or pass the value to the template`)},
		"In":         {"a range has no in", inline("a: 1\n{{ range $x in list }}\n{{ end }}\n"), detailed(field("inline.template", 2), "where range has in: write range $x := LIST")},
		"Comment":    {"an end in a comment ends no block", inline("{{ if true }}\n{{ range list }}\n{{ end }}\n{{- /* {{ end }}\n*/ -}}\n"), detailed(field("inline.template", 1), "where if, or a block in it, has no end")},
		"Second":     {"a line of the second template", "{source: Inline, inline: {templates: ['a: 1', \"b: 1\\nc: {{ none }}\"]}}", field("inline.templates[1]", 2)},
		"File":       {"a line of the second file", files("two"), file("two/2.yaml", 2)},
		"FileParse":  {"a syntax error in the second file", files("parse"), file("parse/2.yaml", 3)},
		"FileEnd":    {"the file of a block without an end", files("open"), detailed(file("open/2.yaml", 1), "where if, or a block in it, has no end")},
		"Default":    {"a file of the default source, without an input", "", file("default/d.yaml", 2)},
		"NoSource":   {"a file of the default source, with an input without a source", "{delims: {left: '{{', right: '}}'}}", file("default/d.yaml", 2)},
		"Context":    {"a template in the environment has a line, but no file", "{source: Environment, environment: {key: k}}", detailed(field("environment.key", 1), "line 2 of the template")},
		"Static":     {"a line without actions that is not YAML", inline("# {{ `x` }}\nkind: A\n---\n\nkind: A\nc: d: e\n"), field("inline.template", 6)},
		"Start":      {"a line of the first document", inline("kind: A\nc: d: e\nf: g\n"), field("inline.template", 2)},
		"First":      {"the first line of the output", inline("{{ $v := 1 }}\n\nc: d: e\n"), field("inline.template", 3)},
		"Separators": {"empty documents are counted", inline("---\n---\nkind: A\n---\n# none\n---\nkind: A\nc: d: e\n"), field("inline.template", 8)},
		"Dynamic":    {"a line whose actions write invalid YAML", inline("kind: A\n{{ $v := `d: e` }}\na: 1\nc: {{ $v }} # x\n"), field("inline.template", 4)},
		"Action":     {"lines that only an action writes have its line", inline("kind: A\na: 1\n{{ print `b: 1\nc: d: e` }}\n"), field("inline.template", 3)},
		"Loop":       {"a line in a loop", inline("{{- range list `a` `b: c` `d` }}\n---\nkind: A\n{{ if . }}a: {{ . }}{{ end }}\n{{ end }}\n"), field("inline.template", 4)},
		"Included":   {"the output of an include has the line of the action that includes it", inline("{{ define `x` }}a: 1\nb: c: d{{ end }}kind: A\n{{ include `x` . }}\n"), field("inline.template", 3)},
		"Called":     {"the output of a template has the line in the template", inline("{{ define `x` }}a: 1\nb: c: d{{ end }}kind: A\n{{ template `x` }}\n"), field("inline.template", 2)},
		"Quotes":     {"the decoder's line is the line of the object, not the line of the value", inline("kind: A\n---\nkind: B\nlist:\n- a: 1\n  b: \"{{ quote `x` }}\"\n"), field("inline.template", 6)},
		"NoIndex":    {"a key that the request lacks is named with the others", inline("a: 1\nb: {{ index .context `apiextensions.crossplane.io/environment` `z` }}\nc: {{ index .context \"apiextensions.crossplane.io/environment\" \"z\" \"y\" }}\n"), detailed(field("inline.template", 3), `where context["apiextensions.crossplane.io/environment"] has no "z", only "k", "other"`)},
		"NoResource": {"a part of the request may be empty", inline(`{{ index $.requiredResources "a" "items" 0 }}`), detailed(field("inline.template", 1), "where requiredResources is empty")},
		"Delimiters": {"a line with other delimiters", "{source: Inline, delims: {left: '[[', right: ']]'}, inline: {template: \"kind: A\\nc: [[ `d: e` ]]\\n\"}}", field("inline.template", 2)},
		"NoKind":     {"a document that is not an object has its first line", inline("kind: A\n---\n# x\n\na: {{ 1 }}\n"), field("inline.template", 5)},
		"Random":     {"a template that writes another output each time has only a line of the output", files("random"), detailed(file("random/x.yaml", 1), "line 1 of the output")},
		"Joined":     {"a line of the second template", "{source: Inline, inline: {templates: ['kind: A', \"kind: B\\nc: d: e\"]}}", field("inline.templates[1]", 2)},
		"FileOutput": {"a line of the second file that is not YAML", files("output"), file("output/2.yaml", 2)},
		"Unnamed":    {"a resource without a name has the first line of its document", inline("apiVersion: meta.gotemplating.fn.crossplane.io/v1alpha1\nkind: Context\ndata: {}\n---\n{{ if true }}\napiVersion: v1\nkind: Thing\n{{ end }}"), field("inline.template", 6)},
		"Kind":       {"a meta kind that does not exist", inline("apiVersion: meta.gotemplating.fn.crossplane.io/v1alpha1\nkind: Contxt\n"), field("inline.template", 1)},
		"Annotation": {"an annotation that is not a string", inline("# x\napiVersion: a.b/v1\nkind: Thing\nmetadata: {annotations: {a: 1}}\n"), field("inline.template", 2)},
		"OfContext":  {"the output of a template in the environment has a line, but no file", "{source: Environment, environment: {key: other}}", detailed(field("environment.key", 1), "line 2 of the template")},
		"JSON":       {"output in JSON has no lines, but the place of the template", inline("{\"kind\": 1,}\n"), field("inline.template", 1)},
		"NoKey":      {"a key of the environment that is missing has its field", "{source: Environment}", field("environment.key", 1)},
		"Other":      {"a result about a source has the field of the source", "{source: Odd}", field("source", 1)},
		"NoFolder":   {"a folder that does not exist has its field", files("absent"), field("fileSystem.dirPath", 1)},
	}
	o := gotemplating.Options{Dir: dir, Settings: gotemplating.Settings{DefaultSource: "default"}}
	const environment = `context: {apiextensions.crossplane.io/environment: {k: "a: 1\n{{ fail 'no' }}", other: "kind: A\nb: c: d"}}`
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			request := strings.ReplaceAll(environment, "'no'", "`no`") + "\n"
			input := []byte(nil)
			if tc.input != "" {
				json := e2e.Must(yaml.YAMLToJSON([]byte(tc.input)))(t)
				input, request = json, request+"input: "+string(json)
			}
			r := gotemplating.New(o)
			message := fatalOf(t, r, request)
			e2e.Equal(t, fmt.Sprintf("%s: %s", tc.reason, message), tc.want, r.(sdk.Locator).Locate(t.Context(), message, input))
		})
	}
}

// TestLocateSameMessage checks two templates whose results have the same text: each has its own
// place.
func TestLocateSameMessage(t *testing.T) {
	t.Parallel()
	r := gotemplating.New(gotemplating.Options{})
	for line, before := range map[int]string{1: "", 3: "# a\n# b\n"} {
		text := e2e.Must(yaml.Marshal(map[string]any{"source": "Inline", "inline": map[string]any{"template": before + "kind: Bucket\napiVersion: v1\n"}}))(t)
		input := e2e.Must(yaml.YAMLToJSON(text))(t)
		message := fatalOf(t, r, "input: "+string(input))
		e2e.Equal(t, message+": line", line, r.(sdk.Locator).Locate(t.Context(), message, input).Line)
	}
}
