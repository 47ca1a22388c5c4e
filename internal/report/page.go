package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // for go:embed
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

// The template, the style and the script of the page.
var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

const (
	// longest is the number of bytes that the page shows of a value.
	longest = 4000
	// unfolded is the maximum number of rows with which all steps are unfolded.
	unfolded = 150
)

// A view is the data of the page's template.
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

// WritePage writes a self-contained HTML page about the traces. It cuts long values
// and escapes the output of functions. The page's content security policy forbids
// requests to other hosts, and scripts other than the page's own.
func WritePage(w io.Writer, title string, traces []Trace) error {
	v := view{
		Title: Printable(title), Traces: traces, CSS: template.CSS(pageCSS), JS: template.JS(pageJS),
		CSP: fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src '%s'; script-src '%s'", ContentHash(pageCSS), ContentHash(pageJS)),
	}
	rows := 0
	for _, t := range traces {
		v.Took += took(t)
		for _, s := range t.Steps {
			rows += stepRows(s)
		}
		if t.Failed() {
			v.Failed++
		}
	}
	v.Open = rows <= unfolded
	return ExecutePage(w, fmt.Sprintf("the page %q", title), pageHTML, functions(), v)
}

// ExecutePage executes the template of a page. what names the page in errors.
func ExecutePage(w io.Writer, what, html string, functions template.FuncMap, data any) error {
	page, err := template.New("page.html").Funcs(functions).Parse(html)
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := page.Execute(out, data); err != nil {
		return fmt.Errorf("writing %s: %w", what, err)
	}
	return out.Flush()
}

// ContentHash returns the source expression of a content security policy for an inline style or
// script.
func ContentHash(content string) string {
	sum := sha256.Sum256([]byte(content))
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

// words cuts and escapes text of functions, but keeps line breaks and tabs.
func words(s string) string { return escape(Cut(s, longest), "\n\t") }

// A line is a line of a text, and the depth of its indentation.
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

func severity(r Result) string {
	switch r.Severity {
	case "Fatal", "Warning":
		return strings.ToLower(r.Severity)
	}
	return "normal"
}

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

func took(t Trace) time.Duration {
	var sum time.Duration
	for _, s := range t.Steps {
		sum += s.Took
	}
	return sum
}

// share returns a step's duration in percent of the slowest step's duration.
func share(t Trace, s Step) int {
	var slowest time.Duration
	for _, other := range t.Steps {
		slowest = max(slowest, other.Took)
	}
	if slowest <= 0 {
		return 0
	}
	return max(1, int(100*s.Took/slowest))
}

func stepRows(s Step) int {
	n := len(s.ContextChanges) + len(s.Results) + len(s.Conditions) + len(s.Requirements)
	for _, r := range s.Changes {
		rows := len(r.Fields) + len(r.ConnectionDetails)
		if r.Ready != nil {
			rows++
		}
		n += max(1, rows)
	}
	return n
}

func results(s Step, severity string) int {
	n := 0
	for _, r := range s.Results {
		if r.Severity == severity {
			n++
		}
	}
	return n
}

type changeCounts struct{ Added, Changed, Removed int }

func tally(s Step) (n changeCounts) {
	for _, c := range s.Changes {
		switch c.Op {
		case Added:
			n.Added++
		case Changed:
			n.Changed++
		case Removed:
			n.Removed++
		}
	}
	return n
}

// A part is the data of the page's template for a step.
type part struct {
	Step Step
	Open bool
}

// A row is the data of the template for a change. Name is empty for a field.
type row struct {
	Name   string
	Change Change
}
