package project

import (
	"context"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// InitCmd creates the directory of a new project.
type InitCmd struct {
	Name       string `arg:"" help:"Name of the project."`
	Directory  string `short:"d" empty:"" placeholder:"DIR" help:"Directory to create. It may exist if it is empty except for .git. Default: NAME."`
	Registry   string `short:"r" default:"example.com/my-org" placeholder:"REGISTRY" help:"The beginning of the project's repository. Default: ${default}."`
	Repository string `empty:"" placeholder:"REPOSITORY" help:"The end of the project's repository. Default: NAME."`
	Dialect    string `enum:"crossplane,upbound" default:"crossplane" placeholder:"DIALECT" help:"Format of the project file: crossplane-project.yaml (crossplane) or upbound.yaml (upbound). Default: ${default}."`
}

// Help is shown by --help.
func (InitCmd) Help() string {
	return `Creates a project file, and empty directories for APIs, examples, functions, operations and tests.

Examples:

    xfn project init platform -r registry.example.org/acme
    xfn project init platform --dialect upbound -d .
`
}

// Run creates the project.
func (c *InitCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	o := generate.InitOptions{Dir: c.Directory, Name: c.Name, Dialect: project.Dialect(c.Dialect)}
	if o.Dir == "" {
		o.Dir = c.Name
	}
	repository := c.Repository
	if repository == "" {
		repository = c.Name
	}
	o.Repository = strings.TrimSuffix(c.Registry, "/") + "/" + repository
	path, err := generate.Init(ctx, o)
	if err != nil {
		return err
	}
	term.Note(fmt.Sprintf("created %s", path))
	return nil
}
