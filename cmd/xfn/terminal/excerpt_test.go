package terminal_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestExcerpt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "xr.yaml")
	text := "apiVersion: example.org/v1\r\nspec:\n  regoin: \"eu\"\n  names: {kind: XA, plural: xas}\n\n" + strings.Repeat("x", 500) + "\n\tsize: 5\n"
	e2e.WriteFile(t, path, text)
	cases := map[string]struct {
		reason  string
		line    int
		message string
		columns int
		want    string
	}{
		"Field":   {"the field at the end of a path is underlined", 3, `unknown field "spec.regoin"`, 0, "    3 |   regoin: \"eu\"\n      |   ^^^^^^\n"},
		"Key":     {"a field without quotes is underlined", 3, "spec.regoin: Required value", 0, "    3 |   regoin: \"eu\"\n      |   ^^^^^^\n"},
		"Value":   {"the value that the message quotes is underlined", 3, `spec.regoin: Unsupported value: "eu"`, 0, "    3 |   regoin: \"eu\"\n      |            ^^\n"},
		"NoField": {"a field that does not exist is underlined", 3, `kind A has no field spec.regoin, so it would be lost`, 0, "    3 |   regoin: \"eu\"\n      |   ^^^^^^\n"},
		"Flow":    {"a value within an object on one line is underlined", 4, `is "XA", expected another`, 0, "    4 |   names: {kind: XA, plural: xas}\n      |                 ^^\n"},
		"Unnamed": {"a line without what the message names has no underline", 2, "something is wrong", 0, "    2 | spec:\n"},
		"Tab":     {"a tab is shown as one blank", 7, "spec.size: must be a string", 0, "    7 |  size: 5\n      |  ^^^^\n"},
		"Narrow":  {"a line is cut to the width of a terminal", 4, "something is wrong", 20, "    4 |   names: {k…\n"},
		"First":   {"the first line of an object is not shown for an error of the whole object", 1, "something is wrong", 0, ""},
		"Empty":   {"an empty line is not shown", 5, "something is wrong", 0, ""},
		"Long":    {"a line that is not for readers is not shown", 6, "something is wrong", 0, ""},
		"Beyond":  {"a line that the file lacks is not shown", 99, "something is wrong", 0, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			term, _ := streams(t)
			term.Columns = tc.columns
			got := term.Excerpts().Of(terminal.Annotation{Path: path, Line: tc.line, Text: tc.message})
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}
