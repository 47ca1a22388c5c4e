package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	yamlv4 "go.yaml.in/yaml/v4"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// quoting is the hint for characters that end a value, or cannot begin one.
const quoting = "quote the whole value: '…', in which '' is a single quote"

// explain returns the line, counted from 1, of a syntax error in the document, and a message
// that says what is wrong there. text is the message of sigs.k8s.io/yaml, and otherwise its
// line, which are returned if nothing better is known. Only yaml/v4 reports where the parser
// stopped, and where the value begins that it was reading.
func (d Document) explain(otherwise int, text string) (int, error) {
	var e *yamlv4.LoadError
	if !errors.As(yamlv4.Unmarshal(d.Text, new(yamlv4.Node)), &e) {
		return otherwise, errors.New(text)
	}
	if line := Conflict(d.Text); line > 0 {
		return line, hint.Wrap(errors.New("unresolved git merge conflict"), "keep one of the two sides, and remove the marks")
	}
	line, why, next := syntaxError{e, bytes.SplitAfter(d.Text, []byte("\n"))}.explain(d.Text)
	switch {
	case strings.Contains(text, "max depth"):
		text = "the document is nested too deeply: " + text
	case strings.HasPrefix(text, "found character that cannot start any token") && why != "":
		text = why
	case why != "":
		text += ": " + why
	}
	err := errors.New(text)
	if next != "" {
		err = hint.Wrap(err, next)
	}
	return min(line, bytes.Count(bytes.TrimSuffix(d.Text, []byte("\n")), []byte("\n"))+1), err
}

// Conflict returns the line number of the first marker of a git merge conflict, or 0.
func Conflict(data []byte) int {
	line := 0
	for l := range bytes.Lines(data) {
		line++
		for _, mark := range []string{"<<<<<<< ", "||||||| ", ">>>>>>> "} {
			if bytes.HasPrefix(l, []byte(mark)) {
				return line
			}
		}
	}
	return 0
}

// foreignFormat describes a text in another format than YAML, and returns the next action. what
// is "" for other texts.
func foreignFormat(text []byte) (what string, next hint.Hint) {
	if bytes.HasPrefix(bytes.TrimLeft(text, blanks), []byte("```")) {
		return "the file begins with a code fence of Markdown", "remove the lines that begin with ```"
	}
	return OtherContent(text)
}

// blanks are the characters between words and lines.
const blanks = " \t\r\n"

// OtherContent describes the content of a file that begins with head if this content replaced the
// file's own, such as an error page. It also returns the next action. what is "" for other files.
func OtherContent(head []byte) (what string, next hint.Hint) {
	head = bytes.TrimLeft(head[:min(len(head), 1<<10)], blanks)
	switch lower := bytes.ToLower(head[:min(len(head), 16)]); {
	case bytes.HasPrefix(lower, []byte("<!doctype html")), bytes.HasPrefix(lower, []byte("<html")):
		return "the file is a web page in HTML", "download the file from its raw URL, with curl -fLO"
	case bytes.HasPrefix(head, []byte("version https://git-lfs.github.com/spec/")):
		return "the file is a pointer of Git LFS", "fetch its content: git lfs pull"
	}
	return "", ""
}

// A syntaxError is an error of the parser, and the lines of the document.
type syntaxError struct {
	*yamlv4.LoadError
	lines [][]byte
}

// rest returns the text from a position to the end of its line.
func (e syntaxError) rest(at yamlv4.Mark) string {
	if at.Line < 1 || at.Line > len(e.lines) {
		return ""
	}
	line := []rune(string(e.lines[at.Line-1]))
	return strings.TrimSpace(string(line[min(max(at.Column-1, 0), len(line)):]))
}

// first returns the first character at a position, or "" at the end of the line.
func (e syntaxError) first(at yamlv4.Mark) string {
	for _, r := range e.rest(at) {
		return string(r)
	}
	return ""
}

