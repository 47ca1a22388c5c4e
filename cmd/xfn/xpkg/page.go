package xpkg

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
)

// width is how wide a page is: a terminal's usual width.
const width = 80

// A page is text for people. What strangers wrote is kept from changing how a
// terminal shows the rest, and is clipped where a line would be too long.
type page struct {
	w   io.Writer
	err error
}

// line prints a line of its own.
func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, clip(plainLine(fmt.Sprintf(format, args...)), width))
	}
}

// section begins a section.
func (p *page) section(title string) {
	p.line("")
	p.line("%s", title)
}

// pair prints a name and its value, if there is one.
func (p *page) pair(name, value string) {
	if value == "" {
		return
	}
	p.line("  %-13s %s", name, value)
}

// pairs prints a section of names and their values.
func (p *page) pairs(title string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	p.section(title)
	for _, key := range keys(m) {
		p.line("  %s: %s", clip(plainLine(key), width/2), m[key])
	}
}

// nested prints names and their values below a name.
func (p *page) nested(title string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	p.line("  %s", title)
	for _, key := range keys(m) {
		p.line("    %s: %s", clip(plainLine(key), width/2), m[key])
	}
}

// table prints a section of rows.
func (p *page) table(title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.section(title)
	p.rows(gap, rows)
}

// gap is between columns.
const gap = 2

// rows prints rows in columns, after an indent. If they are too wide, the widest
// column is clipped.
func (p *page) rows(indent int, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plainLine(cell)
			if len(widths) == i {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	fit(widths, width-indent+gap)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = fmt.Sprintf("%-*s", widths[i], clip(cell, widths[i]))
		}
		p.line("%*s%s", indent, "", strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " "))
	}
}

// fit makes the widest columns narrower until all are as wide as a line, each
// with a gap.
func fit(widths []int, line int) {
	for {
		sum, widest := 0, 0
		for i, n := range widths {
			sum += gap + n
			if n > widths[widest] {
				widest = i
			}
		}
		if sum <= line {
			return
		}
		widths[widest] -= min(sum-line, max(1, widths[widest]-line/len(widths)))
	}
}

// wrapped prints a sentence in as many lines as it takes.
func (p *page) wrapped(text string) {
	line := " "
	for word := range strings.FieldsSeq(plainLine(text)) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			p.line("%s", line)
			line = " "
		}
		line += " " + word
	}
	p.line("%s", line)
}

// plainLine is text without line breaks, tabs, and what moves the cursor.
func plainLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, terminal.Printable(text))
}

// clip is the beginning of text, in n characters.
func clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
