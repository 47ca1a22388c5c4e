package dev

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/report"
)

// fewest is the minimum number of lines of a section.
const fewest = 4

// Fit returns the lines of sections, separated by empty lines. If they need
// more than rows of the given columns, it cuts the longest sections and says
// how to show all.
func Fit(sections []Section, rows, columns int, all string) []string {
	most := 0
	for _, s := range sections {
		most = max(most, len(s))
	}
	for ; most > fewest; most-- {
		if height(joined(sections, most, all), columns) <= rows {
			break
		}
	}
	return joined(sections, most, all)
}

func joined(sections []Section, most int, all string) []string {
	var lines []string
	for i, s := range sections {
		if i > 0 {
			lines = append(lines, "")
		}
		if len(s) > most {
			more := len(s) - most + 1
			lines = append(lines, s[:most-1]...)
			lines = append(lines, fmt.Sprintf("… %d more lines: %s", more, all))
			continue
		}
		lines = append(lines, s...)
	}
	return lines
}

// Wrap breaks the lines of a section that are longer than columns at spaces,
// and indents continuation lines. 0 columns break nothing.
func Wrap(s Section, columns int) Section {
	if columns <= 0 {
		return s
	}
	var all Section
	for _, l := range s {
		all = append(all, wrap(l, columns)...)
	}
	return all
}

// wrap breaks one line. All parts get its color.
func wrap(line string, columns int) []string {
	if height([]string{line}, columns) == 1 {
		return []string{line}
	}
	color, end := "", ""
	if at := escape().FindStringIndex(line); at != nil && at[0] == 0 {
		color, end = line[:at[1]], report.ResetColor
	}
	text := escape().ReplaceAllString(line, "")
	margin := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var all []string
	for _, l := range report.Wrap(text[len(margin):], columns-len(margin)-4) {
		if len(all) == 1 {
			margin += "    "
		}
		all = append(all, color+margin+l+end)
	}
	return all
}

// escape matches color escape sequences.
var escape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })

// height returns the number of rows of lines on a screen that wraps them.
func height(lines []string, columns int) int {
	rows := 0
	for _, l := range lines {
		n := utf8.RuneCountInString(escape().ReplaceAllString(l, ""))
		rows += max(1, (n+columns-1)/columns)
	}
	return rows
}
