package coverage

import (
	_ "embed" // for go:embed
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/xfn-dev/xfn/internal/report"
)

// The template and the style of the page.
var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
)

type pageLine struct {
	Number int
	Text   string
	// Class is "ran", "missed" or "partly" for a line in a part, and otherwise "".
	Class string
	// Notes describe the parts that begin on the line and did not run.
	Notes []string
}

// WritePage writes a self-contained HTML page with the files of the Compositions. Lines of
// parts that ran and of parts that did not run have different colors. The page's content
// security policy forbids scripts, and requests to other hosts.
func WritePage(w io.Writer, r Report) error {
	functions := template.FuncMap{
		"lines":   Composition.pageLines,
		"kinds":   func(c Composition) []string { return countKinds(c.Parts) },
		"percent": func(c Composition) string { return formatPercent(count(c.Parts)) },
		"count":   report.Count,
		"files":   Composition.missedInFiles,
		"sub":     func(a, b int) int { return a - b },
		"words":   report.Printable,
	}
	return report.ExecutePage(w, "the page of the coverage", pageHTML, functions, struct {
		Report
		Total string
		CSS   template.CSS
		CSP   string
	}{r, formatPercent(r.count()), template.CSS(pageCSS), fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src '%s'", report.ContentHash(pageCSS))})
}

// missedInFiles returns descriptions of the parts of template files that did not run.
func (c Composition) missedInFiles() []string {
	var all []string
	for _, p := range c.Parts {
		if p.File != "" && !p.Ran {
			all = append(all, fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Describe()))
		}
	}
	return all
}

// pageLines returns the lines of the Composition's document. A line without a part of its own
// belongs to the part of the nearest line above it that is less indented.
func (c Composition) pageLines() []pageLine {
	parts := map[int][]Part{}
	for _, p := range c.Parts {
		if p.File == "" {
			parts[p.Line] = append(parts[p.Line], p)
		}
	}
	type scope struct {
		indent int
		class  string
	}
	var open []scope
	var all []pageLine
	for i, text := range strings.Split(strings.TrimRight(string(c.text), "\n"), "\n") {
		l := pageLine{Number: c.Line + i, Text: report.Printable(text)}
		indent := len(text) - len(strings.TrimLeft(text, " "))
		blank := strings.TrimSpace(text) == ""
		for !blank && len(open) > 0 && open[len(open)-1].indent >= indent {
			open = open[:len(open)-1]
		}
		if own := parts[l.Number]; len(own) > 0 {
			l.Class, l.Notes = state(own)
			open = append(open, scope{indent, l.Class})
		} else if len(open) > 0 {
			l.Class = open[len(open)-1].class
		}
		all = append(all, l)
	}
	return all
}

// state returns the class of a line with parts, and descriptions of the parts that did not run.
func state(parts []Part) (class string, missed []string) {
	for _, p := range parts {
		if !p.Ran {
			missed = append(missed, p.Describe())
		}
	}
	switch len(missed) {
	case 0:
		return "ran", nil
	case len(parts):
		return "missed", missed
	default:
		return "partly", missed
	}
}
