package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite"
)

type fuzzFlags struct {
	Fuzz     string `once:"" placeholder:"XRD" help:"Look for failures with generated resources of XRD."`
	FuzzRuns int    `more:"" positive:"" default:"100" placeholder:"N" help:"Generate N composite resources for each Composition of a suite. Default: ${default}."`
	Save     string `writes:"fuzz.test.yaml" more:"" placeholder:"FILE" help:"Write the failures of --fuzz as cases of a new suite."`
}

func (f fuzzFlags) check(c *Cmd) error {
	switch {
	case f.Fuzz == "":
		return nil
	case c.mutates() || c.ofCases() || c.Update || c.FailFast || c.Count > 1:
		return errors.New("--fuzz cannot be combined with --mutate, " + ofCases + ", --update, --failfast or --count")
	}
	if _, err := os.Stat(f.Save); f.Save != "" && err == nil {
		return hint.Wrap(fmt.Errorf("--save: %s exists", f.Save), "name a new file")
	}
	return nil
}

// fuzz tests Compositions with generated composite resources. After a signal, it reports what was
// found.
func (c *Cmd) fuzz(ctx context.Context, term *terminal.Terminal, items []suite.Item, o suite.Options) error {
	out, err := suite.Fuzz(ctx, items, o, suite.FuzzOptions{XRD: c.Fuzz, Runs: c.FuzzRuns, Seed: c.Seed})
	err = terminal.Cause(ctx, err)
	if err != nil && out.Inputs == 0 {
		return err
	}
	for _, f := range out.Findings {
		f.Text = term.Redact(f.Text)
	}
	err = errors.Join(err, c.writeFuzz(term, out))
	if c.Save != "" && len(out.Findings) > 0 {
		text, saveErr := suite.SaveFindings(c.Save, c.Fuzz, out.Findings)
		if saveErr == nil {
			saveErr = writeNew(c.Save, text)
		}
		err = errors.Join(err, saveErr)
	}
	if n := len(out.Findings); n > 0 {
		err = errors.Join(err, fmt.Errorf("%s with generated composite resources", terminal.Count(n, "failure")))
	}
	return err
}

func (c *Cmd) writeFuzz(term *terminal.Terminal, out suite.Fuzzed) error {
	if len(out.Unchecked) > 0 {
		term.Warn("not validated, because these kinds have no schema: " + strings.Join(out.Unchecked, ", ") + "; add it to schemas in the suite")
	}
	if c.Format == "json" {
		return manifest.WriteJSON(term.Stdout, "  ", out)
	}
	var b bytes.Buffer
	for _, f := range out.Findings {
		fmt.Fprintf(&b, "FAIL %s %s: %s with %d of the inputs of %s, first number %d\n    %s\n", f.Composition, f.Name, f.Kind, f.Count, f.Case, f.Input, f.Text)
		var xr bytes.Buffer
		if err := manifest.Write(&xr, f.XR); err != nil {
			return err
		}
		for line := range strings.Lines(xr.String()) {
			b.WriteString("    " + line)
		}
	}
	fmt.Fprintf(&b, "%s generated with seed %d: %s\n", terminal.Count(out.Inputs, "composite resource"), c.Seed, terminal.Count(len(out.Findings), "failure"))
	return term.Printf("%s", terminal.Printable(b.String()))
}
