package report

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed page.html page.css page.js
var files embed.FS

const (
	// longest is the number of bytes that the page shows of a value or
	// message.
	longest = 4000
	// unfolded is the number of rows up to which a page is unfolded at
	// first.
	unfolded = 150
)

// A view is the data of the template.
type view struct {
	Title  string
	CSP    string
	CSS    template.CSS
	JS     template.JS
	Traces []Trace
	Took   time.Duration
	Failed int
	// Open unfolds all steps and resources.
	Open bool
}

// WritePage writes a page about the traces, in order, with the given title. The
// page is self-contained, and long values are cut. Output of functions is
// escaped, and a content security policy prevents loading, sending and other
// scripts.
func WritePage(w io.Writer, title string, traces []Trace) error {
	v := view{Title: Printable(title), Traces: traces}
	if err := v.dress(); err != nil {
		return err
	}
	rows := 0
	for _, t := range traces {
		v.Took += took(t)
		rows += countRows(t)
		if t.Failed() {
			v.Failed++
		}
	}
	v.Open = rows <= unfolded

	page, err := template.New("page.html").Funcs(functions()).ParseFS(files, "page.html")
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := page.Execute(out, v); err != nil {
		return fmt.Errorf("writing the page %q: %w", title, err)
	}
	return out.Flush()
}

// dress adds the style, the script, and the policy that allows only these.
func (v *view) dress() error {
	style, err := files.ReadFile("page.css")
	if err != nil {
		return fmt.Errorf("reading the page's style: %w", err)
	}
	script, err := files.ReadFile("page.js")
	if err != nil {
		return fmt.Errorf("reading the page's script: %w", err)
	}
	v.CSS, v.JS = template.CSS(style), template.JS(script)
	v.CSP = fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src '%s'; script-src '%s'",
		hash(style), hash(script))
	return nil
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func functions() template.FuncMap {
	return template.FuncMap{
		"add":      func(a, b int) int { return a + b },
		"count":    Count,
		"deref":    func(c *Change) Change { return *c },
		"duration": Duration,
		"lines":    lines,
		"literal":  jsonLiteral,
		"part":     func(s Step, open bool) part { return part{s, open} },
		"results":  results,
		"rows":     stepRows,
		"said":     func(v any) string { return words(fmt.Sprint(v)) },
		"severity": severity,
		"share":    share,
		"tally":    tally,
		"took":     took,
		"type":     typeOf,
		"change":   func(name string, c Change) row { return row{name, c} },
		"words":    words,
	}
}

// words cuts and escapes text of functions.
func words(s string) string { return printable(Cut(s, longest)) }

// printable escapes characters that do not print, except line breaks, which the
// page can show.
func printable(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		for j, c := range cells {
			cells[j] = Printable(c)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// A line is a line of a text and its indentation.
type line struct {
	Depth int
	Text  string
}

// lines splits text into lines, so that wrapped lines keep their indentation.
func lines(s string) []line {
	const indent, deepest = 4, 4
	var all []line
	for l := range strings.SplitSeq(words(strings.TrimRight(s, "\n")), "\n") {
		text := strings.TrimLeft(l, " ")
		all = append(all, line{min((len(l)-len(text))/indent, deepest), text})
	}
	return all
}

// jsonLiteral formats a value: a string of several lines unchanged, others as JSON.
func jsonLiteral(v any) string {
	if s, ok := v.(string); ok && strings.Contains(s, "\n") {
		return words(s)
	}
	return Text(v, longest)
}

// severity returns the CSS class of a result.
func severity(r Result) string {
	switch r.Severity {
	case "Fatal", "Warning":
		return strings.ToLower(r.Severity)
	}
	return "normal"
}

// typeOf returns the CSS class of a value.
func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "\n") {
			return "lines"
		}
		return "string"
	case nil, bool:
		return "word"
	case map[string]any, []any:
		return "tree"
	}
	return "figure"
}
