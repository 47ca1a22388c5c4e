package test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite"
	engine "github.com/xfn-dev/xfn/render"
)

// DevCmd watches.
type DevCmd struct {
	XR          string `arg:"" optional:"" name:"xr" help:"File or folder of the composite resource. Without arguments: the example of the function in this folder."`
	Composition string `arg:"" optional:"" help:"File of the Composition."`
	Functions   string `arg:"" optional:"" help:"File or folder of Functions. May be left out if each step is a builtin or named by --package."`

	Suite     []string `sep:"none" placeholder:"PATH" help:"File with suites, or folder to look for them in. Repeatable. Without arguments: this folder."`
	Poll      bool     `help:"Look for changes twice a second, and do not wait for the system to tell of them."`
	TraceHTML string   `name:"trace-html" placeholder:"FILE" help:"Write after each render, and at key t, a page of what each step did. Default: at key t, into a temporary file."`

	sourceFlags
	flags.Runtimes
	Timeout     time.Duration `default:"1m" placeholder:"TIME" help:"How long a render may take, functions' start included. Default: ${default}."`
	CaseTimeout time.Duration `default:"1m" placeholder:"TIME" help:"How long a case may take that does not say so itself, its functions' start included. Default: ${default}."`
}

// sourceFlags are what is rendered, besides the arguments, as for render.
type sourceFlags struct {
	XRD                 string            `name:"xrd" placeholder:"FILE" help:"The composite resource's definition, for its defaults and scope."`
	ObservedResources   []string          `short:"o" sep:"none" placeholder:"PATH" help:"File or folder of the composed resources that exist already. Repeatable."`
	RequiredResources   []string          `short:"e" sep:"none" placeholder:"PATH" help:"File or folder of resources that functions may require. Repeatable."`
	ExtraResources      []string          `sep:"none" placeholder:"PATH" help:"The same, for functions that ask for extra resources. Repeatable."`
	RequiredSchemas     []string          `short:"s" sep:"none" placeholder:"PATH" help:"JSON file or folder of OpenAPI schemas that functions may require. Repeatable."`
	FunctionCredentials []string          `sep:"none" placeholder:"PATH" help:"File or folder of Secrets for the functions' credentials. Repeatable."`
	ContextFiles        map[string]string `mapsep:"none" placeholder:"KEY=FILE" help:"Put a file's YAML or JSON into the functions' context. Repeatable."`
	ContextValues       map[string]string `mapsep:"none" placeholder:"KEY=VALUE" help:"Put YAML or JSON into the functions' context. Repeatable."`
	CrossplaneVersion   string            `placeholder:"VERSION" help:"The Crossplane to imitate, by its version from v1.14 on."`
}

// Help is shown by --help.
func (DevCmd) Help() string {
	return `Renders, and runs suites, then waits for changes: of the Go source of functions (--package NAME=DIR), of the Composition, the composite resource, suites, and all else that was read. What changed is built and started anew, all else runs on. It shows what is different in what was rendered, and the cases that fail.

Keys: r runs again, a accepts what cases render as their golden files, t writes the trace as a page, d shows all of the difference, ? helps, q quits. Where the output is no terminal there are no keys, and each round adds its lines.

Examples:

    xfn dev
    xfn dev xr.yaml composition.yaml functions.yaml --suite tests/
    xfn dev xr.yaml composition.yaml --package function-hello=.
`
}

// Run runs the loop until somebody ends it.
func (c *DevCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) error {
	found := c.XR == ""
	config, err := c.config(term, program)
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	screen := newScreen(term, c.TraceHTML)
	if found {
		if err := screen.begin(c.watches()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	commands := make(chan dev.Command)
	restore, err := screen.keys(ctx, cancel, commands)
	if err != nil {
		return err
	}
	defer restore()
	term.Listen = screen.hear
	return dev.Run(ctx, config, commands, screen.show)
}

// watches says in words what was found to watch.
func (c *DevCmd) watches() string {
	var all []string
	for _, path := range []string{c.XR, c.Composition, c.Functions, c.XRD} {
		if path != "" {
			all = append(all, path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Package)) {
		all = append(all, name+" from "+c.Package[name])
	}
	if len(c.Suite) == 0 {
		all = append(all, "suites below .")
	}
	return terminal.Printable("watching " + strings.Join(append(all, c.Suite...), ", "))
}

// config says what to watch. Its errors are those of arguments and flags.
func (c *DevCmd) config(term *terminal.Terminal, program terminal.Program) (dev.Config, error) {
	config := dev.Config{Suites: c.Suite, Write: suite.WriteGolden, Timeout: c.Timeout, CaseTimeout: c.CaseTimeout, Poll: c.Poll, Now: time.Now}
	if c.Timeout <= 0 || c.CaseTimeout <= 0 {
		return config, errors.New("reading --timeout and --case-timeout: that is no time to render in")
	}
	if err := c.discover(&config); err != nil {
		return config, err
	}
	var err error
	if config.Session, err = c.Config(term, program); err != nil {
		return config, err
	}
	config.Session.Reader.Stdin = nil
	config.Session.Functions = c.Functions
	config.Inputs, err = c.inputs()
	return config, err
}

// discover fills in what stands in the folder of a function.
func (c *DevCmd) discover(config *dev.Config) error {
	switch {
	case c.XR != "" && c.Composition == "":
		return errors.New("expected the file of a Composition after that of the composite resource, or no argument at all")
	case c.XR != "":
		return nil
	}
	p, err := dev.Discover(afero.NewOsFs(), ".")
	if err != nil {
		return err
	}
	c.XR, c.Composition, c.Functions = p.XR, p.Composition, p.Functions
	if c.XRD == "" {
		c.XRD = p.XRD
	}
	c.Package = maps.Clone(c.Package)
	if c.Package == nil {
		c.Package = map[string]string{}
	}
	if _, ok := c.Package[p.Function]; !ok {
		c.Package[p.Function] = p.Source
	}
	if len(c.Suite) == 0 {
		config.Suites, config.SuitesMayBeNone = []string{"."}, true
	}
	return nil
}

func (c *DevCmd) inputs() (in session.Inputs, err error) {
	in = session.Inputs{
		XRs: []string{c.XR}, Composition: c.Composition, XRD: c.XRD,
		Observed: c.ObservedResources, Required: c.RequiredResources, Extra: c.ExtraResources,
		Schemas: c.RequiredSchemas, Credentials: c.FunctionCredentials,
		ContextFiles: c.ContextFiles, ContextValues: c.ContextValues,
	}
	paths := slices.Concat(in.XRs, []string{in.Composition, c.Functions, in.XRD}, in.Observed, in.Required, in.Extra, in.Schemas, in.Credentials, c.Suite,
		slices.Collect(maps.Values(in.ContextFiles)))
	if slices.Contains(paths, manifest.Stdin) {
		return in, errors.New("standard input can be read only once, and nobody can watch it: name a file in place of -")
	}
	if c.CrossplaneVersion == "" {
		return in, nil
	}
	if in.Profile, err = engine.ForCrossplane(c.CrossplaneVersion); err == nil && in.Profile == engine.Alpha {
		err = fmt.Errorf("reading --crossplane-version: functions of %s are containers, which are not watched", c.CrossplaneVersion)
	}
	return in, err
}
