package test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite"
)

type mutateFlags struct {
	Mutate      mutants `placeholder:"N" help:"Run mutation tests of the cases. =N tries N mutants."`
	MutateMin   float64 `more:"" limits:"0 100" placeholder:"PERCENT" help:"Fail if the cases kill less than PERCENT of the killed and survived mutants."`
	MutateState string  `writes:"mutants.json" more:"" placeholder:"FILE" help:"Read verdicts about mutants from FILE, and write all verdicts to it, to continue an interrupted run."`
	Seed        uint64  `more:"" aliases:"mutate-seed" default:"1" placeholder:"N" help:"The seed for the random choice of --mutate=N and --fuzz. Default: ${default}."`
}

func (f mutateFlags) mutates() bool { return f.Mutate.On || f.MutateMin > 0 }

// mutationInputs is the number of composite resources that are generated for a Composition.
const mutationInputs = 20

// mutants is a flag with an optional number as its value.
type mutants struct {
	flags.Optional
	n positive
}

// Decode accepts --flag and --flag=N.
func (m *mutants) Decode(ctx *kong.DecodeContext) error {
	if err := m.Optional.Decode(ctx); err != nil || m.Value == "" {
		return err
	}
	return m.n.UnmarshalText([]byte(m.Value))
}

type mutationDocument struct {
	Killed    int              `json:"killed"`
	Survived  int              `json:"survived"`
	Unchanged int              `json:"unchanged"`
	TimedOut  int              `json:"timedOut"`
	Mutants   []suite.Mutation `json:"mutants"`
}

func (d *mutationDocument) add(m suite.Mutation) {
	switch m.Status {
	case suite.Killed:
		d.Killed++
	case suite.Survived:
		d.Survived++
	case suite.Unchanged:
		d.Unchanged++
	case suite.TimedOut:
		d.TimedOut++
	}
	d.Mutants = append(d.Mutants, m)
}

func (d *mutationDocument) percent() (float64, bool) {
	all := d.Killed + d.Survived
	return 100 * float64(d.Killed) / float64(max(all, 1)), all > 0
}

// mutate tests the suites by mutants. After a signal, it reports the mutants that were tried.
func (c *Cmd) mutate(ctx context.Context, term *terminal.Terminal, version string, items []suite.Item, o suite.Options) error {
	doc := &mutationDocument{Mutants: []suite.Mutation{}}
	known, err := readVerdicts(c.MutateState)
	if err != nil {
		return err
	}
	verdicts := map[string]suite.Verdict{}
	err = suite.Mutate(ctx, items, o, suite.MutationOptions{Most: int(c.Mutate.n), Seed: c.Seed, Inputs: mutationInputs, Version: version, Known: known}, func(m suite.Mutation) error {
		doc.add(m)
		if m.Status != suite.TimedOut { // Another timeout may give another verdict.
			verdicts[m.Key] = m.Verdict
		}
		if c.Format == "json" || m.Status == suite.Killed || m.Status == suite.Unchanged && !term.Verbose {
			return nil
		}
		return writeMutation(term, m)
	})
	err = terminal.Cause(ctx, err)
	if c.MutateState != "" {
		maps.Copy(known, verdicts) // This run may have selected some of the mutants or cases.
		err = errors.Join(err, writeVerdicts(c.MutateState, known))
	}
	if err == nil && len(doc.Mutants) == 0 && len(items) > 0 && c.MutateMin == 0 { // endMutation reports a minimum.
		err = hint.Wrap(errors.New("nothing was tested: no mutant can be made of the Compositions of the cases that run"),
			"a mutant changes the input of a step or drops one of several steps: name cases whose Composition has these, and that are not skipped")
	}
	return errors.Join(err, c.endMutation(term, doc))
}

// readVerdicts returns the verdicts in a file that writeVerdicts wrote. A missing file has no
// verdicts.
func readVerdicts(path string) (map[string]suite.Verdict, error) {
	known := map[string]suite.Verdict{}
	if path == "" {
		return known, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the verdicts in %q: %w", path, fsx.Cause(err))
	}
	decode := json.NewDecoder(bytes.NewReader(text))
	decode.DisallowUnknownFields()
	err = decode.Decode(&known)
	for _, v := range known {
		if v.Status == "" {
			err = errors.New("a verdict has no status")
		}
	}
	if err != nil { // The file would be overwritten.
		err = fmt.Errorf("reading --mutate-state %q: the file has no verdicts about mutants", path)
		return nil, hint.Wrap(err, "name a file that an earlier run wrote, or a new file")
	}
	if known == nil { // The file has null.
		known = map[string]suite.Verdict{}
	}
	return known, nil
}

func writeVerdicts(path string, all map[string]suite.Verdict) error {
	text, err := json.Marshal(all)
	if err == nil {
		err = fsx.WriteFile(path, 0o644, append(text, '\n'))
	}
	return terminal.Wrap(err, "writing the verdicts")
}

func writeMutation(term *terminal.Terminal, m suite.Mutation) error {
	text := fmt.Sprintf("%s: %s:%d: %s: %s", m.Status, m.Path, m.Line, m.Operator, m.Field)
	if m.Is != nil {
		text += fmt.Sprintf(": %s instead of %s", report.Text(m.Is, 60), report.Text(m.Was, 60))
	}
	switch {
	case m.Input != nil:
		text += "; no case shows the difference, but this composite resource:"
	case m.Status == suite.TimedOut:
		text += "; in " + m.Case
	case m.Case != "":
		text += "; " + m.Case + " passes with:"
	}
	if err := term.Printf("%s\n", terminal.Printable(text)); err != nil {
		return err
	}
	if m.Input != nil {
		if err := manifest.Write(term.Stdout, m.Input); err != nil {
			return fmt.Errorf("printing a mutant: %w", err)
		}
	}
	return terminal.Wrap(report.WriteDiff(term.Stdout, m.Diffs, term.Style(term.Stdout)), "printing a mutant")
}

func (c *Cmd) endMutation(term *terminal.Terminal, doc *mutationDocument) error {
	var err error
	if c.Format == "json" {
		err = manifest.WriteJSON(term.Stdout, "  ", doc)
	} else {
		timedOut := ""
		if doc.TimedOut > 0 {
			timedOut = fmt.Sprintf(", %d timed out", doc.TimedOut)
		}
		_, err = fmt.Fprintf(term.Stdout, "%s: %d killed, %d survived, %d unchanged%s\n",
			terminal.Count(len(doc.Mutants), "mutant"), doc.Killed, doc.Survived, doc.Unchanged, timedOut)
	}
	if err != nil {
		return fmt.Errorf("printing the mutants: %w", err)
	}
	return checkMin("the share of killed mutants is", doc.percent, c.MutateMin)
}
