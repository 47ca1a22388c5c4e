package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/clusterdiff"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite"
)

// ErrDiffers is the error of upgrade-check if the versions compose different resources.
var ErrDiffers = errors.New("the versions compose different resources")

// UpgradeCmd is xfn upgrade-check.
type UpgradeCmd struct {
	Paths []string `arg:"" optional:"" name:"path" help:"Files with suites, or folders to search recursively. Default: the current folder."`

	From              string            `group:"Versions:" placeholder:"REV" help:"Compare with the Compositions, XRDs, Functions and xfn.lock of a branch, tag or commit. Default: HEAD, unless --with or --crossplane-version is set."`
	With              map[string]string `group:"Versions:" mapsep:"none" placeholder:"NAME=REF" help:"Compare with another version of function NAME: a tag, a reference, an .xpkg file or a folder. With --locked or --require-verified, write a folder as ./DIR. Repeatable."`
	CrossplaneVersion string            `group:"Versions:" placeholder:"VERSION" help:"Compare with another version of Crossplane, such as v1.20."`

	Cases       string        `group:"Cases:" name:"run" placeholder:"REGEXP" help:"Use only cases whose suite/case matches."`
	Observed    []string      `group:"Cases:" short:"o" sep:"none" placeholder:"PATH" help:"Render the composite resources in a dump of a cluster, as xfn diff does, instead of suites. Repeatable."`
	Composition string        `once:"" group:"Cases:" placeholder:"PATH" help:"Compositions and XRDs for --observed. Default: the Compositions and XRDs in the dump."`
	Functions   string        `once:"" group:"Cases:" placeholder:"PATH" help:"Functions for --observed."`
	Parallel    positive      `more:"" group:"Cases:" placeholder:"N" help:"Run N cases concurrently. Default: the number of processors."`
	Timeout     time.Duration `group:"Cases:" positive:"" default:"10m" placeholder:"TIME" help:"Timeout of all cases together. Default: ${default}."`
	CaseTimeout time.Duration `more:"" group:"Cases:" positive:"" default:"1m" placeholder:"TIME" help:"Timeout of cases that do not set a timeout. Default: ${default}."`

	Format         string `enum:"text,json,markdown" default:"text" help:"Print ${enum}. Default: ${default}."`
	flags.Runtimes `group:"Functions:"`
}

// Help is shown by --help.
func (UpgradeCmd) Help() string {
	return `Renders the inputs of the cases of suites with two sets of versions, and prints how the composed resources differ. Equal changes are grouped. The expectations of the cases are ignored.

Without flags, it compares HEAD with the working directory: what changed in xfn.lock, Compositions, XRDs and Functions. Suites and their inputs are read from the working directory.

Examples:

    xfn upgrade-check --from main
    xfn upgrade-check --with function-auto-ready=v0.7.0
    xfn upgrade-check tests/ --crossplane-version v1.20 --format markdown
    xfn upgrade-check -o dump.yaml --with function-hello=hello.xpkg

Exit codes: 0 nothing differs, 1 error, 2 something differs.
`
}

// Validate checks the flags.
func (c *UpgradeCmd) Validate() error {
	switch {
	case len(c.Observed) > 0 && (len(c.Paths) > 0 || c.Cases != ""):
		return errors.New("--observed cannot be combined with suites")
	case len(c.Observed) == 0 && c.Composition+c.Functions != "":
		return errors.New("--composition and --functions require --observed, because suites name these files")
	}
	return nil
}

// Run compares, and prints what differs.
func (c *UpgradeCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) error {
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	before, after, out, err := c.sides(ctx, term, program)
	if err != nil {
		return err
	}
	if len(c.Observed) > 0 {
		err = c.compareDump(ctx, before, after, out)
	} else {
		err = c.compareSuites(ctx, before, after, out)
	}
	if err != nil {
		return terminal.Cause(ctx, err)
	}
	if len(out.Failures) == 0 && out.Renders > 0 { // A failure may be the reason why a function is not called.
		if err := c.checkWith(out); err != nil {
			return err
		}
	}
	if err := out.print(term, c.Format); err != nil {
		return err
	}
	switch {
	case out.Differ > 0:
		return ErrDiffers
	case out.Failed > 0:
		return fmt.Errorf("%s could not be compared", terminal.Count(out.Failed, "render"))
	case out.Renders == 0:
		err := errors.New("nothing was compared: there is no composite resource to render, or each case is skipped")
		if len(c.Observed) > 0 && c.Composition == "" {
			err = hint.Wrap(err, "name the Compositions that the dump lacks with --composition")
		}
		return err
	default:
		return nil
	}
}

func (c *UpgradeCmd) compareSuites(ctx context.Context, before, after session.Config, out *upgrade) error {
	var sel suite.Selection
	if c.Cases != "" {
		var err error
		if sel.Run, err = regexp.Compile(c.Cases); err != nil {
			return fmt.Errorf("reading --run: %w", err)
		}
	}
	if len(c.Paths) == 0 {
		c.Paths = []string{"."}
	}
	suites, err := suite.Load(ctx, after.Reader, c.Paths)
	if err != nil {
		return err
	}
	items, err := suite.Plan(suites, sel)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return errors.New("there are no cases to compare" + described(sel))
	}
	o := suite.Options{Config: before, Parallel: int(c.Parallel), Timeout: c.CaseTimeout, Now: time.Now, Recording: flags.Replay}
	with := o
	with.Config, with.Crossplane = after, c.CrossplaneVersion
	return suite.Compare(ctx, items, o, with, out.add)
}

func (c *UpgradeCmd) compareDump(ctx context.Context, before, after session.Config, out *upgrade) error {
	in := session.Inputs{Live: true, Observed: c.Observed}
	if c.Composition != "" {
		if err := after.Reader.CheckHasYAML(c.Composition); err != nil {
			return fmt.Errorf("loading Compositions: %w", err)
		}
		in.Compositions = []string{c.Composition}
	}
	before.Reader.Streams = &proc.Memo[string, []byte]{}
	after.Reader.Streams = before.Reader.Streams
	before.Functions, after.Functions = cmp.Or(c.Functions, before.Functions), cmp.Or(c.Functions, after.Functions)
	then := in
	if c.CrossplaneVersion != "" {
		var err error
		if then.Profile, err = flags.Profile(c.CrossplaneVersion); err != nil {
			return err
		}
	}
	return clusterdiff.Between(ctx, clusterdiff.Side{Config: before, Inputs: in}, clusterdiff.Side{Config: after, Inputs: then}, out.add)
}
