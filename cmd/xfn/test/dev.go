package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/session"
	engine "github.com/xfn-dev/xfn/render"
)

// DevCmd is xfn dev.
type DevCmd struct {
	XR          string `arg:"" optional:"" name:"xr" help:"File or folder of the composite resource. Default: the example of the function in this folder, or the examples of the project."`
	Composition string `arg:"" optional:"" help:"File of the Composition. Default, in a project: the Composition for the type of the composite resource."`
	Functions   string `arg:"" optional:"" help:"File or folder of Functions. Optional if each step is a builtin or named by --package."`

	Suite     []string `sep:"none" placeholder:"PATH" help:"File or folder with suites. Repeatable. Default, without arguments: this folder."`
	Poll      bool     `more:"" help:"Poll for changes twice a second instead of using notifications of the system."`
	TraceHTML string   `writes:"trace.html" name:"trace-html" placeholder:"FILE" help:"Write an HTML page about the steps after each render and at key t. Default: a file at key t that is removed at the end."`

	flags.Sources     `group:"Inputs:"`
	CrossplaneVersion string `placeholder:"VERSION" help:"The version of Crossplane to imitate, v1.14 or later."`
	flags.Runtimes    `group:"Functions:"`
	Timeout           time.Duration `more:"" positive:"" default:"1m" placeholder:"TIME" help:"Timeout of a render, including the start of functions, but not builds from source. Default: ${default}."`
	CaseTimeout       time.Duration `more:"" positive:"" default:"1m" placeholder:"TIME" help:"Timeout of cases that do not set a timeout, including the start of functions, but not builds from source. Default: ${default}."`
}

// Help is shown by --help.
func (DevCmd) Help() string {
	return `Renders, runs suites, and waits for changes: of the Go source of functions (--package NAME=DIR), of the Composition, the composite resource and suites, and of all other files that were read. Functions that changed are built and restarted; the others keep running. It shows the differences of the output, and the cases that fail.

Keys: r runs again, a writes the output of cases to their golden files, t writes the trace as a page, d shows all differences, ? helps, q quits. Without a terminal there are no keys, and the output of each round is appended.

Examples:

    xfn dev
    xfn dev examples/app.yaml
    xfn dev xr.yaml composition.yaml functions.yaml --suite tests/
    xfn dev xr.yaml composition.yaml --package function-hello=.
`
}

