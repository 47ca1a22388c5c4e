package flags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/session"
)

// FindProject reads the project in the working directory and prints its warnings. If there is no
// such project, it reads the project that contains all paths, which are arguments. Without such a
// project, it returns nil.
func FindProject(ctx context.Context, term *terminal.Terminal, paths ...string) (*project.Project, error) {
	path, other, err := project.Find("")
	if of := projectOf(paths); errors.Is(err, fs.ErrNotExist) && of != "" {
		path, other, err = project.Find(filepath.Dir(of))
	}
	if errors.Is(err, fs.ErrNotExist) {
		if above := project.Above(""); above != "" {
			term.Note(fmt.Sprintf("the project in %q is not used: run the command in that directory", filepath.Dir(above)))
		}
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

// projectOf returns the path of the project file in the nearest directory that has each of paths,
// or "". A path below the working directory is not in a project above it.
func projectOf(paths []string) string {
	found := ""
	for i, path := range paths {
		dir := filepath.Clean(path)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		file, _, err := project.Find(dir)
		if err != nil {
			file = project.Above(dir)
		}
		if file == "" || filepath.IsLocal(dir) && !filepath.IsLocal(file) || i > 0 && file != found {
			return ""
		}
		found = file
	}
	return found
}

// ProjectAt reads the project file at path or, if path is empty, in the working directory, as
// FindProject does.
func ProjectAt(ctx context.Context, term *terminal.Terminal, path string) (*project.Project, error) {
	if path != "" {
		return ReadProject(ctx, term, path)
	}
	return FindProject(ctx, term)
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
	return p, configure(term, p)
}

// FullConfig returns Config with the path of the functions, and with the functions of p unless p is
// nil.
func (f Runtimes) FullConfig(ctx context.Context, term *terminal.Terminal, program terminal.Program, p *project.Project, functions string) (session.Config, error) {
	config, err := f.Config(term, program, p)
	if err != nil {
		return config, err
	}
	config.Functions = functions
	return config, f.UseFunctions(ctx, term, program, p, &config)
}

// UseFunctions adds the functions of a project, which may be nil, to the config of a session. It
// generates the models that the source of the functions imports, unless calls are replayed.
func (f Runtimes) UseFunctions(ctx context.Context, term *terminal.Terminal, program terminal.Program, p *project.Project, config *session.Config) error {
	if p == nil {
		return nil
	}
	docs, err := p.FunctionDocuments(runtime.GOARCH)
	if err != nil {
		return err
	}
	config.Functions = p.Path
	config.AddFunction = hint.Hint("add the package to the dependencies with xfn dependency add, or the source with xfn function generate")
	Inline(&config.Reader, config.Functions, docs...)
	if f.Replay != "" {
		return nil // No function is built.
	}
	return generate.Schemas(ctx, p, generate.SchemaOptions{
		ForRender: true, Registry: f.Registry, Lock: f.Content(),
		Open: func() (*generate.Fetcher, error) {
			return f.Fetcher(f.Cache, f.Registry, image.Options{Remote: f.Client(program), Progress: term.Progress, Offline: f.Offline})
		},
		Skipped: term.Warn,
	})
}

// UseDependencies makes a reader return the dependencies of a project for the path of the
// project file: package metadata and, unless images are offline, the CRDs in git repositories
// and at URLs. If locked is not nil, the content of the CRDs must match the digests in locked.
func (g Git) UseDependencies(ctx context.Context, p *project.Project, r *manifest.Reader, images image.Options, locked *lock.Lock) error {
	docs := []manifest.Document{p.DependencyDocument(true)}
	for _, d := range p.Dependencies {
		if images.Offline {
			break
		}
		files := g.files(images)
		files.Lock = locked
		crds, err := files.Documents(ctx, d)
		if err != nil {
			next := cmp.Or(hint.Of(err), "leave dependencies out with "+hint.Offline)
			return hint.Wrap(p.At(d.Field, err), next)
		}
		docs = append(docs, crds...)
	}
	Inline(r, p.Path, docs...)
	return nil
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

// FunctionFolders returns the folders with the CRDs of the inputs of a project's embedded
// functions, and adds the names of the functions to o.
func FunctionFolders(p *project.Project, o *inspect.CRDOptions) ([]string, error) {
	all, err := p.Functions()
	if err != nil {
		return nil, err
	}
	o.Functions = map[string]string{}
	var folders []string
	for _, f := range all {
		dir := filepath.Join(p.FunctionDir(f), "package", "input")
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			folders = append(folders, dir)
			o.Functions[dir] = p.FunctionRef(f.Name)
		}
	}
	return folders, nil
}

// Git are the flags for git repositories with CRDs.
type Git struct {
	GitToken    string `more:"" env:"CROSSPLANE_GIT_TOKEN" empty:"" placeholder:"TOKEN" help:"Token for git repositories at https URLs."`
	GitUsername string `more:"" env:"CROSSPLANE_GIT_USERNAME" default:"x-access-token" empty:"" placeholder:"NAME" help:"User name for --git-token. Default: ${default}."`
}

// Fetcher returns a Fetcher that reads packages through the cache. The caller closes its Store.
func (g Git) Fetcher(cache Cache, registry string, images image.Options) (*generate.Fetcher, error) {
	store, err := cache.Open()
	if err != nil {
		return nil, err
	}
	f := g.files(images)
	f.Store, f.Registry = store, registry
	return f, nil
}

// files returns a Fetcher without a cache, which reads dependencies other than packages. It trusts
// the CAs that the client of the registries trusts.
func (g Git) files(images image.Options) *generate.Fetcher {
	client := images.Remote
	if client == nil {
		client = remote.New(remote.Options{Progress: images.Progress})
	}
	return &generate.Fetcher{
		Images: images, HTTP: &http.Client{Timeout: 5 * time.Minute, Transport: client},
		GitUser: g.GitUsername, GitToken: g.GitToken, Kubernetes: generate.KubernetesURL,
	}
}
