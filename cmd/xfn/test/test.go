package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/suite"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// Cmd is xfn test.
type Cmd struct {
	Paths []string `arg:"" optional:"" name:"path" help:"Files with suites, or folders to search recursively. Default: the current folder."`

	selectFlags    `group:"Cases:"`
	runFlags       `group:"Cases:"`
	flags.Runtimes `group:"Functions:"`
	reportFlags    `group:"Output:"`
	mutateFlags    `group:"Output:"`
	fuzzFlags      `group:"Output:"`

	Schema bool `help:"Print the JSON Schema of suites, for editors."`
	List   bool `help:"Print the names of the cases, and run nothing."`

	Convert bool `help:"Write the tests of other tools as suites of xfn."`
}

type selectFlags struct {
	Run     string `placeholder:"REGEXP" meant:"case,cases,filter,only,test" help:"Run only cases whose suite/case matches."`
	Count   int    `more:"" positive:"" default:"1" placeholder:"N" help:"Run each case N times."`
	Shard   string `more:"" placeholder:"I/N" help:"Run only part I of N, from 1. A case is always in the same part."`
	Shards  int    `more:"" env:"XFN_SHARDS" placeholder:"N" help:"Run only part JOB_COMPLETION_INDEX of N, as in an Indexed Job of Kubernetes."`
	Timings string `once:"" more:"" placeholder:"FILE" help:"Divide the cases into parts of similar durations, by the JSON or JUnit reports of an earlier run. All parts need the same FILE."`
	Index   int    `hidden:"" name:"job-completion-index" env:"JOB_COMPLETION_INDEX" default:"-1"`
}

