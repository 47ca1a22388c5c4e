package gotemplating_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// TestCoverage compares the branches of templates, and whether the call ran them.
func TestCoverage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e2e.NoError(t, os.Mkdir(filepath.Join(dir, "templates"), 0o700))
	for name, text := range map[string]string{"a.yaml": "{{ define \"a\" }}{{ end }}\n", "b.yaml": "\n{{ if .observed }}{{ else }}\n{{ end }}"} {
		e2e.WriteFile(t, filepath.Join(dir, "templates", name), text)
	}
	inline := func(text string) string { return "{source: Inline, inline: {template: \"" + text + "\"}}" }
	const at = "inline.template"
	cases := map[string]struct {
		reason, input string
		want          map[string]bool
	}{
		"If": {
			"a condition without an else has one that writes nothing", inline(`{{ if true }}{{ end }}\n{{ if false }}{{ end }}`),
			map[string]bool{at + ":1 (if)": true, at + ":1 (else)": false, at + ":2 (if)": false, at + ":2 (else)": true},
		},
		"ElseIf": {
			"the branches of an else if tell whether the else ran", inline(`{{ if false }}\n{{ else if true }}\n{{ else }}\n{{ end }}`),
			map[string]bool{at + ":1 (if)": false, at + ":2 (if)": true, at + ":3 (else)": false},
		},
		"Loops": {
			"the else of a loop runs if there are no elements", inline(`{{ range list }}\n{{ else }}\n{{ end }}{{ range list 1 2 }}{{ end }}\n{{ with 1 }}{{ end }}`),
			map[string]bool{
				at + ":1 (range)": false, at + ":2 (else)": true, at + ":3 (range)": true, at + ":3 (else)": false,
				at + ":4 (with)": true, at + ":4 (else)": false,
			},
		},
		"Defines": {
			"a defined template runs if it is included", inline(`{{ define \"a\" }}{{ end }}{{ define \"b\" }}{{ end }}{{ include \"a\" . }}`),
			map[string]bool{at + ":1 (define a)": true, at + ":1 (define b)": false},
		},
		"Nested": {
			"branches of branches are counted", inline(`{{ if false }}{{ range list }}{{ end }}{{ end }}`),
			map[string]bool{at + ":1 (if)": false, at + ":1 (else)": false, at + ":1 (range)": false, at + ":1 (else #2)": true},
		},
		"OneLine": {
			"branches of the same name on one line are numbered", inline(`{{ if true }}{{ end }}{{ if false }}{{ end }}`),
			map[string]bool{at + ":1 (if)": true, at + ":1 (else)": false, at + ":1 (if #2)": false, at + ":1 (else #2)": true},
		},
		"None":    {"a template without conditions has no branches", inline("a: 1"), map[string]bool{}},
		"Invalid": {"a template that cannot be parsed has no branches", inline("{{"), map[string]bool{}},
		"Parts": {
			"the branches of several templates have their paths", `{source: Inline, inline: {templates: ["a: 1", "{{ if true }}{{ end }}"]}}`,
			map[string]bool{"inline.templates[1]:1 (if)": true, "inline.templates[1]:1 (else)": false},
		},
		"Files": {
			"the branches of files have their paths", "{source: FileSystem, fileSystem: {dirPath: templates}}",
			map[string]bool{
				filepath.Join(dir, "templates", "a.yaml") + ":1 (define a)": false,
				filepath.Join(dir, "templates", "b.yaml") + ":2 (if)":       false,
				filepath.Join(dir, "templates", "b.yaml") + ":2 (else)":     true,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := e2e.Must(functiontest.ParseRequest([]byte("input: " + tc.input)))(t)
			got := functiontest.Cover(t, gotemplating.New(gotemplating.Options{Dir: dir}), req)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
