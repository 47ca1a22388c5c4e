package suite

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
)

// A TextReport writes outcomes as text: the failures of each case, a summary line for
// each suite, and one for the whole run.
type TextReport struct {
	// W is the destination.
	W io.Writer
	// Color adds colors. Verbose prints cases that pass or are skipped, and Quiet
	// omits suites that pass.
	Color, Verbose, Quiet bool
	// Columns is the maximum width of messages that have more than one word. 0 means no limit.
	Columns int

	// inherited has the name of the first case with the same errors in the defaults.
	inherited map[string]string

	suite    string
	one, all Tally
}

// A Tally counts outcomes. Cases that did not run count as skipped, too.
type Tally struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	notRun  int
	took    time.Duration
}

// Add adds an outcome.
func (t *Tally) Add(o Outcome) {
	t.took += o.Took.Duration
	switch {
	case o.Status == Failed:
		t.Failed++
	case o.Status == Passed:
		t.Passed++
	default:
		t.Skipped++
	}
	if o.NotRun {
		t.notRun++
	}
}

// Cases returns "1 case" or "3 cases".
func (t Tally) Cases() string { return report.Count(t.Passed+t.Failed+t.Skipped, "case") }

// Add writes an outcome. Outcomes of a suite must be consecutive.
func (t *TextReport) Add(o Outcome) error {
	if o.Suite != t.suite {
		if err := t.endSuite(); err != nil {
			return err
		}
		t.suite = o.Suite
	}
	t.one.Add(o)
	t.all.Add(o)
	var b bytes.Buffer
	switch {
	case o.Status == Failed:
		if err := t.failed(&b, o); err != nil {
			return err
		}
	case o.Status == Skipped && t.Verbose:
		t.line(&b, report.Yellow, fmt.Sprintf("--- SKIP: %s (%s)", o.Name(), secondsText(o.Took.Duration)))
		t.message(&b, o.Reason)
	case t.Verbose:
		t.line(&b, "", fmt.Sprintf("--- PASS: %s (%s)", o.Name(), secondsText(o.Took.Duration)))
	}
	for _, path := range o.Updated {
		t.line(&b, "", "updated "+path)
	}
	_, err := t.W.Write(b.Bytes())
	return err
}

func (t *TextReport) failed(b *bytes.Buffer, o Outcome) error {
	t.line(b, report.Red, fmt.Sprintf("--- FAIL: %s (%s)", o.Name(), secondsText(o.Took.Duration)))
	if first := t.firstWith(o); first != "" {
		t.message(b, manifest.Position(o.Failures[0].Path, o.Failures[0].Line)+": the same as for "+first)
		return nil
	}
	hints := map[hint.Hint]bool{"": true}
	for _, f := range o.Failures {
		t.message(b, manifest.Position(f.Path, f.Line)+": "+f.Text)
		if len(f.Diffs) > 0 {
			var diff bytes.Buffer
			if err := report.WriteDiff(&diff, f.Diffs, report.Style{Color: t.Color, Columns: t.Columns}); err != nil {
				return err
			}
			for l := range strings.Lines(diff.String()) {
				if l != "\n" {
					b.WriteString("        ")
				}
				b.WriteString(l)
			}
		}
		if !hints[f.Hint] {
			hints[f.Hint] = true
			t.message(b, "hint: "+string(f.Hint))
		}
	}
	return nil
}

// firstWith returns the name of an earlier case that failed by the same errors in the defaults, or "".
func (t *TextReport) firstWith(o Outcome) string {
	key := ""
	for _, f := range o.Failures {
		if !f.Inherited {
			return ""
		}
		key += manifest.Position(f.Path, f.Line) + f.Text + "\x00"
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
func (t *TextReport) message(b *bytes.Buffer, text string) {
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

// line writes a line. It escapes control characters, and "::" at the start,
// which GitHub Actions would interpret as a command.
func (t *TextReport) line(b *bytes.Buffer, color report.Color, text string) {
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

func (t *TextReport) endSuite() error {
	one := t.one
	t.one = Tally{}
	if one == (Tally{}) || one.verdict() == "ok" && t.Quiet {
		return nil
	}
	return t.summary(one, fmt.Sprintf("%-4s %s", one.verdict(), t.suite))
}

func (t *TextReport) summary(of Tally, text string) error {
	color := report.Green
	if of.verdict() != "ok" {
		color = report.Red
	}
	var b bytes.Buffer
	t.line(&b, color, text+" "+of.counts())
	_, err := t.W.Write(b.Bytes())
	return err
}

func (t Tally) verdict() string {
	if t.Failed+t.notRun > 0 {
		return "FAIL"
	}
	return "ok"
}

// counts returns "(3 cases, 1 failed, 0.01s)".
func (t Tally) counts() string {
	text := "(" + t.Cases()
	for i, n := range []int{t.Failed, t.Skipped - t.notRun, t.notRun} {
		if n > 0 {
			text += fmt.Sprintf(", %d %s", n, []string{"failed", "skipped", "not run"}[i])
		}
	}
	return text + ", " + secondsText(t.took) + ")"
}

// End writes the summary lines of the last suite and of the run, whose duration is took.
func (t *TextReport) End(took time.Duration) error {
	if err := t.endSuite(); err != nil {
		return err
	}
	t.all.took = took
	return t.summary(t.all, t.all.verdict())
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// FailureText returns the failures of a case as TextReport writes them.
func FailureText(o Outcome) (string, error) {
	var b bytes.Buffer
	t := TextReport{}
	if err := t.failed(&b, o); err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(b.String(), "\n") // Drop the line with the name of the case.
	return strings.TrimPrefix(strings.ReplaceAll("\n"+rest, "\n    ", "\n"), "\n"), nil
}

// A JSONReport is the JSON report of a run.
type JSONReport struct {
	Tally
	Cases []Outcome `json:"cases"`
	// Coverage is nil if it was not collected.
	Coverage *coverage.Report `json:"coverage,omitempty"`
}

// Add adds an outcome.
func (d *JSONReport) Add(o Outcome) {
	d.Tally.Add(o)
	d.Cases = append(d.Cases, o)
}

// JUnitReport collects outcomes as JUnit suites, one for each test suite.
type JUnitReport struct {
	suites []report.JUnitSuite
	index  map[string]int
}

// Add adds an outcome.
func (j *JUnitReport) Add(o Outcome) error {
	i, ok := j.index[o.Suite]
	if !ok {
		if j.index == nil {
			j.index = map[string]int{}
		}
		i = len(j.suites)
		j.index[o.Suite] = i
		j.suites = append(j.suites, report.JUnitSuite{Name: o.Suite})
	}
	s := &j.suites[i]
	c := report.JUnitCase{Name: cmp.Or(o.Case, o.Path), Class: o.Suite, Seconds: o.Took.Seconds(), Skipped: o.Reason}
	if o.Status == Failed {
		text, err := FailureText(o)
		if err != nil {
			return err
		}
		c.Failure = &report.JUnitFailure{Message: o.Failures[0].Text, Text: text}
	}
	s.Seconds += c.Seconds
	s.Cases = append(s.Cases, c)
	return nil
}

// Suites returns the suites of the outcomes that were added.
func (j *JUnitReport) Suites() []report.JUnitSuite { return j.suites }
