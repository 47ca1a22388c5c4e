package project

import (
	"context"
	"fmt"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// FunctionCmd writes the source of an embedded function.
type FunctionCmd struct {
	Name     string `arg:"" help:"Name of the function."`
	Pipeline string `arg:"" optional:"" name:"pipeline-path" help:"File with a Composition or an operation that calls the function in a new first step."`
	Language string `short:"l" enum:"go,go-templating,kcl,python" default:"go-templating" placeholder:"LANGUAGE" help:"Language of the function: go, go-templating, kcl or python. Default: ${default}."`
	fileFlag
}

// Help is shown by --help.
func (FunctionCmd) Help() string {
	return `Writes the source of a function to functions/NAME, and the models of the project's APIs for its language. The pipeline's file keeps its comments.

Examples:

    xfn function generate compose-app apis/app/composition.yaml
    xfn function generate compose-app apis/app/composition.yaml -l python
`
}

// InsteadOf returns where the source is written instead of to the directory that a flag names.
func (FunctionCmd) InsteadOf(flag string) string {
	if flag != "output" {
		return ""
	}
	return "the source is written to the project's directory of functions: spec.paths.functions in the project file names it"
}

// Run writes the function.
func (c *FunctionCmd) Run(ctx context.Context, term *terminal.Terminal, p *project.Project) error {
	dir, changed, err := generate.Function(ctx, p, generate.FunctionOptions{Name: c.Name, Language: c.Language, Pipeline: c.Pipeline})
	if err != nil && c.Pipeline != "" && manifest.IsYAML(c.Name) {
		err = hint.Wrap(err, fmt.Sprintf("the order is name, pipeline: xfn function generate %s %s", c.Pipeline, c.Name))
	}
	if err != nil {
		return err
	}
	term.Note("created " + dir)
	switch {
	case changed:
		term.Note(fmt.Sprintf("added the step %q to %s", c.Name, c.Pipeline))
	case c.Pipeline != "":
		term.Note(fmt.Sprintf("%s already has the step %q", c.Pipeline, c.Name))
	}
	return nil
}
