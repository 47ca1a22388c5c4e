package manifest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

func TestSplit(t *testing.T) {
	type doc struct {
		Line int
		Text string
	}
	cases := map[string]struct {
		reason, data string
		want         []doc
	}{
		"One":          {"a file without separators is one document", "a: 1\n", []doc{{1, "a: 1\n"}}},
		"Leading":      {"a separator at the start begins no empty document and counts as a line", "---\na: 1\n", []doc{{2, "a: 1\n"}}},
		"Two":          {"each document has its line", "a: 1\n---\nb: 2\n", []doc{{1, "a: 1\n"}, {3, "b: 2\n"}}},
		"Trailing":     {"a separator at the end starts no document", "a: 1\n---\n", []doc{{1, "a: 1\n"}}},
		"NoNewline":    {"the last line needs no newline", "a: 1\n---\nb: 2", []doc{{1, "a: 1\n"}, {3, "b: 2"}}},
		"Comment":      {"a separator may have a comment", "a: 1\n--- # next\nb: 2\n", []doc{{1, "a: 1\n"}, {3, "b: 2\n"}}},
		"CRLF":         {"Windows line endings are accepted", "a: 1\r\n---\r\nb: 2\r\n", []doc{{1, "a: 1\r\n"}, {3, "b: 2\r\n"}}},
		"OnlyComments": {"documents with only comments are omitted", "# a\n---\n\n---\nb: 2\n", []doc{{5, "b: 2\n"}}},
		"BlockScalar":  {"an indented --- is not a separator", "a: |\n  ---\n", []doc{{1, "a: |\n  ---\n"}}},
		"BOM":          {"a byte order mark is not content", "\xef\xbb\xbfa: 1\n", []doc{{1, "a: 1\n"}}},
		"Empty":        {"an empty file has no documents", "", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			docs := e2e.Must(manifest.Split("f.yaml", []byte(tc.data)))(t)
			var got []doc
			for _, d := range docs {
				got = append(got, doc{d.Line, string(d.Text)})
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestSplitRefusesContentAfterSeparator(t *testing.T) {
	_, err := manifest.Split("f.yaml", []byte("a: 1\n--- b\n"))
	var me *manifest.Error
	if !errors.As(err, &me) || me.Line != 2 {
		t.Errorf("got %v, want an error at line 2", err)
	}
}

func TestObject(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         map[string]any
		wantErr      string
	}{
		"Numbers":   {"whole numbers are exact", "{a: 9007199254740993, b: 1.5, c: 017}", map[string]any{"a": int64(9007199254740993), "b": 1.5, "c": int64(15)}, ""},
		"Booleans":  {"yes and off are booleans, as in YAML 1.1", "{a: yes, b: off}", map[string]any{"a": true, "b": false}, ""},
		"Anchors":   {"anchors are resolved", "{a: &x {b: 1}, c: *x}", map[string]any{"a": map[string]any{"b": int64(1)}, "c": map[string]any{"b": int64(1)}}, ""},
		"Syntax":    {"the line of a syntax error counts from the start of the file", "a: 1\nb: ]\n", nil, "f.yaml:11: did not find expected node content"},
		"Mapping":   {"a misindented key has its own line, not the line of the object around it", "a:\n  b: 1\n c: 2\n", nil, "f.yaml:12: did not find expected key: the line is indented by 1, expected 2, or 0"},
		"Deeper":    {"the indentation of closed lists does not fit", "l:\n- - a: 1\nb:\n    c: 1\n      d: 2\n", nil, "f.yaml:14: mapping values are not allowed in this context: the line is indented by 6, expected 4, or 0"},
		"InList":    {"an element of a list fits like the list and its keys", "l:\n  - a: 1\n   - b: 2\n", nil, "f.yaml:12: did not find expected '-' indicator: the line is indented by 3, expected 4, or 0 or 2"},
		"Fitting":   {"indentation that fits is not reported", "a: 1\nb: c: d\n", nil, "f.yaml:11: mapping values are not allowed in this context"},
		"Colon":     {"the error is at the line without a colon", "a: 1\nb: 2\nplain words\nc: d\n", nil, "f.yaml:12: could not find expected ':'"},
		"Quote":     {"an unterminated quote has the line where it begins", "a: 1\nb: \"x\nc: d\n", nil, "f.yaml:11: found unexpected end of stream"},
		"Template":  {"the braces of a template are reported as an object used as a key", "a: 1\nb: {{ .x }}\n", nil, "f.yaml:11: a key must not be an object or a list"},
		"Nothing":   {"null is not an object", "null", nil, "f.yaml:10: expected an object, got nothing"},
		"Scalar":    {"a string is not an object", "hello", nil, "f.yaml:10: expected an object, got a string"},
		"Number":    {"a number is not an object", "1", nil, "f.yaml:10: expected an object, got a number"},
		"Bool":      {"a boolean is not an object", "true", nil, "f.yaml:10: expected an object, got a boolean"},
		"LaterTab":  {"a tab after a value is reported on its own line", "a:\n  b: 1\n\tc: 2\nd: 3\n", nil, "f.yaml:12: found a tab"},
		"BlockTab":  {"a tab that ends a text is reported on its own line", "a: |\n  b\n\tc\nd: 3\n", nil, "f.yaml:12: found a tab"},
		"Alias":     {"an unknown alias is reported on its own line", "a: 1\nb:\n  c: *d\n", nil, "f.yaml:12: unknown anchor"},
		"Cycle":     {"an alias of the surrounding object is reported on its own line", "a: 1\nb: &b\n  c: *b\n", nil, "f.yaml:12: anchor"},
		"Merge":     {"a wrong merge is reported on its own line", "a: 1\nb:\n  <<: 1\n", nil, "f.yaml:12: map merge"},
		"Tab":       {"a tab as indentation is an error", "a:\n\tb: 1\n", nil, "f.yaml:11: "},
		"NotUTF8":   {"bytes that are not UTF-8 are an error", "a: 1\nb: \xff\n", nil, "f.yaml:11: "},
		"AliasBomb": {"exponentially expanding aliases are an error", bomb(), nil, "excessive aliasing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := manifest.Document{Path: "f.yaml", Line: 10, Text: []byte(tc.text)}.Object()
			if tc.wantErr != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.wantErr)
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestSyntax checks that the error of invalid YAML says what is wrong on which line, and what to
// do.
func TestSyntax(t *testing.T) {
	const quote = " | quote the whole value: '…', in which '' is a single quote"
	for _, tc := range []struct{ reason, text, want string }{
		{"an object that is not closed has the line of its bracket", "a: 1\nb: {c: d\ne: 1\n", `2: did not find expected ',' or '}': the { is not closed before line 3 | close each bracket and each quote, and separate values by ","`},
		{"a comma is missing", "a: {\n  b: 1\n  c: 2\n}\n", `1: did not find expected ',' or '}': the { is not closed before line 3 | close each bracket and each quote, and separate values by ","`},
		{"a list ends with the document", "a: [1, 2", `1: did not find expected ',' or ']': the [ is not closed | check whether the end of the file is missing`},
		{"a bracket is of another kind", "a: {b: [1, 2}\n", `1: did not find expected ',' or ']': found "}" after a value | separate values by ","; quote a value with one of , : [ ] { }`},
		{"a value in an object has a bracket", "- {a: spec.[b}\n- {c: d}\n", `1: did not find expected ',' or '}': found "[b}" after a value | separate values by ","; quote a value with one of , : [ ] { }`},
		{"a quote that is not closed has its own line", "a: 1\nb: \"x\nc: d\n", `2: found unexpected end of stream: the quote " is not closed | write a " at the end of the value`},
		{"a quote may be closed by the next one", "a: \"x\nb: \"y\"\n", `1: did not find expected key: the quote " is only closed on line 2 | write a " at the end of the value`},
		{"a quote may be closed by the next one, before a character that begins a text", "a: \"x\nb: c\nd: \">=v1\"\n", `1: did not find expected comment or line break: the quote " is only closed on line 3 | write a " at the end of the value`},
		{"a quote in single quotes is written twice", "a: 'it's'\n", `1: did not find expected key: found "s'" after the value` + quote},
		{"a value continues after a template", "a: {{ .x }}/b\n", `1: did not find expected key: found "/b" after the value` + quote},
		{"a value has a second colon", "a: b: c\n", `1: mapping values are not allowed in this context: found ": c" in a value` + quote},
		{"a line has no colon", "a: 1\nb\nc: d\n", `2: could not find expected ':': expected ": " after "b" | write KEY: VALUE; indent the line if it continues the value above it`},
		{"the first line has no colon", "a\nb: c\n", `2: mapping values are not allowed in this context: the line before it has no ": " | write KEY: VALUE there`},
		{"a template is read as an object", "a: {{ x }}\n", `1: a key must not be an object or a list | quote a value that begins with {; a template, such as of Helm, must be rendered before`},
		{"a value begins with @", "a: @x\n", `1: a value cannot begin with @` + quote},
		{"a value begins with %", "a: %x\n", `1: a value cannot begin with %` + quote},
		{"a value begins with a bracket that closes", "a: ]\n", `1: did not find expected node content: a value cannot begin with ]` + quote},
		{"a value begins with a comma", "a: [1,,2]\n", `1: did not find expected node content: a value cannot begin with ,` + quote},
		{"a value is an alias without a name", "a: *\n", `1: did not find expected alphabetic or numeric character: a value cannot begin with *` + quote},
		{"a value is an alias of nothing", "a: *.txt\n", `1: did not find expected alphabetic or numeric character | quote a value that begins with *; or define the anchor, as in &NAME`},
		{"a list begins on the line of its key", "a: - b\n", `1: block sequence entries are not allowed in this context: a list cannot begin on the line of its key | begin the list on the next line; or quote the value`},
		{"an escape sequence is unknown", "a: \"\\q\"\n", `1: found unknown escape character | in "…", write \\ for a backslash; or write '…' instead of "…"`},
		{"an element follows keys", "a: b\n- c\n", `2: did not find expected key: an element of a list cannot follow the keys of line 1 | indent the list below its key`},
		{"a key follows elements", "- a\nb: c\n", `2: did not find expected '-' indicator: a key cannot follow the elements of the list of line 1 | indent the key like the keys of an element; or put the list below a key`},
		{"a bracket closes nothing", "a: [b]\n]\n", `2: did not find expected key: found "]" | remove it; or quote the whole value`},
		{"a document ends in an object", "{\"a\": ", `1: did not find expected node content: the document ends before a { or [ is closed | check whether the end of the file is missing`},
		{"bytes are not text", "\x8f\x01", `1: the file is not text in UTF-8: invalid leading UTF-8 octet | convert the file to UTF-8, or name another file`},
		{"a tab is not indentation", "a:\n\tb: 1\n", `2: the line is indented by a tab: YAML is indented by spaces | replace the tab by spaces`},
		{"a quote in the first value of a block ends early", "a:\n  b: 'it's'\n", `2: did not find expected key: found "s'" after the value` + quote},
		{"the first value of a block has a second colon", "a:\n  b: c: d\n", `2: mapping values are not allowed in this context: found ": d" in a value` + quote},
		{"a key is indented below a value", "a: 1\n  b: 2\n", `2: mapping values are not allowed in this context: the line is indented by 2, expected 0 | `},
		{"the mark of a text has no space", "a:>\n  b: c\n", `1: mapping values are not allowed in this context: "a:>" has no space after the colon | `},
		{"a document begins with a template", "{{- if .x }}\na: b\n", `1: did not find expected node content: a value cannot begin with {{ | a template, such as of Helm, must be rendered before`},
		{"a template follows a key", "a: 1\n{{- if .x }}\nb: 2\n{{- end }}\n", `2: could not find expected ':': found "{{- if .x }}" | a template, such as of Helm, must be rendered before`},
		{"a document is nested too deeply", strings.Repeat("[", 10001), `1: the document is nested too deeply: exceeded max depth of 10000 | `},
		{"a text in UTF-16 has no mark of its encoding", "a\x00:\x00 \x00b\x00\n\x00", `1: control characters are not allowed: the line has U+0000 | convert the file to UTF-8, if it is text: iconv -f UTF-16 -t UTF-8`},
		{"a colon is followed by another space", "a:\u00a0b\nc: d\n", `1: mapping values are not allowed in this context: "a:\u00a0b" has a no-break space (U+00A0) after "a:", where YAML expects a space: replace it | `},
		{"a dash is followed by another space", "a:\n-\u2003b\n", `2: could not find expected ':': "-\u2003b" has the space U+2003 after "-", where YAML expects a space: replace it | `},
		{"a number is infinite", "a: 1\nb: [c, -.Inf]\n", `2: -.Inf is not a number of JSON, which an API server uses | write a finite number; or quote the value, if it is text`},
		{"a dash has no space", "a:\n- b\n-c\n", `3: could not find expected ':': "-c" has no space after the - | write - c`},
		{"a key of an object has no colon", "a: 1\nmetadata\n  name: b\n", `2: could not find expected ':': a colon is missing after metadata | write metadata:`},
		{"the first key has no colon", "metadata\n  name: b\n", `1: mapping values are not allowed in this context: a colon is missing after metadata | write metadata:`},
		{"a value of two lines has a second colon", "a: b\n  c\n  d: e\n", `3: mapping values are not allowed in this context: the line before it has no ": " | write KEY: VALUE there`},
		{"a file is copied from Markdown", "\n```yaml\na: b\n```\n", "1: the file begins with a code fence of Markdown | remove the lines that begin with ```"},
		{"a file is a web page", "<!doctype HTML><body>404: Not Found</body>", "1: the file is a web page in HTML | download the file from its raw URL, with curl -fLO"},
		{"a file is a pointer of Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:a\n", "1: the file is a pointer of Git LFS | fetch its content: git lfs pull"},
		{"a file has conflict markers of git", "a: b\n<<<<<<< HEAD\nc: d\n", `2: unresolved git merge conflict | keep one of the two sides, and remove the marks`},
	} {
		_, err := manifest.Document{Path: "f.yaml", Line: 1, Text: []byte(tc.text)}.Object()
		e2e.Equal(t, tc.reason, "f.yaml:"+tc.want, fmt.Sprintf("%v | %s", err, hint.Of(err)))
	}
}

// TestTypography checks which keys and values have characters that look like YAML's syntax.
func TestTypography(t *testing.T) {
	const text = "a: b\n\u00a0\u00a0k: v\nl: [x\u200b, “y”, ‘z]\nm:\n  n:\u00a0o\nfr: Note:\u00a0merci\ng: [p:\u00a0q, “r” or “s”]\nh: “Gold” is better than “Silver”\nq: r s:\u00a0t\n\"\u00a0\": '“x”'\nt: |\n  “u”\nv: it’s\n"
	var got []string
	for _, err := range (manifest.Document{Path: "f.yaml", Line: 3, Text: []byte(text)}).Typography() {
		got = append(got, err.Error())
	}
	want := []string{
		`f.yaml:4: "\u00a0\u00a0k" begins with a no-break space (U+00A0), which YAML reads as a part of it: replace it by a space, or remove it`,
		`f.yaml:5: "x\u200b" ends with a zero-width space (U+200B), which YAML reads as a part of it: remove it`,
		`f.yaml:7: "n:\u00a0o" has a no-break space (U+00A0) after "n:", where YAML expects a space: replace it`,
	}
	e2e.Equal(t, "only characters where YAML expects syntax are reported", want, got)
}

// bomb returns a small text that would decode into billions of values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		b.WriteString(strings.NewReplacer("N", string(rune('0'+i)), "P", string(rune('0'+i-1))).Replace(
			"aN: &aN [*aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP]\n"))
	}
	return b.String()
}

func TestStrictJSON(t *testing.T) {
	cases := map[string]struct{ reason, text, want, wantErr string }{
		"Good":      {"valid YAML is converted to JSON", "name: x\n", `{"name":"x"}`, ""},
		"Duplicate": {"a duplicate key is an error with its line", "name: x\nname: y\n", "", `f.yaml:2: key "name" already set`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := manifest.Document{Path: "f.yaml", Line: 1, Text: []byte(tc.text)}.StrictJSON()
			e2e.Equal(t, tc.reason, tc.want, string(got))
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.wantErr)
			}
		})
	}
}