type runFlags struct {
	Parallel    positive      `placeholder:"N" help:"Run N cases concurrently. Default: the number of processors."`
	FailFast    bool          `name:"failfast" help:"Stop after the first case that fails."`
	Timeout     time.Duration `positive:"" default:"10m" placeholder:"TIME" help:"Timeout of all cases together. Default: ${default}."`
	CaseTimeout time.Duration `more:"" positive:"" default:"1m" placeholder:"TIME" help:"Timeout of cases that do not set a timeout, including the start of functions, but not builds from source. Default: ${default}."`
	flags.Features
	Update bool `help:"Write golden files that differ from the output."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `A suite is a YAML file with the expected output of Compositions for composite resources:

    apiVersion: xfn.dev/v1alpha1
    kind: TestSuite
    defaults:
      xr: xr.yaml
      composition: composition.yaml
      functions: functions.yaml
    cases:
    - name: region
      xr:
        patch: {spec: {bucketRegion: eu-west-1}}
      expect:
        resources:
          storage-bucket:
            spec.forProvider.region: eu-west-1

Functions start once for all cases, and run as in xfn render.

Examples:

    xfn test
    xfn test tests/ --run 'bucket/' --verbose
    xfn test --junit report.xml --shard 2/4
    xfn test --coverage=coverage --coverage-min 80
    xfn test --fuzz apis/definition.yaml

Exit codes: 0 all passed, 1 some failed, 2 usage error.
`
}

// InsteadOf returns what to do instead of a flag that is another command, or a field of suites.
func (*Cmd) InsteadOf(flag string) string {
	if flag == "watch" {
		return "run xfn dev, which renders and tests again whenever a file changes"
	}
	if field := spec.FieldFor(flag); field != "" {
		return fmt.Sprintf("set %s in the suite, in defaults or in a case", field)
	}
	return ""
}

// Run runs the cases and reports their outcomes.
func (c *Cmd) Run(ctx context.Context, kctx *kong.Context, term *terminal.Terminal, program terminal.Program) error {
	if c.Schema {
		return manifest.WriteJSON(term.Stdout, "  ", spec.Schema())
	}
	sel, err := c.selection()
	if err = cmp.Or(err, c.checkNeeds(kctx), c.check()); err != nil {
		return &terminal.UsageError{Err: err}
	}
	p, err := flags.FindProject(ctx, term, c.Paths...)
	if err != nil {
		return err
	}
	o, err := c.options(term, program, p)
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	if err := c.UseFunctions(ctx, term, program, p, &o.Config); err != nil {
		return err
	}
	everything := len(c.Paths) == 0
	if everything {
		c.Paths = []string{"."}
	}
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	attested, err := c.attestations(ctx, c.Package, program)
	if err != nil {
		return err
	}
	suites, err := suite.Load(ctx, o.Config.Reader, c.Paths)
	if errors.Is(err, suite.ErrNone) && everything && p != nil && p.IsNew() {
		term.Note("the project has no suite and no APIs yet: create the first with xfn xrd generate and xfn composition generate")
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range suites {
		for _, w := range s.Warnings {
			term.Warn(w.Error())
		}
	}
	if c.Convert {
		return convert(term, suites)
	}
	items, err := c.plan(term, suites, sel)
	if err != nil {
		return err
	}
	if c.List {
		var names []string
		for _, i := range items {
			names = append(names, terminal.Printable(i.Name()))
		}
		return term.Printf("%s", terminal.Lines(names...))
	}
	if len(items) == 0 {
		term.Warn("there are no cases to run" + described(sel))
	}
	if c.Fuzz != "" {
		return c.fuzz(ctx, term, items, o)
	}
	if c.mutates() {
		return c.mutate(ctx, term, program.Version, items, o)
	}
	return c.run(ctx, term, program, items, o, attested)
}

func described(sel suite.Selection) string {
	text := ""
	if sel.Run != nil {
		text += fmt.Sprintf(" whose names match %s", sel.Run)
	}
	if sel.Shard.Count > 1 {
		text += fmt.Sprintf(" in shard %d of %d", sel.Shard.Index, sel.Shard.Count)
	}
	return text
}

func (c *Cmd) run(ctx context.Context, term *terminal.Terminal, p terminal.Program, items []suite.Item, o suite.Options, attested attestations) error {
	out, err := c.report(term, p)
	if err != nil {
		return err
	}
	out.attested = attested
	if len(attested.all) > 0 {
		o.Config.Cache = "" // A cached response may come from another package.
		attested.observe(&o, items)
	}
	if out.coverage != nil {
		o.Coverage = out.coverage
		o.Config.Cache = "" // A cached response does not show what the function ran.
	}
	began := time.Now()
	err = suite.Run(ctx, items, o, out.add)
	err = terminal.Cause(ctx, err)
	if endErr := out.end(time.Since(began)); err == nil {
		err = endErr
	}
	if err == nil {
		err = attested.write(ctx)
	}
	return err
}

// A positive is the value of a flag that is a positive number if it is set.
type positive int

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *positive) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("expected a positive number, got %q", text)
	}
	*p = positive(n)
	return nil
}

func (c *Cmd) check() error {
	if c.mutates() && (c.ofCases() || c.Update || c.FailFast || c.Count > 1) {
		return errors.New("--mutate cannot be combined with " + ofCases + ", --update, --failfast or --count")
	}
	if c.List && (c.mutates() || c.Fuzz != "" || c.Update || c.ofCases() || c.Format != "text") {
		return errors.New("--list runs no cases: it cannot be combined with --mutate, --fuzz, --update, --format json, " + ofCases)
	}
	if err := c.fuzzFlags.check(c); err != nil {
		return err
	}
	if len(c.AttestReport) > 0 && c.Update {
		return errors.New("--attest-report cannot be combined with --update")
	}
	return nil
}

// checkNeeds returns an error for a flag that has no effect without another flag.
func (c *Cmd) checkNeeds(kctx *kong.Context) error {
	mutate, fuzz := c.mutates(), c.Fuzz != ""
	for _, element := range kctx.Path {
		f := element.Flag
		switch {
		case f == nil:
		case f.Name == "seed" && !mutate && !fuzz:
			return errors.New("--seed needs --mutate or --fuzz")
		case f.Name == "mutate-state" && !mutate:
			return errors.New("--mutate-state needs --mutate")
		case (f.Name == "fuzz-runs" || f.Name == "save") && !fuzz:
			return hint.Wrap(fmt.Errorf("--%s needs --fuzz", f.Name), "name the XRD of the composite resources with --fuzz XRD")
		}
	}
	for _, p := range c.Paths {
		_, notNumber := strconv.Atoi(p)
		_, missing := os.Stat(p)
		if c.Mutate.On && c.Mutate.n == 0 && notNumber == nil && missing != nil {
			return hint.Wrap(fmt.Errorf("unexpected argument %s", p), "write --mutate="+p)
		}
	}
	return nil
}

func (f selectFlags) selection() (sel suite.Selection, err error) {
	sel.Count = f.Count
	if f.Run != "" {
		if sel.Run, err = regexp.Compile(f.Run); err != nil {
			return sel, fmt.Errorf("reading --run: %w", err)
		}
	}
	sel.Shard, err = f.shard()
	if err == nil && f.Timings != "" && sel.Shard.Count == 0 {
		err = errors.New("--timings requires --shard or --shards")
	}
	return sel, err
}

func (f selectFlags) shard() (suite.Shard, error) {
	switch {
	case f.Shard != "":
		s, err := suite.ParseShard(f.Shard)
		return s, terminal.Wrap(err, "reading --shard")
	case f.Shards == 0:
		return suite.Shard{}, nil
	case f.Index < 0:
		return suite.Shard{}, hint.Wrap(errors.New("--shards or XFN_SHARDS is set, but JOB_COMPLETION_INDEX is not set"), "name the shard with --shard I/N")
	}
	s := suite.Shard{Index: f.Index + 1, Count: f.Shards}
	return s, terminal.Wrap(s.Check(), "reading --shards and JOB_COMPLETION_INDEX")
}

// options returns the options of the run. Its errors are usage errors.
func (c *Cmd) options(term *terminal.Terminal, program terminal.Program, p *project.Project) (suite.Options, error) {
	config, err := c.Config(term, program, p)
	o := suite.Options{
		Config: config, Parallel: int(c.Parallel), Timeout: c.CaseTimeout, FailFast: c.FailFast,
		Trace: c.TraceHTML != "", Now: time.Now, Recording: flags.Replay,
	}
	if c.Update {
		o.Update = suite.WriteGolden
	}
	if err == nil {
		o.Features, err = c.Features.Settings()
	}
	return o, err
}

// plan returns the selected items. With --timings, shards have similar durations.
func (f selectFlags) plan(term *terminal.Terminal, suites []*suite.Suite, sel suite.Selection) ([]suite.Item, error) {
	shard := sel.Shard
	if f.Timings != "" {
		sel.Shard = suite.Shard{}
	}
	items, err := suite.Plan(suites, sel)
	if err != nil {
		return nil, &terminal.UsageError{Err: err}
	}
	if f.Timings == "" {
		return items, nil
	}
	timings, err := readTimings(f.Timings)
	if err != nil {
		return nil, hint.Wrap(err, "xfn test writes such a file with --junit, or prints it with --format json")
	}
	split := timings.Split(items, shard.Count)
	if split.Unknown == len(items) && len(items) > 0 {
		term.Warn(fmt.Sprintf("%q has no times of the %s: all cases count as equally long", f.Timings, terminal.Count(len(items), "case")))
	}
	mean, slowest := split.Mean(), split.Slowest()
	part := split.Items(shard)
	term.Note(fmt.Sprintf("shard %d of %d has %d of %s (%d without a recorded time), about %s; the slowest shard has %s, the mean is %s; split %s",
		shard.Index, shard.Count, len(part), terminal.Count(len(items), "case"), split.Unknown, rounded(split.Loads[shard.Index-1]), rounded(slowest), rounded(mean), split.Digest()))
	if split.LongestTime > max(mean, time.Second) && slowest > mean+mean/10 {
		term.Warn(fmt.Sprintf("%d shards are too many: %s alone takes about %s, and the mean of the shards is %s",
			shard.Count, split.Longest.Name(), rounded(split.LongestTime), rounded(mean)))
	}
	return part, nil
}

func readTimings(path string) (_ *suite.Timings, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the times of cases from %q: %w", path, fsx.Cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err := suite.ReadTimings(f)
	return t, terminal.Wrap(err, "reading the times of cases from %q", path)
}

// rounded returns a duration in seconds, with two decimals.
func rounded(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
