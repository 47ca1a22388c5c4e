package flags

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/session"
)

// FindProject reads the project in the working directory and prints its warnings. It returns
// nil if there is none.
func FindProject(ctx context.Context, term *terminal.Terminal) (*project.Project, error) {
	path, other, err := project.Find("")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if other != "" {
		term.Warn(fmt.Sprintf("the directory has %s and %s: %[1]s is read", path, other))
	}
	return ReadProject(ctx, term, path)
}

// ReadProject reads a project file and prints its warnings.
func ReadProject(ctx context.Context, term *terminal.Terminal, path string) (*project.Project, error) {
	p, err := project.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	for _, w := range p.Warnings {
		term.Warn(w.Error())
	}
	return p, nil
}

// UseFunctions adds the functions of a project, which may be nil, to the config of a session.
func UseFunctions(p *project.Project, config *session.Config) error {
	if p == nil {
		return nil
	}
	docs, err := p.FunctionDocuments(runtime.GOARCH)
	if err != nil {
		return err
	}
	config.Functions = p.Path
	Inline(&config.Reader, config.Functions, docs...)
	return nil
}

// SetFunctions sets the functions of the config of a session: those in path or, if path is "",
// those of the project in the working directory, if there is one.
func SetFunctions(ctx context.Context, term *terminal.Terminal, config *session.Config, path string) error {
	if config.Functions = path; path != "" {
		return nil
	}
	p, err := FindProject(ctx, term)
	if err != nil {
		return err
	}
	return UseFunctions(p, config)
}

// UseDependencies makes the path of a project file, in a reader, that of package metadata with
// the dependencies of the project.
func UseDependencies(p *project.Project, r *manifest.Reader) error {
	doc, err := p.DependencyDocument(true)
	if err == nil {
		Inline(r, p.Path, doc)
	}
	return err
}

// Inline makes a reader return documents for a path that is not a file.
func Inline(r *manifest.Reader, path string, docs ...manifest.Document) {
	next := r.Documents
	r.Documents = func(p string) ([]manifest.Document, bool) {
		if p == path {
			return docs, true
		}
		if next == nil {
			return nil, false
		}
		return next(p)
	}
}