// TestEncode checks that an encoded object is read as YAML readers read its text.
func TestEncode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		obj    map[string]any
		isJSON bool
	}{
		"Scalars": {"JSON and YAML have the same scalars", map[string]any{"a": int64(1), "b": -0.5, "c": 1e21, "d": 9.3e18, "e": nil, "f": true, "<<": "<&\u2028😀\n", "no": "off"}, true},
		"Nested":  {"lists and objects may be empty", map[string]any{"a": []any{map[string]any{}, []any{}, "017"}}, true},
		"Control": {"YAML has no character U+0085 as it is", map[string]any{"a": "x\u0085y"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			doc, err := manifest.Encode("f.yaml", 3, tc.obj)
			if err != nil || (doc.JSON != nil) != tc.isJSON || doc.Position() != "f.yaml:3" {
				t.Fatalf("%s: got %v and error %v", tc.reason, doc, err)
			}
			got, _, err := doc.StrictObject()
			want, yamlErr := manifest.Document{Path: "f.yaml", Line: 3, Text: doc.Text}.Object()
			if diff := cmp.Diff(want, got); diff != "" || err != nil || yamlErr != nil {
				t.Errorf("%s: errors %v and %v, -yaml +json:\n%s", tc.reason, yamlErr, err, diff)
			}
		})
	}
}

