package test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite"
)

// mutateFlags select the test of the suites by mutants.
type mutateFlags struct {
	Mutate     mutants `placeholder:"N" help:"Run mutation tests of the cases. =N tries N mutants."`
	MutateMin  float64 `more:"" placeholder:"PERCENT" help:"Fail if the cases kill less than PERCENT of the mutants that change the output of a case."`
	MutateSeed uint64  `more:"" default:"1" placeholder:"N" help:"The seed for the random choice of --mutate=N. Default: ${default}."`
}

// mutants is a flag with an optional number as its value.
type mutants struct {
	on bool
	n  int
}

// Decode accepts --flag and --flag=N.
func (m *mutants) Decode(ctx *kong.DecodeContext) (err error) {
	m.on = true
	if next := ctx.Scan.Peek(); next.Type == kong.FlagValueToken {
		text := ctx.Scan.Pop().String()
		if m.n, err = strconv.Atoi(text); err != nil || m.n < 1 {
			return fmt.Errorf("expected a positive number, got %q", text)
		}
	}
	return nil
}

// IsBool returns true, so that kong accepts the flag without a value.
func (*mutants) IsBool() bool { return true }

// mutationDocument is the JSON report about mutants.
type mutationDocument struct {
	Killed    int            `json:"killed"`
	Survived  int            `json:"survived"`
	Unchanged int            `json:"unchanged"`
	Mutants   []mutationItem `json:"mutants"`
}

type mutationItem struct {
	Path     string             `json:"path"`
	Line     int                `json:"line"`
	Field    string             `json:"field"`
	Operator string             `json:"operator"`
	Was      any                `json:"was"`
	Is       any                `json:"is,omitempty"`
	Status   suite.MutantStatus `json:"status"`
	Case     string             `json:"case,omitempty"`
	Diffs    []report.DocDiff   `json:"diffs,omitempty"`
}

func (d *mutationDocument) add(m suite.Mutation) {
	switch m.Status {
	case suite.Killed:
		d.Killed++
	case suite.Survived:
		d.Survived++
	case suite.Unchanged:
		d.Unchanged++
	}
	d.Mutants = append(d.Mutants, mutationItem{m.Path, m.Line, m.Field, m.Operator.Name, m.Was, m.Is, m.Status, m.Case, m.Diffs})
}

// percent returns the share of mutants that a case killed, of those that change its output. It is
// false if there are none.
func (d *mutationDocument) percent() (float64, bool) {
	all := d.Killed + d.Survived
	return 100 * float64(d.Killed) / float64(max(all, 1)), all > 0
}

// mutate tests the suites by mutants. After a signal, it reports the mutants that were tried.
func (c *Cmd) mutate(ctx context.Context, term *terminal.Terminal, items []suite.Item, o suite.Options) error {
	doc := &mutationDocument{Mutants: []mutationItem{}}
	err := suite.Mutate(ctx, items, o, suite.MutationOptions{Most: c.Mutate.n, Seed: c.MutateSeed}, func(m suite.Mutation) error {
		doc.add(m)
		if c.Format == "json" || m.Status == suite.Killed || m.Status == suite.Unchanged && !term.Verbose {
			return nil
		}
		return writeMutation(term, m)
	})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = terminal.Cause(ctx, err)
	}
	return errors.Join(err, c.endMutation(term, doc))
}

func writeMutation(term *terminal.Terminal, m suite.Mutation) error {
	text := fmt.Sprintf("%s: %s:%d: %s: %s", m.Status, m.Path, m.Line, m.Operator.Name, m.Field)
	if m.Is != nil {
		text += fmt.Sprintf(": %s instead of %s", report.Text(m.Is, 60), report.Text(m.Was, 60))
	}
	if m.Case != "" {
		text += "; " + m.Case + " passes with:"
	}
	if _, err := fmt.Fprintln(term.Stdout, terminal.Printable(text)); err != nil {
		return fmt.Errorf("printing a mutant: %w", err)
	}
	if err := report.WriteDiff(term.Stdout, m.Diffs, term.Style(term.Stdout)); err != nil {
		return fmt.Errorf("printing a mutant: %w", err)
	}
	return nil
}

func (c *Cmd) endMutation(term *terminal.Terminal, doc *mutationDocument) error {
	var err error
	if c.Format == "json" {
		err = terminal.WriteJSON(term.Stdout, doc)
	} else {
		_, err = fmt.Fprintf(term.Stdout, "%s: %d killed, %d survived, %d unchanged in all cases\n",
			terminal.Count(len(doc.Mutants), "mutant"), doc.Killed, doc.Survived, doc.Unchanged)
	}
	if err != nil {
		return fmt.Errorf("printing the mutants: %w", err)
	}
	return checkMin("the share of killed mutants is", doc.percent, c.MutateMin)
}
