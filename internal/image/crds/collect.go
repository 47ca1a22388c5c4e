package crds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/xpkg"
)

// Follow says whose dependencies are packages to collect from, too.
type Follow string

const (
	// FollowNone stays with what is named.
	FollowNone Follow = "none"
	// FollowConfigurations follows Configurations, as deep as they go, and
	// package metadata in files. It is the zero value, too.
	FollowConfigurations Follow = "configurations"
	// FollowAll follows Providers and Functions besides.
	FollowAll Follow = "all"
)

// Options say how to collect. The zero value works.
type Options struct {
	// Files reads files and standard input.
	Files manifest.Reader
	// Remote reaches registries, and Registry is that of references without one.
	Remote   *remote.Client
	Registry string
	Follow   Follow
	// Offline reads no package of a registry: those that something else names are
	// passed over, and one that is a source is an error.
	Offline bool
	// Faulty, if not nil, is told of each document and definition that cannot be
	// read, and the others count all the same. If it is nil, the first is an error.
	Faulty func(error)
	// Progress is told which packages are read, and warned of CRDs that are
	// delivered twice.
	Progress progress.Func
}

// maxPackages bounds how many packages are read: dependencies are a stranger's.
const maxPackages = 200

// A Definition is a CRD and where it comes from.
type Definition struct {
	crd.Definition
	// Name is that of the CRD, and Object all of it.
	Name   string
	Object map[string]any
	// Path and Line are the file and line, or the package and 0.
	Path string
	Line int
}

// From is where the CRD comes from, for people.
func (d Definition) From() string {
	return manifest.Document{Path: d.Path, Line: d.Line}.Position()
}

// Storage is the version that objects are stored in, or else the first.
func (d Definition) Storage() string {
	for _, v := range d.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return d.Versions[0].Name
}