// isTemplateKey matches the key of an inline template without a text on its line.
var isTemplateKey = proc.Regexp(`^template:\s*$`)

// explain returns the line of the error, what is wrong there, and the next action.
func (e syntaxError) explain(text []byte) (line int, why string, next hint.Hint) {
	begin, first := e.ContextMark, e.first(e.Mark)
	const template = "a template, such as of Helm, must be rendered before"
	switch context := strings.TrimPrefix(e.ContextMsg, "while "); {
	case strings.Contains(e.Message, "tab character"), strings.Contains(e.Message, "max depth"):
		return e.Mark.Line, "", ""
	case strings.HasPrefix(e.Message, "did not find expected node content") && strings.HasPrefix(e.rest(yamlv4.Mark{Line: e.Mark.Line, Column: 1}), "{{"):
		if isTemplateKey().MatchString(e.rest(yamlv4.Mark{Line: e.Mark.Line - 1, Column: 1})) {
			return e.Mark.Line - 1, "a text of several lines needs |", "write template: | before the lines of the template"
		}
		return e.Mark.Line, "a value cannot begin with {{", template
	case context == "scanning a quoted scalar" && strings.Contains(e.Message, "end of stream"):
		return begin.Line, fmt.Sprintf("the quote %s is not closed", e.first(begin)), closing(e.first(begin))
	case context == "scanning a quoted scalar":
		return e.Mark.Line, "", `in "…", write \\ for a backslash; or write '…' instead of "…"`
	case strings.HasPrefix(context, "parsing a flow ") && strings.HasPrefix(e.Message, "did not find expected ','"):
		return e.unclosed()
	case strings.HasPrefix(e.Message, "did not find expected node content") && first == "":
		return e.Mark.Line, "the document ends before a { or [ is closed", "check whether the end of the file is missing"
	case context == "scanning a simple key" && strings.HasPrefix(e.rest(begin), "{{"):
		return begin.Line, fmt.Sprintf("found %q", clip([]byte(e.rest(begin)))), template
	case context == "scanning a simple key" && typographyIn(e.rest(begin), true) != "":
		return begin.Line, fmt.Sprintf("%q %s", e.rest(begin), typographyIn(e.rest(begin), true)), ""
	case context == "scanning a simple key" && unspacedDash().MatchString(e.rest(begin)):
		return begin.Line, fmt.Sprintf("%q has no space after the -", clip([]byte(e.rest(begin)))), hint.Hint("write - " + e.rest(begin)[1:])
	case context == "scanning a simple key":
		return begin.Line, fmt.Sprintf(`expected ": " after %q`, clip([]byte(e.rest(begin)))), "write KEY: VALUE; indent the line if it continues the value above it"
	case strings.HasPrefix(context, "parsing a block ") && first != "" && !strings.HasPrefix(e.Message, "did not find expected node content"), strings.HasPrefix(e.Message, "mapping values"):
		return e.misplaced(text)
	case tabbed(text, e.Mark.Line):
		return e.Mark.Line, "the line is indented by a tab: YAML is indented by spaces", "replace the tab by spaces"
	case strings.HasPrefix(e.Message, "block sequence entries"):
		return e.Mark.Line, `a list cannot begin on the line of its key`, "begin the list on the next line; or quote the value"
	case e.Stage == "composer":
		return e.Mark.Line, "", "quote a value that begins with *; or define the anchor, as in &NAME"
	case begin.Line > 0 && e.first(begin) != "":
		e.Mark = begin
		if quote, line := e.lastQuote(); line < begin.Line {
			return line, fmt.Sprintf("the quote %s is only closed on line %d", quote, begin.Line), closing(quote)
		}
		return e.Mark.Line, "a value cannot begin with " + e.first(begin), quoting
	}
	return e.Mark.Line, "", ""
}

