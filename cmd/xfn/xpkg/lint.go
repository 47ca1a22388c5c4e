package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/xpkg"
)

// LintCmd checks a package.
type LintCmd struct {
	Package string `arg:"" default:"." placeholder:"DIR|FILE|REF" help:"Package root, .xpkg file, or REGISTRY/REPOSITORY:TAG. Default: the current directory."`

	rootFlags
	LintFormat
	registryFlags
	flags.FunctionCache
}

// LintFormat is the flags for the output of xfn xpkg lint and xfn project lint.
type LintFormat struct {
	Format string `enum:"text,json,yaml,sarif,gitlab" default:"text" help:"Print ${enum}: sarif for code scanning, gitlab for GitLab's code quality."`
	terminal.Summary
}

// Help is shown by --help.
func (LintCmd) Help() string {
	var b strings.Builder
	b.WriteString(`Checks a package root as build does. For a finished package it reads every layer, verifies all digests, and checks what the control plane would read from it. In GitHub Actions each problem is also an annotation of the code.

Examples:

    xfn xpkg lint package
    xfn xpkg lint --lint=warn --format=json hello.xpkg
    xfn xpkg lint registry.example.org/acme/hello:v0.1.0

Rules (E: an error with --lint=warn, too; W: a warning; EW: either):

`)
	severities := strings.NewReplacer("error or warning", "EW", "error", "E", "warning", "W")
	for _, r := range xpkg.LintRules() {
		fmt.Fprintf(&b, "    %-20s %-2s  %s\n", r.Name, severities.Replace(r.Severity), strings.ReplaceAll(r.Finds, "`", ""))
	}
	return b.String()
}

// Run lints, and prints the problems or a summary.
func (c *LintCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	opts := c.options()
	opts.Rules = rules(c.Cache(), c.Package, opts.ExamplesRoot)
	report, err := c.report(ctx, term, p, opts)
	if err != nil {
		return err
	}
	if xpkg.NeedsRuntime(report.Meta.Kind) && report.Layers > 0 && !report.Runtime {
		report.Problems = append(report.Problems, xpkg.Problem{Rule: "runtime", Warning: true, Text: "the package of the " + report.Meta.Kind + " has no runtime image", Hint: "build it with " + withRuntime(report.Meta.Name, ".")})
	}
	return c.PrintLint(term, terminal.Findings{Command: "xfn xpkg lint", Program: p}, c.Package, report, opts.Lint)
}

// PrintLint prints the problems in the report of the package or project called name, or a
// summary. It returns an error if a problem is an error at the level. found names the command.
func (f LintFormat) PrintLint(term *terminal.Terminal, found terminal.Findings, name string, report xpkg.Report, level xpkg.Level) error {
	l := linted(name, report, level, term.Spell)
	for _, p := range l.Problems {
		found.All = append(found.All, p.annotation())
	}
	printed, err := found.Print(term, f.Format)
	if err == nil && !printed {
		err = terminal.Format{Format: f.Format}.Print(term, l, term.Redact(l.text(term)))
	}
	for _, note := range found.All {
		if err == nil && f.Format == "text" {
			err = term.Annotate(note)
		}
	}
	if err == nil {
		err = f.Write(term, found, l.Package+": "+l.verdict())
	}
	if err == nil && l.Errors > 0 {
		err = fmt.Errorf("linting %q: %s", name, l.verdict())
	}
	return err
}

// report lints a package root, a file or a package in a registry.
func (c *LintCmd) report(ctx context.Context, term *terminal.Terminal, p terminal.Program, opts xpkg.ReadOptions) (report xpkg.Report, err error) {
	if info, err := os.Stat(c.Package); err == nil && info.IsDir() {
		opts.Progress = progress.Func(term.Progress).Plain()
		c.checkIgnored(term, c.Package)
		return c.root(ctx, opts)
	}
	s, err := c.open(ctx, p, c.Package)
	if err != nil && isFile(c.Package) && manifest.IsYAML(c.Package) {
		err = fmt.Errorf("linting %q: expected a package root, a package file or a reference", c.Package)
		return report, hint.Wrap(err, fmt.Sprintf("lint the directory of a %s, as in xfn xpkg lint %s; validate single objects with xfn validate", metaFile, hint.Word(rootNear(c.Package))))
	}
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	report, err = xpkg.Lint(ctx, s.artifact, progress.Func(term.Progress).Plain(), opts.Rules...)
	return report, s.explain("linting", err)
}