// Collect returns the CRDs of sources, in the order in which they are found. A
// source is a package file, a file or folder of YAML, "-" for standard input, or a
// package in a registry. In YAML count CRDs, XRDs, MRDs, package metadata, whose
// dependencies are read, and Providers, Functions and Configurations, whose
// packages are. Of two CRDs of one name the first counts.
func Collect(ctx context.Context, sources []string, o Options) ([]Definition, error) {
	c := &collector{Options: o, packages: map[string]bool{}, known: map[string]Definition{}}
	for _, s := range sources {
		if err := c.source(ctx, s); err != nil {
			return nil, err
		}
	}
	// Packages may name more of them while they are read.
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		if err := c.registry(ctx, next); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

// FromDocuments returns the CRDs of documents. It does not read the packages that
// they name. The first document or definition that cannot be read is an error.
func FromDocuments(docs []manifest.Document) ([]Definition, error) {
	c := &collector{Options: Options{Offline: true}, known: map[string]Definition{}}
	for _, doc := range docs {
		if err := c.document(doc); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

// Validator returns a Validator of objects by definitions.
func Validator(all []Definition, o validate.Options) *validate.Validator {
	definitions := make([]validate.Definition, len(all))
	for i, d := range all {
		definitions[i] = validate.Definition{Object: d.Object, Path: d.Path, Line: d.Line}
	}
	return validate.New(definitions, o)
}

type collector struct {
	Options
	found []Definition
	known map[string]Definition
	// queue are packages to read, and packages all that ever were in it.
	queue    []requirement
	packages map[string]bool
}

// A requirement is a package, and who asks for it.
type requirement struct{ pkg, version, by string }

func (c *collector) source(ctx context.Context, name string) error {
	if name == manifest.Stdin {
		return c.file(ctx, name)
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return c.folder(ctx, name)
	case err == nil && isYAML(name):
		return c.file(ctx, name)
	case err == nil:
		return c.packageFile(ctx, name)
	case isYAML(name) || filepath.IsAbs(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".xpkg"):
		return fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
	case c.Offline:
		return hint.Wrap(fmt.Errorf("reading package %q: nothing is fetched offline", name), "name a package file")
	default:
		c.enqueue(requirement{pkg: name})
		return nil
	}
}

func isYAML(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// folder reads the YAML files of a folder and of those in it, by name.
func (c *collector) folder(ctx context.Context, name string) error {
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fsx.Cause(err)
		}
		if ext := filepath.Ext(path); entry.Type().IsRegular() && (ext == ".yaml" || ext == ".yml") {
			return c.file(ctx, path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	return nil
}

func (c *collector) file(ctx context.Context, name string) error {
	r := c.Files
	if r.FS == nil {
		r.FS = afero.NewOsFs()
	}
	docs, err := r.All(ctx, name)
	if err != nil && !errors.Is(err, manifest.ErrEmpty) {
		return err
	}
	for _, doc := range docs {
		if err := c.document(doc); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) document(doc manifest.Document) error {
	obj, err := doc.Object()
	if err != nil {
		return c.faulty(err)
	}
	if err := c.object(obj, doc); err != nil {
		return c.faulty(&manifest.Error{Path: doc.Path, Line: doc.Line, Err: err})
	}
	return nil
}

// faulty returns err, unless somebody else wants it.
func (c *collector) faulty(err error) error {
	if c.Faulty == nil {
		return err
	}
	c.Faulty(err)
	return nil
}

// object takes what there is to take of an object in a file.
func (c *collector) object(obj map[string]any, from manifest.Document) error {
	apiVersion, _ := obj["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case crd.Defines(obj):
		return c.add(obj, from)
	case group == "meta.pkg.crossplane.io" && c.Follow != FollowNone:
		c.depend(inspect.Dependencies(obj), from.Position())
	case group == "pkg.crossplane.io":
		spec, _ := obj["spec"].(map[string]any)
		if pkg, _ := spec["package"].(string); pkg != "" {
			c.enqueue(requirement{pkg: pkg, by: from.Position()})
		}
	}
	return nil
}

// add takes the CRDs of a definition.
func (c *collector) add(obj map[string]any, at manifest.Document) error {
	all, err := crd.All(obj)
	if err != nil {
		return err
	}
	for _, o := range all {
		d, err := crd.Read(o)
		if err != nil {
			return err
		}
		next := Definition{Definition: d, Name: d.Plural + "." + d.Group, Object: o, Path: at.Path, Line: at.Line}
		was, known := c.known[next.Name]
		switch {
		case !known:
			c.known[next.Name] = next
			c.found = append(c.found, next)
		case !reflect.DeepEqual(was.Object, o):
			c.Progress.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("%s is not the same in %s as in %s, which counts", next.Name, next.From(), was.From())})
		}
	}
	return nil
}

func (c *collector) depend(all []inspect.Dependency, by string) {
	for _, d := range all {
		if d.Package != "" {
			c.enqueue(requirement{d.Package, d.Version, by})
		}
	}
}

// enqueue notes a package to read, once.
func (c *collector) enqueue(d requirement) {
	key := d.pkg + " " + d.version
	if !c.packages[key] && !c.Offline {
		c.packages[key] = true
		c.queue = append(c.queue, d)
	}
}

func (c *collector) packageFile(ctx context.Context, path string) (err error) {
	f, err := xpkg.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return c.artifact(ctx, f.Artifact, path)
}

func (c *collector) registry(ctx context.Context, d requirement) error {
	if len(c.packages) > maxPackages {
		return fmt.Errorf("there are more than %d packages to read", maxPackages)
	}
	err := c.fetch(ctx, d)
	if err != nil && d.by != "" {
		err = hint.Wrap(fmt.Errorf("reading what %s depends on: %w", d.by, err), cmp.Or(hint.Of(err), "leave dependencies out with "+hint.Dependencies+"=none"))
	}
	return err
}

// artifact takes the CRDs of a package, and notes what it depends on.
func (c *collector) artifact(ctx context.Context, a xpkg.Artifact, name string) error {
	d, err := inspect.Artifact(ctx, a, inspect.Options{Search: true})
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	if d.Package == nil {
		return fmt.Errorf("reading %q: %w", name, xpkg.ErrNoPackage)
	}
	for _, o := range d.Package.Objects {
		if !crd.Defines(o.Data()) {
			continue
		}
		if err := c.add(o.Data(), manifest.Document{Path: name}); err != nil {
			err = c.faulty(fmt.Errorf("reading %s %q of %q: %w", o.Kind, o.Name, name, err))
			if err != nil {
				return err
			}
		}
	}
	if c.Follow == FollowAll || c.Follow != FollowNone && d.Package.Kind == "Configuration" {
		c.depend(d.Package.DependsOn, name)
	}
	return nil
}

// fetch takes the CRDs of a package in a registry.
func (c *collector) fetch(ctx context.Context, r requirement) error {
	client := c.Remote
	if client == nil {
		client = remote.New(remote.Options{})
	}
	ref, err := lock.Dependency{Package: r.pkg, Version: r.version}.Resolve(ctx, image.Tags{Remote: client}, func(s string) (name.Reference, error) {
		return remote.ParseReference(s, c.Registry)
	})
	if err != nil {
		return err
	}
	c.Progress.Step("reading " + ref.Name())
	a, err := image.Artifact(ctx, ref, image.Options{Remote: client})
	if err != nil {
		return err
	}
	return client.Explain(ref, c.artifact(ctx, a, ref.Name()))
}
