package dev

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite"
)

// A Section is a part of a round's text. Each element is a line.
type Section []string

// A Text configures how the text of rounds is formatted.
type Text struct {
	Color bool
	// Whole shows all fields in the output of the first render. Last shows the
	// output of the last successful render when a render fails.
	Whole, Last bool
	// Spell returns the syntax of the command-line options that hints name.
	Spell hint.Speller
	// Columns is the maximum width of lines. 0 means no limit.
	Columns int
}

// Sections returns the text of a round: its head, the errors of the refresh and the render, notes
// and warnings, changes in the output, and test results. Control characters from
// other programs and files are escaped.
func (t Text) Sections(r Round) ([]Section, error) {
	changes, err := t.changes(r)
	tests, testErr := t.tests(r.Tested)
	var sections []Section
	for _, s := range []Section{t.head(r), t.refresh(r), t.failure(r), t.messages(r), changes, tests} {
		if len(s) > 0 {
			sections = append(sections, Wrap(s, t.Columns))
		}
	}
	return sections, errors.Join(err, testErr)
}

// head returns the reason for the round, and the durations of its starts, its
// render and its tests.
func (t Text) head(r Round) Section {
	s := Section{t.tint(report.Bold, fmt.Sprintf("round %d: %s", r.N, about(r)))}
	for _, start := range r.Starts {
		line := report.Printable(start.Function) + ": "
		if start.Compiled > 0 {
			line += "built in " + seconds(start.Compiled) + ", "
		}
		s = append(s, line+"started in "+seconds(start.Took))
	}
	var facts []string
	if r.Rendered != nil && r.Rendered.Err == nil {
		facts = append(facts, fmt.Sprintf("rendered %s in %s", report.Count(len(r.Rendered.Documents), "document"), seconds(r.Rendered.Took)))
	}
	if r.Tested != nil && r.Tested.Err == nil && (r.Tested.Missing == nil || len(r.Tested.Outcomes) > 0) {
		facts = append(facts, fmt.Sprintf("tested %s in %s", report.Count(len(r.Tested.Outcomes), "case"), seconds(r.Tested.Took)))
		if failed := r.Tested.tally().Failed; failed > 0 {
			facts = append(facts, t.tint(report.Red, fmt.Sprintf("%d failed", failed)))
		}
	}
	if len(facts) > 0 {
		s = append(s, strings.Join(facts, ", "))
	}
	return s
}

// mostNamed is the maximum number of changed files that the head lists by name.
const mostNamed = 3

func about(r Round) string {
	paths := withoutFolders(r.Plan.Changed)
	switch n := len(paths); {
	case r.Plan.Accept:
		return "accepting goldens"
	case n == 0 && r.N == 1:
		return "start"
	case n == 0:
		return "run again"
	case n > mostNamed:
		return report.Printable(strings.Join(paths[:mostNamed-1], ", ")) + fmt.Sprintf(" and %d more changed", n-mostNamed+1)
	default:
		return report.Printable(strings.Join(paths, ", ")) + " changed"
	}
}

// withoutFolders removes each folder that contains another of the paths, also in folders
// below it. A folder changes when a file in it does, so only the file is listed.
func withoutFolders(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(dir string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return p != dir && fsx.IsWithin(dir, p) })
	})
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func (t Text) refresh(r Round) Section {
	if r.RefreshErr == nil {
		return nil
	}
	s := Section{t.tint(report.Red, "project not updated: the last good functions and models are used")}
	return append(append(s, indented(oci.Redact(r.RefreshErr.Error()))...), t.hint(r.RefreshErr)...)
}

// failure returns the error of the render. It says whether the output of an older
// render is shown.
func (t Text) failure(r Round) Section {
	if r.Rendered == nil || r.Rendered.Err == nil {
		return nil
	}
	err := r.Rendered.Err
	what, text := "not rendered", oci.Redact(err.Error())
	if ce, ok := errors.AsType[*gobuild.CompileError](err); ok {
		what, text = "not built", placed(ce.Dir, ce.Output)
	}
	switch {
	case r.Good == nil:
	case t.Last:
		what += fmt.Sprintf(": showing the last good render, of round %d", r.GoodN)
	default:
		what += fmt.Sprintf(": the last good render was in round %d", r.GoodN)
	}
	s := Section{t.tint(report.Red, what)}
	return append(append(s, indented(text)...), t.hint(err)...)
}

func (t Text) hint(err error) Section {
	h := hint.Of(err)
	if h == "" {
		return nil
	}
	return indented("hint: " + h.Spell(t.Spell))
}

// inGo matches the file and line at the start of a Go compiler message.
var inGo = proc.Regexp(`(?m)^(?:\./)?([^\s:/\\][^\s:]*\.(?:go|s|mod):\d+)`)

// placed returns the messages of the Go compiler with dir added to their file names.
func placed(dir, output string) string {
	return inGo().ReplaceAllStringFunc(output, func(place string) string { return filepath.Join(dir, place) })
}