// unclosed explains a list or an object in brackets without its end.
func (e syntaxError) unclosed() (line int, why string, next hint.Hint) {
	begin, rest := e.ContextMark, e.rest(e.Mark)
	switch {
	case e.Mark.Line == begin.Line:
		return begin.Line, fmt.Sprintf("found %q after a value", clip([]byte(rest))), `separate values by ","; quote a value with one of , : [ ] { }`
	case rest == "":
		return begin.Line, fmt.Sprintf("the %s is not closed", e.first(begin)), "check whether the end of the file is missing"
	}
	return begin.Line, fmt.Sprintf("the %s is not closed before line %d", e.first(begin), e.Mark.Line), "close each bracket and each quote, and separate values by \",\""
}

// misplaced explains a token that is not allowed after the values before it, such as a key
// with other indentation.
func (e syntaxError) misplaced(text []byte) (line int, why string, next hint.Hint) {
	if key := e.keyWithoutColon(); key != "" && strings.HasPrefix(e.Message, "mapping values") {
		return e.Mark.Line - 1, "a colon is missing after " + key, hint.Hint("write " + key + ":")
	}
	line, why = missingSpace(text, e.Mark.Line)
	if why == "" {
		line, why = e.Mark.Line, indentation(text, e.Mark.Line)
	}
	if why != "" {
		return line, why, ""
	}
	start := yamlv4.Mark{Line: e.Mark.Line, Column: 1}
	rest, before := e.rest(e.Mark), strings.TrimSuffix(e.rest(start), e.rest(e.Mark))
	found := fmt.Sprintf("found %q", clip([]byte(rest)))
	switch quote, line := e.lastQuote(); {
	case strings.HasPrefix(e.Message, "mapping values") && !strings.Contains(before, ": "):
		return e.Mark.Line, "the line before it has no \": \"", "write KEY: VALUE there"
	case strings.HasPrefix(e.Message, "mapping values"):
		return e.Mark.Line, found + " in a value", quoting
	case before != "" && line < e.Mark.Line:
		return line, fmt.Sprintf("the quote %s is only closed on line %d", quote, e.Mark.Line), closing(quote)
	case before != "":
		return e.Mark.Line, found + " after the value", quoting
	case strings.HasPrefix(rest, "-"):
		return e.Mark.Line, fmt.Sprintf("an element of a list cannot follow the keys of line %d", e.ContextMark.Line), "indent the list below its key"
	case strings.Contains(e.Message, "'-'"):
		return e.Mark.Line, fmt.Sprintf("a key cannot follow the elements of the list of line %d", e.ContextMark.Line), "indent the key like the keys of an element; or put the list below a key"
	}
	return e.Mark.Line, found, "remove it; or quote the whole value"
}

// unspacedDash matches an element of a list without a space after its dash, and keyLine a line that
// has only a key.
var (
	unspacedDash = proc.Regexp(`^-[A-Za-z{"'][^:]*$`)
	keyLine      = proc.Regexp(`^( *)([A-Za-z]\w*)\s*$`)
)

// keyWithoutColon returns the key on the line before the error, if it has no colon, and the line of
// the error is indented more.
func (e syntaxError) keyWithoutColon() string {
	if e.Mark.Line < 2 || e.Mark.Line > len(e.lines) {
		return ""
	}
	m := keyLine().FindSubmatch(e.lines[e.Mark.Line-2])
	if m == nil || !bytes.HasPrefix(e.lines[e.Mark.Line-1], append(m[1], ' ')) {
		return ""
	}
	return string(m[2])
}

