package dev

import (
	"fmt"
	"regexp"
	"unicode/utf8"
)

// fewest is how many lines of a section are left at least.
const fewest = 4

// Fit returns the lines of sections, with an empty one between any two, cut so
// that they take no more rows of that many columns if that can be: the longest
// sections lose their ends, and say so with what shows all.
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

// escape matches what sets the colour.
var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// height is how many rows lines take on a screen that wraps them.
func height(lines []string, columns int) int {
	rows := 0
	for _, l := range lines {
		n := utf8.RuneCountInString(escape.ReplaceAllString(l, ""))
		rows += max(1, (n+columns-1)/columns)
	}
	return rows
}