func TestAll(t *testing.T) {
	r := manifest.Reader{
		FS: e2e.Memory(t, map[string]string{
			"d/b.yml": "n: 2\n", "d/a.yaml": "n: 1\n---\nn: 1b\n", "d/c.json": "n: 3\n", "d/sub/d.yaml": "n: 4\n", "f.txt": "n: 5\n",
		}),
		Stdin: strings.NewReader("n: 6\n"),
	}
	cases := map[string]struct {
		reason, path string
		want         []string
	}{
		"Folder": {"a folder's YAML files are read by name, without sub-folders", "d", []string{"d/a.yaml:1", "d/a.yaml:3", "d/b.yml:1"}},
		"File":   {"a file is read whatever its extension", "f.txt", []string{"f.txt:1"}},
		"Stdin":  {"the path - is standard input", "-", []string{"standard input:1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			docs := e2e.Must(r.All(t.Context(), tc.path))(t)
			var got []string
			for _, d := range docs {
				got = append(got, d.Position())
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestFirst(t *testing.T) {
	r := manifest.Reader{FS: e2e.Memory(t, map[string]string{"two.yaml": "n: 1\n---\nn: 2\n", "none.yaml": "# nothing\n"})}
	doc, more, err := r.First(t.Context(), "two.yaml")
	if err != nil || !more || string(doc.Text) != "n: 1\n" {
		t.Errorf("two.yaml: got %q, %t, %v", doc.Text, more, err)
	}
	for path, want := range map[string]string{"none.yaml": "none.yaml: there is no YAML document", "absent.yaml": `reading "absent.yaml"`, "-": "there is no standard input"} {
		if _, _, err := r.First(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

func TestReadStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdin, feed := io.Pipe()
	t.Cleanup(func() { _ = feed.Close() })
	r := manifest.Reader{FS: afero.NewMemMapFs(), Stdin: stdin}
	cancel()
	// Nothing is written to stdin, so only the context can end this call.
	e2e.ErrorIs(t, "reading returns the cause of its context", e2e.Err(r.All(ctx, "-")), context.Canceled)
}

func TestTooLarge(t *testing.T) {
	r := manifest.Reader{FS: afero.NewMemMapFs(), Stdin: io.LimitReader(comment(strings.Repeat("#", 1<<20)), manifest.MaxSize+10)}
	e2e.ErrorHas(t, "the size of standard input is limited", e2e.Err(r.All(t.Context(), "-")), "larger than 128 MiB")
}

// A comment is an endless Reader that repeats a text.
type comment string

func (c comment) Read(p []byte) (int, error) { return copy(p, c), nil }

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	err := manifest.Write(&b,
		map[string]any{"a10": int64(1), "a2": 1.0, "b": strings.Repeat("word ", 30)},
		nil,
		map[string]any{"bad": "\x7f"},
	)
	e2e.Error(t, "a control character is an error", err)
	want := "---\na2: 1\na10: 1\nb: '" + strings.Repeat("word ", 15) + "word\n  " + strings.Repeat("word ", 14) + "'\n---\nnull\n---\n"
	e2e.Equal(t, "natural order, folded lines, and what came before the fault", want, b.String())
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("a: 1\n---\nb: [1, {c: d}]\n"))
	f.Add([]byte("---\n--- # x\n# y\n&a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := manifest.Split("f", data)
		if err != nil {
			return
		}
		last := 0
		for _, d := range docs {
			if d.Line <= last || d.Line > bytes.Count(data, []byte("\n"))+1 {
				t.Fatalf("line %d after line %d", d.Line, last)
			}
			last = d.Line
			if obj, err := d.Object(); err == nil {
				// Some strings cannot be written, but no string may cause a panic.
				_ = manifest.Write(io.Discard, obj)
			}
		}
	})
}

// TestGivenDocuments checks that a Reader returns the documents that its function Documents
// returns for a path.
func TestGivenDocuments(t *testing.T) {
	given := []manifest.Document{{Path: "suite.yaml", Line: 7, Text: []byte("{a: 1}")}, {Path: "suite.yaml", Line: 9, Text: []byte("{a: 2}")}}
	fsys := afero.NewMemMapFs()
	e2e.NoError(t, afero.WriteFile(fsys, "file.yaml", []byte("a: 3"), 0o644))
	r := manifest.Reader{FS: fsys, Documents: func(path string) ([]manifest.Document, bool) {
		return given, path == "inline"
	}}
	all, err := r.All(t.Context(), "inline")
	if diff := cmp.Diff(given, all); diff != "" || err != nil {
		t.Errorf("All: %v (-want +got):\n%s", err, diff)
	}
	first, more, err := r.First(t.Context(), "inline")
	if diff := cmp.Diff(given[0], first); diff != "" || !more || err != nil {
		t.Errorf("First: %v, more: %t (-want +got):\n%s", err, more, diff)
	}
	e2e.Equal(t, "JSON reads the documents that Documents returns", 2, len(e2e.Must(r.JSON(t.Context(), "inline"))(t)))
	if docs, err := r.All(t.Context(), "file.yaml"); err != nil || len(docs) != 1 || docs[0].Position() != "file.yaml:1" {
		t.Errorf("an unknown path is not read as a file: got %v, %v", docs, err)
	}
}

func TestFirstLine(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         int
	}{
		"AtOnce":   {"content may begin on the document's first line", "a: 1\n", 5},
		"Comments": {"comments and blank lines are skipped", "# a\n\n  # b\n \t\na: 1\n", 9},
		"Behind":   {"a comment after content does not hide the content", "a: 1 # b\n", 5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, (manifest.Document{Line: 5, Text: []byte(tc.text)}).FirstLine())
		})
	}
}

// TestJSON reads the JSON files of a folder.
func TestJSON(t *testing.T) {
	fsys := afero.NewMemMapFs()
	for _, name := range []string{"d/b.json", "d/a/c.json", "d/a.yaml", "d/e.JSON", "yaml/a.yaml"} {
		e2e.NoError(t, afero.WriteFile(fsys, name, []byte(`{"name": "`+name+`"}`), 0o600))
	}
	r := manifest.Reader{FS: fsys}
	var got []string
	for _, doc := range e2e.Must(r.JSON(t.Context(), "d"))(t) {
		got = append(got, doc.Path)
	}
	e2e.Equal(t, "the .json files of a folder and its sub-folders are read", []string{"d/a/c.json", "d/b.json"}, got)
	_, err := r.JSON(t.Context(), "yaml")
	e2e.ErrorHas(t, "a folder without JSON files is refused", err, `reading "yaml": there is no JSON file`)

	link := filepath.Join(t.TempDir(), "link")
	e2e.NoError(t, os.Symlink(e2e.Dir(t, map[string]string{"a.json": "{}"}), link))
	docs := e2e.Must(manifest.Reader{FS: afero.NewOsFs()}.JSON(t.Context(), link))(t)
	e2e.Equal(t, "the folder may be a symbolic link", 1, len(docs))
}
