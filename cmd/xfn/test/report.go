package test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/internal/suite"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
)

type reportFlags struct {
	Format string `more:"" enum:"text,json,sarif,gitlab" default:"text" help:"Print ${enum}: sarif for code scanning, gitlab for GitLab's code quality."`
	terminal.Summary
	JUnit     string `writes:"report.xml" name:"junit" placeholder:"FILE" help:"Write a JUnit XML report."`
	TraceHTML string `writes:"traces/" name:"trace-html" placeholder:"DIR" help:"Write an HTML page about each case that fails."`

	AttestReport map[string]string `writes:"function=report.json" more:"" mapsep:"none" placeholder:"NAME=FILE" help:"If all cases pass, write an in-toto Statement of type test-result about the package of function NAME, for xfn xpkg push --attest. Repeatable."`

	Coverage    flags.Optional `writes:"coverage/" placeholder:"DIR" help:"Print the coverage of Compositions. =DIR writes reports."`
	CoverageMin float64        `more:"" limits:"0 100" placeholder:"PERCENT" help:"Fail if the cases run less than PERCENT of the parts of the Compositions, or if no part was found."`
}

// ofCases are the flags of reports that only a run of the cases has.
const ofCases = "--coverage, --junit, --trace-html, --attest-report, --summary, --format sarif, --format gitlab"

func (f reportFlags) ofCases() bool {
	return f.Coverage.On || f.CoverageMin > 0 || f.JUnit != "" || f.TraceHTML != "" || len(f.AttestReport) > 0 || f.Summary.Summary != "" ||
		f.Format == terminal.SARIF || f.Format == terminal.GitLab
}

type reporter struct {
	reportFlags
	term  *terminal.Terminal
	text  *suite.TextReport
	doc   *suite.JSONReport
	junit suite.JUnitReport
	// coverage is nil if it is not collected.
	coverage *coverage.Collector
	// attested are the attestations to write if all cases pass.
	attested attestations
	found    terminal.Findings
	tally    suite.Tally
	// partial are the kinds that were validated by their structure only.
	partial []string
	// pages counts the pages whose file names begin with a name.
	pages map[string]int
}

func (f reportFlags) report(term *terminal.Terminal, p terminal.Program) (*reporter, error) {
	r := &reporter{reportFlags: f, term: term, found: terminal.Findings{Command: "xfn test", Program: p}, pages: map[string]int{}}
	if f.Coverage.On || f.CoverageMin > 0 {
		r.coverage = &coverage.Collector{}
	}
	if err := makeDir("coverage", f.Coverage.Value); err != nil {
		return nil, err
	}
	if f.JUnit != "" {
		_, err := os.Stat(filepath.Dir(f.JUnit))
		if info, fileErr := os.Stat(f.JUnit); fileErr == nil && info.IsDir() {
			err = syscall.EISDIR
		}
		if err != nil {
			return nil, fmt.Errorf("writing the report %q: %w", f.JUnit, fsx.Cause(err))
		}
	}
	if err := makeDir("trace-html", f.TraceHTML); err != nil {
		return nil, err
	}
	switch f.Format {
	case terminal.SARIF, terminal.GitLab:
	case "json":
		r.doc = &suite.JSONReport{Cases: []suite.Outcome{}}
	default:
		r.text = &suite.TextReport{W: term.Stdout, Color: term.Colour(term.Stdout), Verbose: term.Verbose, Quiet: term.Quiet, Columns: term.Columns}
	}
	return r, nil
}

// makeDir makes the directory that a flag names, unless its path is empty.
func makeDir(flag, path string) error {
	if path == "" {
		return nil
	}
	if err := flags.CheckDir(flag, path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("creating the directory %q of --%s: %w", path, flag, fsx.Cause(err))
	}
	return nil
}

// replaced are the options that xfn test does not have as a flag: the fields of a case that replace
// them, or the command that has them.
var replaced = map[hint.Hint]string{
	hint.Compositions: "xfn render --compositions", hint.Profile: "profile:", hint.CrossplaneVersion: "crossplaneVersion:", hint.FunctionCredentials: "credentials:",
	hint.RequiredResources: "required:", hint.WatchedResource: "watched:",
}

// spell returns the syntax of an option that a hint names.
func spell(term *terminal.Terminal) hint.Speller {
	return func(option string) string {
		return cmp.Or(replaced[hint.Hint("{"+option+"}")], term.Spell(option))
	}
}

func (r *reporter) add(o suite.Outcome) error {
	o = o.Spelled(spell(r.term))
	o.Reason = r.term.Redact(o.Reason)
	for i, f := range o.Failures {
		o.Failures[i].Text, o.Failures[i].Hint = r.term.Redact(f.Text), hint.Hint(r.term.Redact(string(f.Hint)))
	}
	r.tally.Add(o)
	r.partial = append(r.partial, o.Partial...)
	if r.JUnit != "" {
		if err := r.junit.Add(o); err != nil {
			return err
		}
	}
	if err := r.attested.add(o); err != nil {
		return err
	}
	notes := annotations(o)
	r.found.All = append(r.found.All, notes...)
	if r.doc != nil {
		r.doc.Add(o)
	} else if r.text != nil {
		if err := r.print(o, notes); err != nil {
			return err
		}
	}
	if o.Trace == nil {
		return nil
	}
	return r.page(o)
}

