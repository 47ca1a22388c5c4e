package terminal

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/report"
)

// Limits of excerpts: the size of a file, and the length of a line, such as the only
// line of a JSON file.
const (
	maxExcerptFile = 16 << 20
	maxExcerptLine = 240
)

// An Excerpter shows the lines of files that messages are about. It keeps the lines of
// the last file.
type Excerpter struct {
	term  *Terminal
	path  string
	lines []string
}

// Excerpts returns an Excerpter for messages on stdout.
func (t *Terminal) Excerpts() *Excerpter { return &Excerpter{term: t} }

// Of returns the line of a's file, with the key or value that a's text names underlined. It
// returns "" for an unknown line, and for a line that would not help a reader.
func (e *Excerpter) Of(a Annotation) string {
	if a.Path != e.path {
		e.path, e.lines = a.Path, readLines(a.Path)
	}
	if a.Line < 1 || a.Line > len(e.lines) {
		return ""
	}
	line := strings.TrimRightFunc(e.lines[a.Line-1], unicode.IsSpace)
	content := strings.TrimLeftFunc(line, unicode.IsSpace)
	if content == "" || len(line) > maxExcerptLine || !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return ""
	}
	indent := strings.Repeat(" ", min(utf8.RuneCountInString(line)-utf8.RuneCountInString(content), 16))
	number := fmt.Sprintf("%5d | ", a.Line)
	text := Printable(strings.ReplaceAll(content, "\t", " "))
	if room := e.term.Columns - len(number+indent); e.term.Columns > 0 && utf8.RuneCountInString(text) > room {
		text = string([]rune(text)[:max(room-1, 1)]) + "…"
	}
	from, to := named(text, a.Text)
	if from == to && strings.HasPrefix(text, "apiVersion:") {
		return "" // The first line of an object says nothing about the object.
	}
	out := number + indent + text + "\n"
	if to > from {
		mark := strings.Repeat("^", utf8.RuneCountInString(text[from:to]))
		pad := strings.Repeat(" ", utf8.RuneCountInString(text[:from]))
		out += strings.Repeat(" ", len(number)-2) + "| " + indent + pad + e.term.paint(color(a), mark) + "\n"
	}
	return out
}

func color(a Annotation) report.Color {
	if a.Warning {
		return report.Yellow
	}
	return report.Red
}

// Severity returns label, such as "error", in the color of the severity if stdout shows
// colors.
func (t *Terminal) Severity(a Annotation, label string) string { return t.paint(color(a), label) }

func (t *Terminal) paint(c report.Color, text string) string {
	if !t.Colour(t.Stdout) {
		return text
	}
	return c.Paint(text)
}

// nameInMessage matches a text in quotes, or the path of a field at the start of a message or
// after "has no field".
// The last part of the path is in one of the groups.
var nameInMessage = proc.Regexp(`"(?:[^"\s]*\.)?([^"\s.]+)"|(?:^|has no field )(?:[\w.\[\]-]*\.)?([\w-]+)(?:\[\d+\])?[:,]`)

// named returns the range in a line of what a message names: the first value or field in
// quotes, or the field at the start of the message. If the line does not contain this name,
// the range is empty.
func named(line, message string) (from, to int) {
	all := nameInMessage().FindAllStringSubmatch(message, -1)
	slices.SortStableFunc(all, func(a, b []string) int { return cmp.Compare(len(a[2]), len(b[2])) })
	for _, m := range all {
		for _, text := range []string{strings.Trim(m[0], `":,`), m[1] + m[2]} {
			word := regexp.MustCompile(`(?:^|[^\w.-])(` + regexp.QuoteMeta(text) + `)(?:[^\w.-]|$)`)
			if at := word.FindStringSubmatchIndex(line); at != nil {
				return at[2], at[3]
			}
		}
	}
	return 0, 0
}

// readLines returns the lines of a regular file, or nil.
func readLines(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxExcerptFile {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}