func indented(text string) Section {
	var s Section
	for l := range strings.SplitSeq(text, "\n") {
		s = append(s, "  "+printable(l))
	}
	return s
}

// printable escapes control characters, and replaces tabs with spaces.
func printable(l string) string { return report.Printable(strings.ReplaceAll(l, "\t", "    ")) }

// messages returns the notes and warnings of a round, and the results that
// functions returned.
func (t Text) messages(r Round) Section {
	var s Section
	for _, n := range r.Notes {
		s = append(s, printable("note: "+n))
	}
	for _, w := range r.Warnings {
		s = append(s, t.tint(report.Yellow, "warning: ")+printable(w))
	}
	if r.Rendered == nil {
		return s
	}
	for _, trace := range r.Rendered.Traces {
		for _, step := range trace.Steps {
			for _, result := range step.Results {
				if r.Rendered.Err != nil && result.Severity == "Fatal" {
					continue // the error of the render contains a fatal result
				}
				s = append(s, t.result(step.Name, result)...)
			}
		}
	}
	return s
}

func (t Text) result(step string, r report.Result) Section {
	color := map[string]report.Color{"Fatal": report.Red, "Warning": report.Yellow}[r.Severity]
	var s Section
	for l := range strings.SplitSeq(strings.ReplaceAll("step "+step+": "+r.String(), "\n", "\n    "), "\n") {
		s = append(s, t.tint(color, printable(l)))
	}
	return s
}

func (t Text) changes(r Round) (Section, error) {
	shown := r.Rendered
	if shown == nil {
		return nil, nil
	}
	if shown.Err != nil {
		if shown = r.Good; shown == nil || !t.Last {
			return nil, nil
		}
	}
	title := "changed since the last render:"
	diff := shown.Diff
	switch {
	case shown.First:
		title = report.Count(len(shown.Documents), "document") + ":"
		if !t.Whole {
			diff = slices.Clone(diff)
			for i := range diff {
				diff[i].Changes = nil
			}
		}
	case len(diff) == 0:
		return Section{"nothing changed since the last render"}, nil
	}
	var b strings.Builder
	err := report.WriteChanges(&b, diff, report.Style{Color: t.Color, Columns: t.Columns})
	return append(Section{title}, lines(b.String())...), err
}

func (t Text) tests(tested *Testing) (Section, error) {
	if tested == nil {
		return nil, nil
	}
	var missing Section
	if tested.Missing != nil {
		text := "not tested: function %s does not start"
		if len(tested.Missing) > 1 {
			text = "not tested: functions %s do not start"
		}
		missing = Section{t.tint(report.Red, fmt.Sprintf(text, report.Printable(strings.Join(tested.Missing, ", "))))}
	}
	switch {
	case tested.Err != nil:
		s := append(missing, t.tint(report.Red, "not tested"))
		return slices.Concat(s, indented(tested.Err.Error()), t.hint(tested.Err)), nil
	case missing != nil && len(tested.Outcomes) == 0:
		return missing, nil
	}
	var b strings.Builder
	text := suite.TextReport{W: &b, Color: t.Color, Columns: t.Columns}
	for _, o := range tested.Outcomes {
		if err := text.Add(o.Spelled(t.Spell)); err != nil {
			return nil, err
		}
	}
	err := text.End(tested.Took)
	return append(missing, lines(b.String())...), err
}

func lines(text string) Section {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func (t Text) tint(color report.Color, text string) string {
	if !t.Color {
		return text
	}
	return color.Paint(text)
}

// fewest is the number of lines to which Fit may shorten a section.
const fewest = 4

// Fit returns the lines of all sections, with empty lines between sections. If they need
// more than rows rows on a screen with the given columns, Fit shortens the longest
// sections. A shortened section ends with the text all, which says how to show all lines.
func Fit(sections []Section, rows, columns int, all string) []string {
	most := 0
	for _, s := range sections {
		most = max(most, len(s))
	}
	for most > fewest && height(joined(sections, most, all), columns) > rows {
		most--
	}
	return joined(sections, most, all)
}

func joined(sections []Section, most int, all string) []string {
	var lines []string
	for i, s := range sections {
		if i > 0 {
			lines = append(lines, "")
		}
		if more := len(s) - most + 1; more > 1 {
			s = append(s[:most-1:most-1], fmt.Sprintf("… %d more lines: %s", more, all))
		}
		lines = append(lines, s...)
	}
	return lines
}

// Wrap breaks the lines of a section at spaces if they are longer than columns.
// It indents continuation lines. If columns is 0, Wrap changes nothing.
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

// wrap breaks a line into several lines, which have the color of the line.
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

// escape matches an escape sequence that sets a color.
var escape = proc.Regexp("\x1b\\[[0-9;]*m")

// height returns the number of rows that lines need on a screen with the given columns.
func height(lines []string, columns int) int {
	rows := 0
	for _, l := range lines {
		n := utf8.RuneCountInString(escape().ReplaceAllString(l, ""))
		rows += max(1, (n+columns-1)/columns)
	}
	return rows
}
