package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/clusterdiff"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// DiffCmd is xfn diff.
type DiffCmd struct {
	Composition string `arg:"" help:"File or folder of the new Compositions and XRDs, or - for stdin."`
	Functions   string `arg:"" optional:"" help:"File or folder of Functions. Optional if each step is a builtin or named by --package."`

	Observed            []string          `short:"o" required:"" sep:"none" placeholder:"PATH" help:"Existing resources: the output of 'kubectl get -o yaml', or a folder of such files. Repeatable."`
	From                []string          `sep:"none" placeholder:"PATH" help:"File or folder of the old Compositions, to find removed fields. Default: those of --observed. Repeatable."`
	RequiredResources   []string          `short:"e" sep:"none" placeholder:"PATH" help:"File or folder of resources that functions may require, in addition to --observed. Repeatable."`
	FunctionCredentials []string          `more:"" sep:"none" placeholder:"PATH" help:"File or folder of Secrets with credentials of functions. Repeatable."`
	ContextValues       map[string]string `more:"" mapsep:"none" placeholder:"KEY=VALUE" help:"Add YAML or JSON to the context of the functions. Repeatable."`
	Timeout             time.Duration     `more:"" default:"10m" help:"Timeout, including the start of functions. Default: ${default}."`
	ExitCode            bool              `help:"Exit with 1 if a resource would change."`
	terminal.Format
	flags.Runtimes `group:"Functions:"`
}

// Help is shown by --help.
func (DiffCmd) Help() string {
	return `Renders every composite resource in a dump of a cluster for which there is a Composition, and compares the output with the existing resources. It changes nothing in the cluster.

A field that the Composition sets is compared as Crossplane would apply it. A field that the Composition no longer sets is shown as removed if the Composition that set it is known.

Examples:

    kubectl get composite,managed,compositions,xrd -o yaml > live.yaml
    xfn diff composition.yaml functions.yaml -o live.yaml
    xfn diff new/ functions.yaml -o live.yaml --from old/ --exit-code
`
}

// Validate checks the flags.
func (c *DiffCmd) Validate() error { return terminal.Positive("--timeout", c.Timeout) }

// Run prints the changes.
func (c *DiffCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	config, err := c.Config(term, program)
	if err != nil {
		return err
	}
	config.Functions = c.Functions
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	s := session.Open(config)
	defer func() { err = terminal.Close(ctx, s.Close, err) }()
	in := session.Inputs{
		Compositions: []string{c.Composition}, Observed: c.Observed, Required: c.RequiredResources, Credentials: c.FunctionCredentials, ContextValues: c.ContextValues,
	}
	all := summary{CompositeResources: []clusterdiff.Diff{}}
	err = clusterdiff.Compute(ctx, s, in, c.From, term.Progress, func(i clusterdiff.Diff) error {
		if i.Err != nil {
			term.Fault(fmt.Errorf("%s: %w", subject(i), i.Err))
		}
		all.add(i)
		return nil
	})
	if err != nil {
		return terminal.Cause(ctx, err)
	}
	if len(all.CompositeResources) == 0 {
		term.Warn("--observed has no composite resource for which there is a Composition")
	}
	text := func(w io.Writer) error { return all.write(w, term.Style(w)) }
	if err := c.Print(term.Stdout, all, text); err != nil {
		return err
	}
	return all.verdict(c.ExitCode)
}

// A summary is the output of xfn diff --format json.
type summary struct {
	CompositeResources []clusterdiff.Diff `json:"compositeResources"`
	// Changed and Failed count composite resources, Resources composed resources.
	Changed   int `json:"changed"`
	Failed    int `json:"failed"`
	Resources struct {
		Added   int `json:"added"`
		Changed int `json:"changed"`
		Removed int `json:"removed"`
	} `json:"resources"`
}

func (s *summary) add(i clusterdiff.Diff) {
	s.CompositeResources = append(s.CompositeResources, i)
	switch {
	case i.Err != nil:
		s.Failed++
	case len(i.Changes) > 0:
		s.Changed++
	}
	for _, c := range i.Changes {
		switch c.Op {
		case report.Added:
			s.Resources.Added++
		case report.Changed:
			s.Resources.Changed++
		case report.Removed:
			s.Resources.Removed++
		}
	}
}

func (s *summary) write(w io.Writer, style report.Style) error {
	for _, i := range s.CompositeResources {
		if len(i.Changes) == 0 {
			continue
		}
		_, err := fmt.Fprintln(w, terminal.Printable(changeTitle(i)))
		if err == nil {
			err = report.WriteChanges(w, i.Changes, style)
		}
		if err == nil {
			_, err = fmt.Fprintln(w)
		}
		if err != nil {
			return err
		}
	}
	total := len(s.CompositeResources)
	_, err := fmt.Fprintf(w, "%s: %d would change, %d would not\ncomposed resources: %d added, %d changed, %d removed\n",
		terminal.Count(total, "composite resource"), s.Changed, total-s.Changed-s.Failed, s.Resources.Added, s.Resources.Changed, s.Resources.Removed)
	return err
}

func subject(i clusterdiff.Diff) string {
	return strings.TrimSpace(i.Kind + " " + strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"))
}

func changeTitle(i clusterdiff.Diff) string {
	s := subject(i)
	if i.Composition != "" {
		s += " by Composition " + i.Composition
	}
	if i.Pinned {
		s += ", after it selects the new revision (compositionUpdatePolicy: Manual)"
	}
	return s + ":"
}

func (s *summary) verdict(exitCode bool) error {
	switch {
	case s.Failed > 0:
		return fmt.Errorf("%d of %d composite resources failed", s.Failed, len(s.CompositeResources))
	case exitCode && s.Changed > 0:
		return errors.New("the Compositions would change existing resources")
	}
	return nil
}