func annotations(o suite.Outcome) (all []terminal.Annotation) {
	for _, f := range o.Failures {
		all = append(all, terminal.Annotation{Path: f.Path, Line: f.Line, Rule: "test", Title: o.Name(), Text: f.Text})
	}
	return all
}

func (r *reporter) print(o suite.Outcome, notes []terminal.Annotation) error {
	if err := r.text.Add(o); err != nil {
		return fmt.Errorf("printing an outcome: %w", err)
	}
	for _, n := range notes {
		if err := r.term.Annotate(n); err != nil {
			return err
		}
	}
	return nil
}

var unfit = proc.Regexp(`[^a-zA-Z0-9._-]+`)

func (r *reporter) page(o suite.Outcome) error {
	name := strings.Trim(unfit().ReplaceAllString(o.Name(), "_"), "._")
	const most = 150 // File systems limit the bytes of a name.
	name = name[:min(len(name), most)]
	for first := name; r.pages[name] > 0; {
		r.pages[first]++
		name = fmt.Sprintf("%s-%d", first, r.pages[first])
	}
	r.pages[name]++
	path := filepath.Join(r.TraceHTML, name+".html")
	err := terminal.WriteFile(path, func(w io.Writer) error {
		trace := *o.Trace
		var err error
		if trace.Error, err = suite.FailureText(o); err != nil {
			return err
		}
		return report.WritePage(w, "xfn test", []report.Trace{trace})
	})
	if err != nil {
		return err
	}
	r.term.Note("the trace of " + o.Name() + " is in " + path)
	return nil
}

// end writes the end of the reports, and returns an error if a case failed. If a report cannot be written,
// the others are.
func (r *reporter) end(took time.Duration) (err error) {
	var unwritten error
	if r.JUnit != "" {
		unwritten = terminal.WriteFile(r.JUnit, func(w io.Writer) error { return report.WriteJUnit(w, r.junit.Suites()) })
	}
	if slices.Sort(r.partial); len(r.partial) > 0 {
		r.term.Note(validate.PartialNote(slices.Compact(r.partial)...))
	}
	var covered *coverage.Report
	if r.coverage != nil {
		report := r.coverage.Report()
		covered = &report
	}
	switch {
	case r.doc != nil:
		r.doc.Coverage = covered
		err = manifest.WriteJSON(r.term.Stdout, "  ", r.doc)
	case r.text != nil:
		err = r.text.End(took)
	default:
		_, err = r.found.Print(r.term, r.Format)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("printing the outcome: %w", err), unwritten)
	}
	t := r.tally
	sentence := fmt.Sprintf("%d of %s passed, %d failed, %d skipped", t.Passed, t.Cases(), t.Failed, t.Skipped)
	unwritten = errors.Join(unwritten, r.Summary.Write(r.term, r.found, sentence))
	if covered != nil {
		err = r.cover(*covered)
	}
	if t.Failed > 0 {
		err = errors.Join(fmt.Errorf("%d of %s failed", t.Failed, t.Cases()), err)
	}
	return errors.Join(err, unwritten)
}

// checkMin returns an error if a percentage is below a minimum, or if nothing was measured. The
// text of the error begins with what. The percentage is rounded down.
func checkMin(what string, percent func() (float64, bool), least float64) error {
	got, measured := percent()
	switch {
	case least > 0 && !measured:
		return fmt.Errorf("%s unknown, because no case runs a Composition that can be measured; the minimum is %v%%", what, least)
	case measured && got < least:
		return fmt.Errorf("%s %.1f%%, below the minimum of %v%%", what, math.Floor(10*got)/10, least)
	}
	return nil
}

// cover prints the coverage as text, writes its files, and returns an error if it is below
// the minimum.
func (r *reporter) cover(c coverage.Report) error {
	if r.text != nil {
		if err := coverage.WriteText(r.term.Stdout, c, r.term.Verbose); err != nil {
			return err
		}
	}
	if dir := r.Coverage.Value; dir != "" {
		for _, file := range []struct {
			name  string
			write func(io.Writer, coverage.Report) error
		}{{"index.html", coverage.WritePage}, {"cobertura.xml", coverage.WriteCobertura}, {"coverage.out", coverage.WriteProfile}} {
			path := filepath.Join(dir, file.name)
			if err := terminal.WriteFile(path, func(w io.Writer) error { return file.write(w, c) }); err != nil {
				return err
			}
		}
		r.term.Note("the coverage is in " + filepath.Join(dir, "index.html"))
	}
	return checkMin("the coverage is", c.Percent, r.CoverageMin)
}