// lastQuote returns the quote with which the value before the error begins, and its line. If
// that value is not quoted, it returns the line of the error.
func (e syntaxError) lastQuote() (quote string, line int) {
	if e.Mark.Line > len(e.lines) {
		return "", e.Mark.Line // The parser counts more characters as line breaks.
	}
	before := bytes.Join(e.lines[:e.Mark.Line-1], nil)
	before = append(before, bytes.TrimSuffix(bytes.TrimSpace(e.lines[e.Mark.Line-1]), []byte(e.rest(e.Mark)))...)
	var last *yamlv4.Node
	root := new(yamlv4.Node)
	if err := yamlv4.Unmarshal(before, root); err != nil {
		return "", e.Mark.Line
	}
	for last = root; len(last.Content) > 0; last = last.Content[len(last.Content)-1] {
	}
	if last.Style&(yamlv4.SingleQuotedStyle|yamlv4.DoubleQuotedStyle) == 0 {
		return "", e.Mark.Line
	}
	return e.first(yamlv4.Mark{Line: last.Line, Column: last.Column}), last.Line
}

func closing(quote string) hint.Hint {
	return hint.Hint("write a " + quote + " at the end of the value")
}

// indentation describes the wrong indentation of a line of text, counted from 1, with a syntax
// error. It says how far the line and the open objects and lists above are indented. It returns ""
// if the line is indented like one of these, or begins the value of a key.
func indentation(text []byte, line int) string {
	var open []int
	n, begins := 0, false
	for l := range bytes.Lines(text) {
		if n++; n > line || Blank(l) {
			continue
		}
		content := bytes.TrimLeft(l, " ")
		indent := len(l) - len(content)
		if n == line {
			if slices.Contains(open, indent) || len(open) == 0 || begins && indent > open[len(open)-1] {
				return ""
			}
			return fmt.Sprintf("the line is indented by %d, expected %s", indent, expected(open, indent))
		}
		begins = bytes.HasSuffix(bytes.TrimSpace(content), []byte(":"))
		open = append(slices.DeleteFunc(open, func(i int) bool { return i >= indent }), indent)
		for bytes.HasPrefix(content, []byte("- ")) {
			rest := bytes.TrimLeft(content[1:], " ")
			indent += len(content) - len(rest)
			open, content = append(open, indent), rest
		}
	}
	return ""
}

// expected returns the indentations that are open. The indentation that is most similar to indent
// is first; if two are equally similar, the deeper is first.
func expected(open []int, indent int) string {
	best := slices.MinFunc(open, func(a, b int) int {
		return cmp.Or(cmp.Compare(max(a-indent, indent-a), max(b-indent, indent-b)), cmp.Compare(b, a))
	})
	text := fmt.Sprint(best)
	others := slices.DeleteFunc(slices.Clone(open), func(i int) bool { return i == best })
	if len(others) > 0 {
		text += ", or " + strings.Trim(strings.ReplaceAll(fmt.Sprint(others), " ", " or "), "[]")
	}
	return text
}

// tabbed reports whether a line of text, counted from 1, has a tab before its first other
// character that is not a space.
func tabbed(text []byte, line int) bool {
	n := 0
	for l := range bytes.Lines(text) {
		if n++; n == line {
			return bytes.HasPrefix(bytes.TrimLeft(l, " "), []byte("\t"))
		}
	}
	return false
}

// keyWithoutSpace matches a line with a key and a value or the mark of a text in several lines, but
// no space after the colon.
var keyWithoutSpace = proc.Regexp(`^[ -]*([A-Za-z][A-Za-z0-9]*:(?:[A-Za-z0-9][^:#]*?|[|>][+-]?))\s*$`)

// missingSpace explains a syntax error in a line of text, counted from 1, if this line or the
// previous line lacks a space after a colon, or has another kind of space there or as its
// indentation. It returns the line and what is wrong. For other errors, the text is "".
func missingSpace(text []byte, line int) (at int, why string) {
	n := 0
	for l := range bytes.Lines(text) {
		if n++; n != line && n != line-1 {
			continue
		}
		if m := keyWithoutSpace().FindSubmatch(l); m != nil {
			at, why = n, fmt.Sprintf("%q has no space after the colon", m[1])
		} else if text := strings.Trim(string(l), " \t\r\n"); typographyIn(text, true) != "" {
			at, why = n, fmt.Sprintf("%q %s", text, typographyIn(text, true))
		}
	}
	return at, why
}