// Run runs the loop until the user ends it.
func (c *DevCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	found := c.XR == ""
	var p *project.Project
	if c.Functions == "" {
		if p, err = flags.FindProject(ctx, term, slices.DeleteFunc(append([]string{c.XR}, c.Suite...), func(path string) bool { return path == "" })...); err != nil {
			return err
		}
	}
	config, err := c.config(ctx, term, program, p)
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	if p != nil {
		if config, err = c.inProject(ctx, term, program, p, config); err != nil {
			return err
		}
	}
	screen := newScreen(term, c.TraceHTML)
	defer func() { err = errors.Join(err, screen.close()) }()
	if found {
		if err := screen.begin(c.watched(config.Session.Packages)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	commands := make(chan dev.Command)
	restore, err := screen.keys(ctx, func() { cancel(nil) }, commands)
	if err != nil {
		return err
	}
	defer restore()
	term.Listen = screen.showEvent
	go screen.awaitReader(ctx, cancel)
	if err := dev.Run(ctx, config, commands, screen.show); err != nil || !errors.Is(context.Cause(ctx), syscall.EPIPE) {
		return err
	}
	return context.Cause(ctx)
}

func (c *DevCmd) watched(sources map[string]string) string {
	all := slices.DeleteFunc([]string{c.XR, c.Composition, c.Functions, c.XRD}, func(path string) bool { return path == "" })
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		all = append(all, name+" from "+sources[name])
	}
	if len(c.Suite) == 0 {
		all = append(all, "suites below .")
	}
	return terminal.Printable("watching " + strings.Join(append(all, c.Suite...), ", "))
}

// config returns the config of the loop, in a project that may be nil. Its errors are usage
// errors.
func (c *DevCmd) config(ctx context.Context, term *terminal.Terminal, program terminal.Program, p *project.Project) (dev.Config, error) {
	config := dev.Config{Suites: c.Suite, Timeout: c.Timeout, CaseTimeout: c.CaseTimeout, Poll: c.Poll, Now: time.Now}
	if err := c.discover(ctx, &config, p); err != nil {
		return config, err
	}
	var err error
	if config.Session, err = c.Config(term, program, p); err != nil {
		return config, err
	}
	config.Session.Reader.Stdin = nil
	config.Session.Functions = c.Functions
	config.Inputs, err = c.inputs()
	return config, err
}

// inProject returns the config of the loop in a project. It adds the project's APIs and
// functions to a config without them. It generates the models that the functions import. The
// loop does the same again after a change of the project file, of an API, or of the list of
// functions.
func (c *DevCmd) inProject(ctx context.Context, term *terminal.Terminal, program terminal.Program, p *project.Project, config dev.Config) (dev.Config, error) {
	base := config
	sources, err := c.functionSources(p)
	if err != nil {
		return config, err
	}
	config.Session.Packages = sources
	if c.Composition == "" {
		if config.Inputs.Compositions, err = p.APIFolders(); err != nil {
			return config, err
		}
	}
	config.Images = fmt.Sprint(p.Rewrites)
	config.Refresh = dev.Refresh{
		Paths:   []string{p.Path, p.Dir(p.Paths.Functions)},
		Folders: []string{p.Dir(p.Paths.APIs)},
		Do: func(ctx context.Context) (dev.Config, error) {
			fresh, err := flags.ReadProject(ctx, term, p.Path)
			if err != nil {
				return dev.Config{}, err
			}
			previous := *p
			*p = *fresh // The runtimes rewrite references as p says.
			config, err := c.inProject(ctx, term, program, p, base)
			if err != nil {
				*p = previous
			}
			return config, err
		},
	}
	err = c.UseFunctions(ctx, term, program, p, &config.Session)
	return config, err
}

// discover finds the function in this folder, and uses its files for missing arguments. In a
// project, it uses the APIs and the examples of the project.
func (c *DevCmd) discover(ctx context.Context, config *dev.Config, p *project.Project) error {
	root := "."
	if p != nil && c.XR != "" && filepath.Clean(c.XR) == filepath.Dir(p.Path) { // All of the project.
		root, c.XR = c.XR, ""
	}
	if c.XR == "" && len(c.Suite) == 0 {
		config.Suites, config.SuitesMayBeNone = []string{root}, true
	}
	switch {
	case p != nil:
		c.XR = cmp.Or(c.XR, p.Dir(p.Paths.Examples))
		return nil
	case c.XR != "" && c.Composition == "":
		if err := (manifest.Reader{FS: afero.NewOsFs()}).CheckExists(c.XR); err != nil {
			return hint.Wrap(err, cmp.Or(hint.Of(err), "name the files of a composite resource and a Composition, as in xfn dev xr.yaml composition.yaml functions.yaml"))
		}
		return hint.Wrap(errors.New("expected the files of a composite resource and a Composition, or no arguments"), "add the Composition and the functions, as in xfn dev xr.yaml composition.yaml functions.yaml")
	case c.XR != "":
		return nil
	}
	f, err := dev.Discover(ctx, afero.NewOsFs(), ".")
	if err != nil {
		return err
	}
	c.XR, c.Composition, c.Functions = f.XR, f.Composition, f.Functions
	c.XRD = cmp.Or(c.XRD, f.XRD)
	packages := map[string]string{f.Function: f.Source}
	maps.Copy(packages, c.Package)
	c.Package = packages
	return nil
}

// functionSources returns the source folders that the loop watches: the folders of a project's
// embedded functions and of --package.
func (c *DevCmd) functionSources(p *project.Project) (map[string]string, error) {
	functions, err := p.Functions()
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	for _, f := range functions {
		if f.Tarball == "" {
			sources[p.FunctionRef(f.Name)] = p.FunctionDir(f)
		}
	}
	maps.Copy(sources, c.Package)
	return sources, nil
}

func (c *DevCmd) inputs() (in session.Inputs, err error) {
	in = c.Sources.Inputs()
	in.XRs, in.Composition = []string{c.XR}, c.Composition
	if slices.Contains(slices.Concat(in.Paths(), c.Suite, []string{c.Functions}), manifest.Stdin) {
		return in, errors.New("standard input cannot be watched: name a file instead of -")
	}
	if c.CrossplaneVersion == "" {
		return in, nil
	}
	if in.Profile, err = flags.Profile(c.CrossplaneVersion); err == nil && in.Profile == engine.Alpha {
		err = fmt.Errorf("reading --crossplane-version: functions of %s are containers, which are not watched", c.CrossplaneVersion)
	}
	return in, err
}
