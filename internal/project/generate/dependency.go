package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/models"
	"github.com/xfn-dev/xfn/internal/remote"
)

// anyVersion is the constraint of a package without a version.
const anyVersion = ">=v0.0.0"

// DependencyOptions are the options of ParseDependency.
type DependencyOptions struct {
	// APIOnly marks a package that is needed for its schemas only.
	APIOnly bool
	// GitRef is the branch, tag or commit of a git repository, and GitPath the directory in
	// it. If GitRef is not empty, the dependency is a git repository.
	GitRef, GitPath string
}

// ParseDependency returns the dependency that a user names: a package with an optional tag,
// version constraint or digest, k8s:VERSION, a git repository, or the URL of a file of CRDs.
// The API version and the kind of a package are not set.
func ParseDependency(text string, o DependencyOptions) (project.Dependency, error) {
	d := project.Dependency{Type: "crd"}
	version, k8s := strings.CutPrefix(text, "k8s:")
	k8s = k8s || text == "k8s"
	switch {
	case o.GitRef != "" && (k8s || !strings.Contains(text, "://") && strings.LastIndex(text, ":") > max(strings.LastIndex(text, "/"), strings.LastIndex(text, "@"))):
		// In the short form of a URL, such as git@HOST:ORG/REPO, a path follows the colon.
		return d, hint.Wrap(fmt.Errorf("expected the URL of a git repository, got %q", text), "leave "+string(hint.GitRef)+" out: it is for the URL of a git repository")
	case o.GitRef != "":
		d.Git = &project.GitSource{Repository: text, Ref: o.GitRef, Path: o.GitPath}
	case o.GitPath != "":
		return d, hint.Wrap(fmt.Errorf("the path %q is in a git repository, but no branch, tag or commit is named", o.GitPath), "name one of these, too")
	case k8s:
		if err := project.CheckRelease("k8s:", strings.TrimPrefix(version, "k8s")); err != nil {
			return d, err
		}
		d.Type, d.K8s = "k8s", &project.KubernetesAPI{Version: version}
	case (strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")) && strings.Contains(path.Base(text), ":"):
		return d, remote.CheckRepository(text) // A reference has a tag; a URL of CRDs has no colon in its file.
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		d.HTTP = &project.HTTPSource{URL: text}
	case strings.Contains(text, "://"):
		return d, hint.Wrap(fmt.Errorf("%q is neither a package nor an http URL", text), "for a git repository, write its https or ssh URL, and name its branch, tag or commit with "+hint.GitRef)
	case strings.HasPrefix(text, "k8s@") && lock.IsExact(text[len("k8s@"):]):
		version = text[len("k8s@"):]
		return d, hint.Wrap(fmt.Errorf("the version %s of k8s follows an @", version), hint.Meant("", "k8s:"+version))
	case oci.UserInfo(text) > 0:
		return d, remote.CheckRepository(text) // Its error does not contain the credentials.
	case lock.IsPath(text), manifest.IsYAML(text):
		return d, hint.Wrap(fmt.Errorf("%q is a path, expected the reference of a package", text), "push the package to a registry, and name its reference")
	case strings.HasSuffix(text, ":"):
		return d, hint.Wrap(fmt.Errorf("nothing follows the colon of %q", text), fmt.Sprintf("name a tag, or quote a version constraint, because a shell redirects output to the file after >: '%s>=v1.0.0'", text))
	default:
		d.Type, d.XPkg = "xpkg", parsePackage(text)
		d.XPkg.APIOnly = o.APIOnly
		return d, nil
	}
	if o.APIOnly {
		return d, fmt.Errorf("%q is not a package, so it has only APIs", text)
	}
	return d, nil
}

// parsePackage separates the version from the repository. A colon before the last slash
// belongs to the port of a registry. A digest is the version also if there is a tag.
func parsePackage(text string) *project.Package {
	name, digest, pinned := strings.Cut(text, "@")
	p := &project.Package{Package: name, Version: anyVersion, Key: "package"}
	last := strings.LastIndex(name, "/")
	if i := strings.Index(name[last+1:], ":"); i >= 0 {
		p.Package, p.Version = name[:last+1+i], name[last+i+2:]
	}
	if pinned {
		p.Version = digest
	}
	return p
}

func nameOf(d project.Dependency) string {
	switch scheme, at := address(d); {
	case d.XPkg != nil:
		return at + separator(d.XPkg.Version) + d.XPkg.Version
	case d.K8s != nil:
		return scheme + ":" + at
	default:
		return at
	}
}

// address returns the scheme of a dependency in the lock file of the schemas, and its package,
// repository, URL or version of Kubernetes.
func address(d project.Dependency) (scheme, at string) {
	switch {
	case d.XPkg != nil:
		return "xpkg", d.XPkg.Package
	case d.Git != nil:
		return "git", d.Git.Repository
	case d.HTTP != nil:
		return "http", d.HTTP.URL
	}
	return "k8s", d.K8s.Version
}

// separator returns the character between a package and its version.
func separator(version string) string {
	if lock.IsDigest(version) {
		return "@"
	}
	return ":"
}

// AddDependency adds a dependency to the project file, after its schemas were generated. It
// replaces a dependency on the same package, repository or URL. The file keeps its comments.
func AddDependency(ctx context.Context, p *project.Project, d project.Dependency, f *Fetcher) error {
	if p.Dialect == project.Upbound && d.XPkg != nil && d.XPkg.APIOnly {
		return fmt.Errorf("%s cannot have packages that are needed for their APIs only: each package in it is installed", project.UpboundFile)
	}
	if d.XPkg != nil {
		if err := p.CheckPackage(d.XPkg.Package); err != nil {
			return err
		}
	}
	sources, err := f.sources(ctx, p, &d)
	if err == nil && (d.HTTP != nil || d.Git != nil) {
		err = f.checkDefinitions(ctx, d, sources)
	}
	if err != nil {
		return adviseDependency(d, fmt.Errorf("reading the dependency %q: %w", nameOf(d), err))
	}
	if _, err := edited(ctx, p.Path, d); err != nil {
		return err
	}
	if err := writeModels(ctx, p, sources...); err != nil {
		return err
	}
	_, err = update(ctx, p.Path, func() (*Edit, error) { return edited(ctx, p.Path, d) })
	return err
}

// adviseDependency adds the likely form of a dependency that cannot be read to the hint of err.
func adviseDependency(d project.Dependency, err error) error {
	switch content := new(manifest.Error); {
	case d.HTTP != nil && (hint.Of(err) == "" || errors.As(err, &content)):
		if raw := strings.Replace(d.HTTP.URL, "/blob/", "/raw/", 1); raw != d.HTTP.URL { // GitHub and GitLab
			return hint.Wrap(err, hint.Meant("", raw))
		}
		return hint.Wrap(err, fmt.Sprintf("name the URL of a YAML file of CRDs (the raw URL, if this is a web page); for a package, leave out the scheme: %q", d.HTTP.URL[strings.Index(d.HTTP.URL, "://")+len("://"):]))
	case d.XPkg != nil:
		if b, ok := builtin.Named(d.XPkg.Package); ok {
			return hint.Wrap(err, hint.Meant("xpkg.crossplane.io/crossplane-contrib/", b.Name))
		}
	}
	return err
}

// edited reads the project file again, because it may have changed while the dependency was
// fetched, and adds the dependency.
func edited(ctx context.Context, path string, d project.Dependency) (*Edit, error) {
	p, err := project.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	data, err := manifest.Reader{FS: afero.NewOsFs()}.Bytes(ctx, path)
	if err != nil {
		return nil, err
	}
	text, line := p.Text()
	doc := manifest.Document{Path: p.Path, Line: line, Text: text}
	list, value := fields(p, d)
	var change manifest.Change
	if index := replaced(p, d, list); index >= 0 {
		change, err = doc.ReplaceItem(list, index, value)
	} else {
		change, err = doc.InsertItem(list, -1, value)
	}
	if err != nil {
		return nil, err
	}
	return &Edit{Path: p.Path, Data: change.Apply(data)}, nil
}

// fields returns the list of the project file that has a dependency, and its item.
func fields(p *project.Project, d project.Dependency) (list string, item map[string]any) {
	item, list = map[string]any{"type": d.Type}, "spec.dependencies"
	if p.Dialect == project.Upbound {
		list = "spec.apiDependencies"
	}
	switch {
	case d.XPkg != nil:
		pkg := map[string]any{"apiVersion": d.XPkg.APIVersion, "kind": d.XPkg.Kind, "package": d.XPkg.Package, "version": d.XPkg.Version}
		if p.Dialect == project.Upbound {
			return "spec.dependsOn", pkg
		}
		if d.XPkg.APIOnly {
			pkg["apiOnly"] = true
		}
		item["xpkg"] = pkg
	case d.Git != nil:
		git := map[string]any{"repository": d.Git.Repository}
		for key, value := range map[string]string{"ref": d.Git.Ref, "path": d.Git.Path} {
			if value != "" {
				git[key] = value
			}
		}
		item["git"] = git
	case d.HTTP != nil:
		item["http"] = map[string]any{"url": d.HTTP.URL}
	case d.K8s != nil:
		item["k8s"] = map[string]any{"version": d.K8s.Version}
	}
	return list, item
}

// replaced returns the index in a list of the dependency that d replaces, or -1.
func replaced(p *project.Project, d project.Dependency, list string) int {
	for _, old := range p.Dependencies {
		oldScheme, oldAt := address(old)
		scheme, at := address(d)
		var index int
		if _, err := fmt.Sscanf(strings.TrimPrefix(old.Field, list), "[%d]", &index); err == nil && scheme == oldScheme && (at == oldAt || d.K8s != nil) {
			return index
		}
	}
	return -1
}

// UpdateSchemas resolves all dependencies of a project again, and generates the schemas of
// dependencies that changed.
func UpdateSchemas(ctx context.Context, p *project.Project, f *Fetcher) error {
	var all []models.Source
	for _, d := range p.Dependencies {
		sources, err := f.sources(ctx, p, &d)
		if err != nil {
			return p.At(d.Field, fmt.Errorf("reading the dependency %q: %w", nameOf(d), err))
		}
		all = append(all, sources...)
	}
	return writeModels(ctx, p, all...)
}

// SchemaOptions are the options of Schemas.
type SchemaOptions struct {
	// Open returns the Fetcher, whose Store Schemas closes. It is called only if a dependency
	// has no schemas.
	Open func() (*Fetcher, error)
	// Registry is the registry of references that do not name one.
	Registry string
	// Lock, if it is not nil, has the versions and digests of dependencies. A dependency that it
	// lacks is an error.
	Lock *lock.Lock
	// Skipped receives a text about each dependency that is left out: offline, if it is not in
	// the cache; for a render, if it cannot be read.
	Skipped func(text string)
	// ForRender generates only the schemas that a render needs: no schemas unless a function
	// imports some, and never the schemas of functions' inputs.
	ForRender bool
}

// Schemas generates the schemas of a project: for dependencies that are not in the lock file
// of the schemas, and for the project's APIs.
func Schemas(ctx context.Context, p *project.Project, o SchemaOptions) (err error) {
	if o.ForRender {
		if imports, err := importsSchemas(p); err != nil || !imports {
			return err
		}
	}
	target := Target(p)
	locked, err := models.Locked(target)
	if err != nil {
		return err
	}
	var all []models.Source
	var f *Fetcher
	for _, d := range p.Dependencies {
		if o.ForRender && d.XPkg != nil && d.XPkg.Kind == "Function" {
			continue
		}
		has, err := o.known(p, d, locked)
		if err != nil {
			return err
		}
		if has && target.Complete() {
			continue
		}
		if f == nil {
			if f, err = o.Open(); err != nil {
				return err
			}
			f.Lock = o.Lock
			defer func() { err = errors.Join(err, f.Store.Close()) }()
		}
		sources, err := f.sources(ctx, p, &d)
		if err == nil && o.ForRender {
			err = readDefinitions(ctx, sources)
		}
		switch {
		case err == nil:
			all = append(all, sources...)
		case ctx.Err() == nil && (o.ForRender || f.Images.Offline) && !errors.Is(err, lock.ErrChanged):
			o.Skipped(p.At(d.Field, fmt.Errorf("the APIs of %q have no models: %w", nameOf(d), err)).Error())
		default:
			return p.At(d.Field, fmt.Errorf("reading the dependency %q: %w", nameOf(d), err))
		}
	}
	return writeModels(ctx, p, append(all, APIs(p))...)
}

// readDefinitions reads the definitions of sources that fetch them only when they are needed.
func readDefinitions(ctx context.Context, sources []models.Source) error {
	for i, s := range sources {
		read, err := s.Definitions(ctx)
		if err != nil {
			return err
		}
		sources[i].Definitions = func(context.Context) (models.Definitions, error) { return read, nil }
	}
	return nil
}

// importsSchemas reports whether the source of an embedded function refers to the directory of
// schemas. It returns false if another program has written the schemas, which has its own lock
// file.
func importsSchemas(p *project.Project) (bool, error) {
	target := Target(p)
	if _, err := os.Stat(target.Dir); err == nil && !fileExists(filepath.Join(target.Dir, models.LockFile)) {
		if entries, err := os.ReadDir(target.Dir); err != nil || len(entries) > 0 {
			return false, err
		}
	}
	functions, err := p.Functions()
	if err != nil {
		return false, err
	}
	for _, f := range functions {
		dir := p.FunctionDir(f)
		schemas, _ := filepath.Rel(dir, target.Dir) // Both are below the root of the project.
		for _, name := range []string{"go.mod", "kcl.mod", "pyproject.toml", "model"} {
			path := filepath.Join(dir, name)
			link, _ := os.Readlink(path)
			text, _ := os.ReadFile(path) // A file that cannot be read refers to nothing.
			if strings.Contains(filepath.ToSlash(link)+string(text), filepath.ToSlash(schemas)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// known reports whether the lock file has a dependency: a version that a package's
// constraint allows, or any version of another dependency.
func known(d project.Dependency, locked map[string]string) bool {
	if d.XPkg == nil {
		_, ok := locked[sourceID(d)]
		return ok
	}
	if lock.IsDigest(d.XPkg.Version) {
		_, ok := locked["xpkg://"+nameOf(d)]
		return ok
	}
	for id := range locked {
		tag, ok := strings.CutPrefix(id, "xpkg://"+d.XPkg.Package+":")
		if ok && (tag == d.XPkg.Version || !lock.IsExact(d.XPkg.Version) && lock.Allows(d.XPkg.Version, tag)) {
			return true
		}
	}
	return false
}

// sourceID returns the name of a dependency that is not a package in the lock file.
func sourceID(d project.Dependency) string {
	scheme, at := address(d)
	if d.Git != nil && d.Git.Path != "" {
		at += "/" + d.Git.Path
	}
	return scheme + "://" + at
}