// root lints a package root. Problems are in the report. An error means that the folder is not a
// package root, or cannot be read.
func (c *LintCmd) root(ctx context.Context, opts xpkg.ReadOptions) (report xpkg.Report, err error) {
	opts.Lint = xpkg.Warn
	pkg, err := xpkg.Read(ctx, afero.NewOsFs(), c.Package, opts)
	if err == nil {
		report.Meta, report.Objects, report.Problems = pkg.Meta, len(pkg.Objects), pkg.Warnings
		return report, nil
	}
	if !errors.As(err, &report.Problems) {
		return report, err
	}
	if err := checkRoot(c.Package, "check it with xfn project lint", "run xfn xpkg lint"); err != nil {
		return report, err
	}
	if _, err = xpkg.All.Apply(append(report.Problems, pkg.Warnings...)); errors.As(err, &report.Problems) {
		err = nil
	}
	return report, err
}

// A lintResult is the output of xfn xpkg lint, at the level of its flag.
type lintResult struct {
	Package   string        `json:"package"`
	Kind      string        `json:"kind,omitempty"`
	Name      string        `json:"name,omitempty"`
	Objects   int           `json:"objects"`
	Platforms []string      `json:"platforms,omitempty"`
	Layers    int           `json:"layers,omitempty"`
	Errors    int           `json:"errors"`
	Warnings  int           `json:"warnings"`
	Problems  []lintProblem `json:"problems"`
}

type lintProblem struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Text     string `json:"text"`
	Hint     string `json:"hint,omitempty"`

	place string
}

func linted(name string, r xpkg.Report, level xpkg.Level, spell hint.Speller) lintResult {
	l := lintResult{
		Package: name, Kind: r.Meta.Kind, Name: r.Meta.Name,
		Objects: r.Objects, Platforms: r.Platforms, Layers: r.Layers, Problems: []lintProblem{},
	}
	for _, p := range r.Problems {
		severity := "error"
		switch {
		case p.IsError(level):
			l.Errors++
		case level == xpkg.Off:
			continue
		default:
			severity = "warning"
			l.Warnings++
		}
		place := ""
		if p.Path != "" {
			place = manifest.Position(p.Path, p.Line) + ": "
		}
		l.Problems = append(l.Problems, lintProblem{p.Rule, severity, p.Path, p.Line, p.Text, hint.Hint(p.Hint).Spell(spell), place})
	}
	return l
}

// text returns each problem with its line of a package root, and each hint once. Without errors it
// adds a summary.
func (l lintResult) text(term *terminal.Terminal) string {
	var b strings.Builder
	hints, excerpts := map[string]bool{"": true}, term.Excerpts()
	for _, p := range l.Problems {
		label := term.Severity(p.annotation(), p.Severity+":")
		fmt.Fprintf(&b, "%s %s\n", label, terminal.Printable(fmt.Sprintf("%s%s (%s)", p.place, oneLine(p.Text), p.Rule)))
		if l.Layers == 0 {
			b.WriteString(excerpts.Of(p.annotation()))
		}
		if !hints[p.Hint] {
			hints[p.Hint] = true
			fmt.Fprintf(&b, "hint: %s\n", terminal.Printable(oneLine(p.Hint)))
		}
	}
	if l.Errors == 0 {
		fmt.Fprintln(&b, terminal.Printable(oneLine(fmt.Sprintf("%s: %s: %s", l.Package, l.summary(), l.verdict()))))
	}
	return b.String()
}

func (p lintProblem) annotation() terminal.Annotation {
	return terminal.Annotation{Warning: p.Severity == "warning", Path: p.Path, Line: p.Line, Rule: p.Rule, Title: p.Rule, Text: p.Text}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// summary describes the package: its kind, name, objects, platforms and layers.
func (l lintResult) summary() string {
	parts := []string{strings.TrimSpace(l.Kind + " " + l.Name), terminal.Count(l.Objects, "object")}
	if l.Layers > 0 {
		var platforms []string
		for _, p := range l.Platforms {
			platforms = append(platforms, cmp.Or(p, "no platform"))
		}
		parts = append(parts, "for "+strings.Join(platforms, " and "), terminal.Count(l.Layers, "layer")+" checked")
	}
	return strings.Join(parts, ", ")
}

// verdict returns the numbers of errors and warnings, or "nothing is wrong".
func (l lintResult) verdict() string {
	var counts []string
	if l.Errors > 0 {
		counts = append(counts, terminal.Count(l.Errors, "error"))
	}
	if l.Warnings > 0 {
		counts = append(counts, terminal.Count(l.Warnings, "warning"))
	}
	return cmp.Or(strings.Join(counts, " and "), "nothing is wrong")
}
