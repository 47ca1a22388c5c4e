package project

import (
	"context"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// DependencyCmd is the command group xfn dependency.
type DependencyCmd struct {
	Add         AddCmd         `cmd:"" help:"Add a dependency to a project."`
	UpdateCache UpdateCacheCmd `cmd:"" help:"Resolve all dependencies again, and update the models of their APIs."`
	CleanCache  CleanCacheCmd  `cmd:"" help:"Remove the models of a project, and all cached images."`
}

// Help is shown by --help.
func (DependencyCmd) Help() string {
	return `A dependency is a package, or a source of CRDs or Kubernetes APIs. The models of its APIs are in the directory schemas, for editors and for the code of functions.

Example:

    xfn dependency add registry.example.org/acme/provider-cloud:v1.2.0
`
}

type fetchFlags struct {
	flags.Git
	flags.Cache
	flags.Registries
}

// fetcher opens the cache. The caller closes it.
func (f fetchFlags) fetcher(term *terminal.Terminal, program terminal.Program, offline bool) (*generate.Fetcher, error) {
	return f.Fetcher(f.Cache, f.Registry, image.Options{Remote: f.Client(program), Progress: term.Progress, Offline: offline})
}

// AddCmd adds a dependency.
type AddCmd struct {
	Package string `arg:"" name:"dependency" surplus:"as in xfn dependency add registry.example.org/acme/provider-cloud:v1.2.0" help:"REPOSITORY[:TAG|:CONSTRAINT|@DIGEST] of a package, k8s:VERSION, the URL of a file of CRDs, or of a git repository."`
	APIOnly bool   `name:"api-only" help:"The package is needed for its APIs only, and is not installed with the project."`
	GitRef  string `empty:"" placeholder:"REF" help:"Branch, tag or commit of a git repository."`
	GitPath string `empty:"" placeholder:"DIR" help:"Directory with CRDs in the git repository."`
	fileFlag
	fetchFlags
}

// Help is shown by --help.
func (AddCmd) Help() string {
	return `Writes the dependency to the project file, which keeps its comments, and generates models of its APIs. A dependency on the same package, repository or URL is replaced.

Examples:

    xfn dependency add registry.example.org/acme/function-x:'>=v1.2.0'
    xfn dependency add registry.example.org/acme/provider-cloud --api-only
    xfn dependency add k8s:v1.33.0
    xfn dependency add https://example.org/crds --git-ref main
`
}

// InsteadOf returns what to write instead of flags for a version and for an output that other
// tools have.
func (AddCmd) InsteadOf(flag string) string {
	switch flag {
	case "version":
		return "the version is part of the dependency: write REPOSITORY:v1.2.0 or k8s:v1.33.0"
	case "output":
		return "the command writes to the project file: name another one with --project-file"
	}
	return ""
}

// Run adds the dependency.
func (c *AddCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program, p *project.Project) (err error) {
	d, err := generate.ParseDependency(c.Package, generate.DependencyOptions{APIOnly: c.APIOnly, GitRef: c.GitRef, GitPath: c.GitPath})
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	f, err := c.fetcher(term, program, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Store.Close()) }()
	if err := generate.AddDependency(ctx, p, d, f); err != nil {
		return err
	}
	term.Note(fmt.Sprintf("added %s to %s", c.Package, p.Path))
	return nil
}

// UpdateCacheCmd updates the models of the dependencies.
type UpdateCacheCmd struct {
	fileFlag
	fetchFlags
}

// Help is shown by --help.
func (UpdateCacheCmd) Help() string {
	return `The project file stays the same. Models are generated for each dependency whose version is not in the file .lock.json of the models.

Example:

    xfn dependency update-cache
`
}

// Run updates the models.
func (c *UpdateCacheCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program, p *project.Project) (err error) {
	f, err := c.fetcher(term, program, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Store.Close()) }()
	return generate.UpdateSchemas(ctx, p, f)
}

// CleanCacheCmd removes models and cached packages.
type CleanCacheCmd struct {
	KeepPackages bool `help:"Keep the cached images."`
	fileFlag
	flags.Cache
}

// Help is shown by --help.
func (CleanCacheCmd) Help() string {
	return `Removes the directory of models, and the images in the cache that no running program uses.

Example:

    xfn dependency clean-cache --keep-packages
`
}

// Run removes the models and the cached packages.
func (c *CleanCacheCmd) Run(ctx context.Context, p *project.Project) (err error) {
	if err := generate.CleanSchemas(p); err != nil || c.KeepPackages {
		return err
	}
	store, err := c.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, err = store.Prune(ctx, fsx.AfterAllUse(), false)
	return err
}
