package format

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite"
)

// A Text writes outcomes as text: the failures of each case, a summary line for
// each suite, and one for the whole run.
type Text struct {
	// W is the destination.
	W io.Writer
	// Color adds colors. Verbose prints cases that pass or are skipped, and Quiet
	// omits suites that pass.
	Color, Verbose, Quiet bool
	// Columns is the maximum width of messages that have more than one word. 0 is no limit.
	Columns int
	// Spell returns the syntax of the options in hints.
	Spell hint.Speller

	// inherited has the name of the first case with the same errors in the defaults.
	inherited map[string]string

	suite string
	one   tally
	all   tally
}

// A tally counts outcomes.
type tally struct {
	cases, failed, skipped int
	took                   time.Duration
}

func (t *tally) add(o suite.Outcome) {
	t.cases++
	t.took += o.Took
	switch o.Status {
	case suite.Failed:
		t.failed++
	case suite.Skipped:
		t.skipped++
	}
}

// Add writes an outcome. Outcomes of a suite must be consecutive.
func (t *Text) Add(o suite.Outcome) error {
	if o.Suite != t.suite {
		if err := t.endSuite(); err != nil {
			return err
		}
		t.suite = o.Suite
	}
	t.one.add(o)
	t.all.add(o)
	var b bytes.Buffer
	switch {
	case o.Status == suite.Failed:
		if err := t.failed(&b, o); err != nil {
			return err
		}
	case o.Status == suite.Skipped && t.Verbose:
		t.line(&b, report.Yellow, fmt.Sprintf("--- SKIP: %s (%s)", o.Name(), seconds(o.Took)))
		t.message(&b, o.Reason)
	case t.Verbose:
		t.line(&b, "", fmt.Sprintf("--- PASS: %s (%s)", o.Name(), seconds(o.Took)))
	}
	for _, path := range o.Updated {
		t.line(&b, "", "updated "+path)
	}
	_, err := t.W.Write(b.Bytes())
	return err
}

func (t *Text) failed(b *bytes.Buffer, o suite.Outcome) error {
	t.line(b, report.Red, fmt.Sprintf("--- FAIL: %s (%s)", o.Name(), seconds(o.Took)))
	if first := t.firstWith(o); first != "" {
		t.message(b, position(o.Failures[0])+": the same as for "+first)
		return nil
	}
	hints := map[hint.Hint]bool{"": true}
	for _, f := range o.Failures {
		t.message(b, position(f)+": "+f.Text)
		if len(f.Diffs) > 0 {
			var diff bytes.Buffer
			if err := report.WriteDiff(&diff, f.Diffs, report.Style{Color: t.Color, Columns: t.Columns}); err != nil {
				return err
			}
			indent(b, diff.String())
		}
		if !hints[f.Hint] {
			hints[f.Hint] = true
			t.message(b, "hint: "+f.Hint.Spell(t.Spell))
		}
	}
	return nil
}

// firstWith returns the name of an earlier case that failed by the same errors in the defaults, or "".
func (t *Text) firstWith(o suite.Outcome) string {
	key := ""
	for _, f := range o.Failures {
		if !f.Inherited {
			return ""
		}
		key += position(f) + f.Text + "\x00"
	}
	if t.inherited == nil {
		t.inherited = map[string]string{}
	}
	first := t.inherited[key]
	if first == "" {
		t.inherited[key] = o.Name()
	}
	return first
}

// message writes a text below the line of its case, wrapped and indented.
func (t *Text) message(b *bytes.Buffer, text string) {
	left := "    "
	for paragraph := range strings.SplitSeq(text, "\n") {
		width := t.Columns - 8
		if t.Columns == 0 || strings.HasPrefix(paragraph, " ") {
			width = len(report.Printable(paragraph)) // An indented line is already formatted, so do not wrap it.
		}
		for _, l := range report.Wrap(report.Printable(paragraph), width) {
			t.line(b, "", left+l)
			left = "        "
		}
	}
}

func position(f suite.Failure) string {
	if f.Line == 0 {
		return f.Path
	}
	return fmt.Sprintf("%s:%d", f.Path, f.Line)
}

func indent(b *bytes.Buffer, text string) {
	for l := range strings.Lines(text) {
		if l != "\n" {
			b.WriteString("        ")
		}
		b.WriteString(l)
	}
}

// line writes a line. It escapes control characters, and "::" at the start,
// which GitHub Actions would interpret as a command.
func (t *Text) line(b *bytes.Buffer, color report.Color, text string) {
	text = report.Printable(text)
	if trimmed := strings.TrimLeft(text, " "); strings.HasPrefix(trimmed, "::") {
		text = text[:len(text)-len(trimmed)] + ": :" + trimmed[2:]
	}
	if t.Color {
		text = color.Paint(text)
	}
	b.WriteString(text)
	b.WriteByte('\n')
}

func (t *Text) endSuite() error {
	one := t.one
	t.one = tally{}
	if one.cases == 0 || one.failed == 0 && t.Quiet {
		return nil
	}
	return t.summary(one, fmt.Sprintf("%-4s %s", one.verdict(), t.suite))
}

// summary writes a line with the counts of outcomes.
func (t *Text) summary(of tally, text string) error {
	color := report.Green
	if of.failed > 0 {
		color = report.Red
	}
	var b bytes.Buffer
	t.line(&b, color, text+" "+of.counts())
	_, err := t.W.Write(b.Bytes())
	return err
}

func (t tally) verdict() string {
	if t.failed > 0 {
		return "FAIL"
	}
	return "ok"
}

// counts returns "(3 cases, 1 failed, 0.01s)".
func (t tally) counts() string {
	parts := []string{report.Count(t.cases, "case")}
	if t.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", t.failed))
	}
	if t.skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", t.skipped))
	}
	return "(" + strings.Join(append(parts, seconds(t.took)), ", ") + ")"
}

// End writes the summary lines of the last suite and of the run, whose duration is took.
func (t *Text) End(took time.Duration) error {
	if err := t.endSuite(); err != nil {
		return err
	}
	t.all.took = took
	return t.summary(t.all, t.all.verdict())
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// Failures returns the failures of a case as Text writes them.
func Failures(o suite.Outcome, spell hint.Speller) (string, error) {
	var b bytes.Buffer
	t := Text{Spell: spell}
	if err := t.failed(&b, o); err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(b.String(), "\n") // Drop the line with the name of the case.
	return strings.TrimPrefix(strings.ReplaceAll("\n"+rest, "\n    ", "\n"), "\n"), nil
}
