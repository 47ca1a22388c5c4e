package project

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// InitCmd creates the directory of a new project.
type InitCmd struct {
	Name       string `arg:"" help:"Name of the project."`
	Directory  string `short:"d" empty:"" placeholder:"DIR" meant:"output" help:"Directory to create. It may exist if it is empty except for .git. Default: NAME."`
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
func (c *InitCmd) Run(ctx context.Context, kctx *kong.Context, term *terminal.Terminal) error {
	o := generate.InitOptions{Dir: cmp.Or(c.Directory, c.Name), Name: c.Name, Dialect: project.Dialect(c.Dialect)}
	repository := cmp.Or(c.Repository, c.Name)
	registry := strings.TrimSuffix(c.Registry, "/")
	end, again := strings.CutPrefix(repository, registry+"/")
	if host, rest, _ := strings.Cut(repository, "/"); !flags.IsGiven(kctx, "registry") && rest != "" && strings.Contains(host, ".") {
		registry, end, again = path.Dir(repository), path.Base(repository), true
	}
	if again {
		err := fmt.Errorf("--repository %s begins with a registry, which --registry names", repository)
		return &terminal.UsageError{Err: hint.Wrap(err, fmt.Sprintf("write --registry %s --repository %s", registry, end))}
	}
	o.Repository = registry + "/" + repository
	file, err := generate.Init(ctx, o)
	if err != nil {
		return err
	}
	term.Note(fmt.Sprintf("created %s for the repository %s", file, o.Repository))
	return nil
}
