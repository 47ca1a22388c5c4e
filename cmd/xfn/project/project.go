package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/project"
)

// Cmd is the command group xfn project.
type Cmd struct {
	Init  InitCmd  `cmd:"" help:"Create a project."`
	Build BuildCmd `cmd:"" help:"Build the packages of a project."`
	Lint  LintCmd  `cmd:"" help:"Find problems in a project."`
	Push  PushCmd  `cmd:"" help:"Push the packages of a built project to a registry."`
	Pull  PullCmd  `cmd:"" help:"Pull the packages of a project from a registry into a file."`
	Copy  CopyCmd  `cmd:"" help:"Copy the packages of a project from one registry to another, with their signatures."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `A project is a directory with crossplane-project.yaml or upbound.yaml, APIs, Compositions, and the source of functions. It becomes one Configuration and one package for each function.

Example:

    xfn project build
    xfn project push --tag v0.1.0
`
}

type fileFlag struct {
	ProjectFile string `once:"" short:"f" empty:"" placeholder:"FILE" surplus:"name another project by its file with -f" help:"The project file. Its directory is the project. Default: crossplane-project.yaml or upbound.yaml."`
}

type fileFlags struct {
	fileFlag
	Repository string `empty:"" placeholder:"REPOSITORY" help:"Repository of the Configuration, instead of the repository in the project file."`
}

// ProvideProject reads the project file and prints its warnings. Kong calls it for the methods Run that
// have a project as an argument.
func (f fileFlag) ProvideProject(ctx context.Context, term *terminal.Terminal) (*project.Project, error) {
	path, err := f.path(term)
	if err != nil {
		return nil, err
	}
	return flags.ReadProject(ctx, term, path)
}

func (f fileFlag) path(term *terminal.Terminal) (string, error) {
	path := f.ProjectFile
	if path == "" {
		found, other, err := project.Find("")
		if errors.Is(err, fs.ErrNotExist) {
			next := "name the project file with --project-file, or create a project with xfn project init"
			if above := project.Above(""); above != "" {
				next = fmt.Sprintf("run the command in the directory %q of the project, or name its file with --project-file %s", filepath.Dir(above), above)
			}
			err = hint.Wrap(err, next)
		}
		if err != nil {
			return "", err
		}
		if path = found; other != "" {
			term.Warn(fmt.Sprintf("the directory has %s and %s: %[1]s is read; name the other with --project-file %[2]s", found, other))
		}
	}
	if filepath.Ext(path) == ".xpkg" {
		err := fmt.Errorf("--project-file: expected a project file, got the package %q", path)
		return "", &terminal.UsageError{Err: hint.Wrap(err, "name a file such as crossplane-project.yaml; xfn project push reads a package by --package-file")}
	}
	return path, nil
}

// ProvideProject reads the project file, and sets the repository of the flag.
func (f fileFlags) ProvideProject(ctx context.Context, term *terminal.Terminal) (*project.Project, error) {
	p, err := f.fileFlag.ProvideProject(ctx, term)
	if err != nil {
		return nil, err
	}
	return p, f.replace(p)
}

// replace sets the repository of the flag, in full as the crossplane CLI does: acme/demo is
// index.docker.io/acme/demo.
func (f fileFlags) replace(p *project.Project) error {
	if f.Repository == "" {
		return nil
	}
	if err := p.SetRepository(f.Repository); err != nil {
		return &terminal.UsageError{Err: fmt.Errorf("--repository %w", err)}
	}
	repository, err := name.NewRepository(f.Repository)
	if err != nil {
		return err
	}
	p.Repository = repository.Name()
	return nil
}
