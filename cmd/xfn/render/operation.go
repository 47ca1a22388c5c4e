package render

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/project"
)

// OperationCmd is xfn operation render.
type OperationCmd struct {
	Operation string `arg:"" help:"File of the Operation, CronOperation or WatchOperation, or - for stdin."`
	Functions string `arg:"" optional:"" help:"File or folder of Functions, or the crossplane.yaml or root of a package whose dependencies are the functions. Optional in a project, and if each step is a builtin or named by --package."`

	WatchedResource    string `once:"" short:"w" group:"Inputs:" empty:"" placeholder:"FILE" help:"The resource for which a WatchOperation makes the Operation. Each step requires it."`
	flags.Requirements `group:"Inputs:"`

	CrossplaneVersion string `more:"" group:"Crossplane:" empty:"" placeholder:"VERSION" help:"The version of Crossplane to imitate, v2.0 or later. All versions render Operations alike."`
	flags.Features    `group:"Crossplane:"`
	Timeout           time.Duration `more:"" group:"Crossplane:" positive:"" default:"1m" help:"Timeout of the render, including the start of functions, but not builds from source."`
	Strict            bool          `more:"" group:"Crossplane:" xor:"strict" help:"Fail for any problem of the Operation, not only for problems that make Crossplane fail."`

	unusedFlags
	ProjectFile          string `once:"" more:"" short:"f" group:"Functions:" empty:"" placeholder:"FILE" help:"The file of the project that has the functions. Default: the file in the working directory."`
	flags.Runtimes       `group:"Functions:"`
	IncludeFullOperation bool `more:"" short:"o" group:"Output:" help:"Has no effect: the Operation is always printed with all of its fields."`
	printFlags           `group:"Output:"`
	traceFlags           `group:"Output:"`
}

// Help is shown by --help.
func (OperationCmd) Help() string {
	return `Prints the Operation with its status, and then each resource that Crossplane would apply. For a CronOperation or a WatchOperation, it renders the Operation of the template. Functions run as in xfn render.

Examples:

    xfn operation render operation.yaml functions.yaml
    xfn operation render operation.yaml -e resources/ -r
    xfn operation render watch.yaml functions.yaml -w changed.yaml
    xfn operation render operations/backup.yaml    # in a project

Exit codes: 0 rendered, 1 failed, 2 usage error, 3 a function returned a fatal result.
`
}

// Run renders and prints the documents.
func (c *OperationCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	in := c.Requirements.Inputs()
	in.Operation, in.Watched, in.Strict = c.Operation, c.WatchedResource, c.Strict
	in.Features, err = c.Features.For(term, c.CrossplaneVersion, in.Profile)
	err = cmp.Or(c.checkVersion(), err, flags.CheckStdin(append(in.Paths(), c.Functions)...))
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	p, err := c.project(ctx, term)
	if err != nil {
		return err
	}
	config, err := c.FullConfig(ctx, term, program, p, c.Functions)
	if err != nil {
		return err
	}
	c.note(term)
	out := &output{flags: outputFlags{printFlags: c.printFlags}, term: term, warnOnce: term.WarnOnce()}
	if out.sink, err = out.flags.sink(term, false, readsOf(in, c.Functions)); err != nil {
		return err
	}
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return out.render(ctx, config, in, c.tracer(term), &validation{})
}

func (c *OperationCmd) project(ctx context.Context, term *terminal.Terminal) (*project.Project, error) {
	if c.Functions != "" {
		return nil, nil
	}
	return flags.ProjectAt(ctx, term, c.ProjectFile)
}

// checkVersion returns an error for a version of Crossplane without Operations.
func (c *OperationCmd) checkVersion() error {
	if c.CrossplaneVersion == "" {
		return nil
	}
	if _, err := flags.Profile(c.CrossplaneVersion); err != nil {
		return err
	}
	if v, err := semver.NewVersion(c.CrossplaneVersion); err == nil && v.Major() < 2 {
		return fmt.Errorf("--crossplane-version %s has no Operations: expected v2.0 or later", c.CrossplaneVersion)
	}
	return nil
}
