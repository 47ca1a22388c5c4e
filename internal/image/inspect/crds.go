package inspect

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/xpkg"
)

// CRDOptions are options for CollectCRDs. The zero value works.
type CRDOptions struct {
	// Files reads files and standard input.
	Files manifest.Reader
	// Remote is the client of registries. Registry is the default registry of references.
	Remote   *remote.Client
	Registry string
	Follow   Follow
	// Offline prevents requests to registries. A dependency in a registry is skipped; a source
	// in a registry is an error.
	Offline bool
	// Cache, if not nil, has the packages of functions that are read if Offline is set. Packages
	// that are not in the cache are skipped.
	Cache *image.Store
	// Lock, if not nil, has the versions and digests of packages in registries.
	Lock *lock.Lock
	// Functions are the names of the functions whose inputs the sources define, by source.
	Functions map[string]string
	// Faulty, if not nil, receives the errors of unreadable documents and definitions, which
	// are then skipped. If it is nil, CollectCRDs returns the first such error.
	Faulty func(error)
	// Visit, if not nil, is called with each object of a file.
	Visit func(manifest.Document, map[string]any)
	// Skip, if not nil, reports whether a package that a file or package names is not read from a
	// registry. version is a version, a constraint, or "" if the reference is complete.
	Skip func(pkg, version string) bool
	// Rewrite, if not nil, returns the reference from which a package is fetched.
	Rewrite func(string) string
	// Progress receives the name of each package that is read, and a warning for each CRD that
	// two sources define differently.
	Progress progress.Func
}

// maxPackages limits the packages that one CollectCRDs reads, because dependencies are
// untrusted.
const maxPackages = 200

// CollectCRDs returns the CRDs of sources, in order. A source is a package file, a file, pipe
// or folder of YAML, "-" for standard input, or a package in a registry. From YAML, CollectCRDs
// reads CRDs, XRDs and MRDs. It also reads the packages that Providers, Functions and
// Configurations name, and the dependencies that package metadata names. If several CRDs
// have one name, the first is used.
func CollectCRDs(ctx context.Context, sources []string, o CRDOptions) ([]CRD, error) {
	c := &collector{CRDOptions: o, packages: map[string]bool{}, known: map[string]CRD{}, local: map[string]bool{}}
	for _, s := range sources {
		if err := c.source(ctx, s); err != nil {
			return nil, err
		}
	}
	// Reading a package may append its dependencies to the queue.
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		if _, repository, _ := strings.Cut(next.pkg, "/"); next.by != "" && c.local[xpkg.Label(repository)] {
			continue
		}
		if err := c.registry(ctx, next); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

type collector struct {
	CRDOptions
	found []CRD
	known map[string]CRD
	// queue are the packages that are not read yet. packages are all packages that were ever
	// queued.
	queue    []requirement
	packages map[string]bool
	// local are the names of the Functions in files whose packages are paths. Dependencies that
	// Crossplane would install under these names are not read.
	local map[string]bool
	// functions are the names of the function that is being read.
	functions []string
}

// A requirement is a package to read, and the file or package that requires it. function is the
// name of the Function object, or "".
type requirement struct{ pkg, version, by, function string }

func (c *collector) source(ctx context.Context, name string) error {
	if fn := c.Functions[name]; fn != "" {
		c.functions = []string{fn}
		defer func() { c.functions = nil }()
	}
	if name == manifest.Stdin {
		return c.file(ctx, name)
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return c.folder(ctx, name)
	case err == nil && (isYAML(name) || !info.Mode().IsRegular()): // A package cannot be read from a pipe.
		return c.file(ctx, name)
	case err == nil:
		return c.packageFile(ctx, name)
	case !strings.ContainsAny(name, "/:@"), isYAML(name) || filepath.IsAbs(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".xpkg"):
		return hint.Wrap(fmt.Errorf("reading %q: %w", name, fsx.Cause(err)), manifest.Similar(afero.NewOsFs(), name))
	case c.Offline:
		return hint.Wrap(fmt.Errorf("reading package %q: nothing is fetched offline", name), "name a package file")
	default:
		c.enqueue(requirement{pkg: name})
		return nil
	}
}

func isYAML(name string) bool {
	return manifest.IsYAML(name) || filepath.Ext(name) == ".json"
}

// folder reads the YAML files of a folder and its sub-folders, in the order of their names.
func (c *collector) folder(ctx context.Context, name string) error {
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fsx.Cause(err)
		}
		if manifest.IsYAML(path) && manifest.IsFile(afero.NewOsFs(), path, entry.Type()) {
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
	// After ctx is done, the definitions of c do not matter.
	_, err = proc.Await(ctx, func() (struct{}, error) { return struct{}{}, c.documents(ctx, docs) })
	return err
}

func (c *collector) documents(ctx context.Context, docs []manifest.Document) error {
	for _, doc := range docs {
		if ctx.Err() != nil { // A file may have many documents.
			return context.Cause(ctx)
		}
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
	if c.Visit != nil {
		c.Visit(doc, obj)
	}
	err = c.object(obj, doc)
	if err != nil && !errors.As(err, new(*manifest.Error)) {
		line := doc.Line
		if wrong := new(crd.FieldError); errors.As(err, &wrong) {
			line = doc.Lines().Of(wrong.Field)
		}
		err = &manifest.Error{Path: doc.Path, Line: line, Err: err}
	}
	return c.faulty(err)
}

// faulty passes err to Faulty and returns nil. Without Faulty it returns err.
func (c *collector) faulty(err error) error {
	if err == nil || c.Faulty == nil {
		return err
	}
	c.Faulty(err)
	return nil
}

// object adds the CRDs that an object in a file defines, or queues the packages that it
// names.
func (c *collector) object(obj map[string]any, from manifest.Document) error {
	apiVersion, kind := fieldpath.Text(obj, "apiVersion"), fieldpath.Text(obj, "kind")
	switch {
	case crd.Defines(obj):
		return c.add(obj, from)
	case lock.IsMetadata(obj) && c.Follow != FollowNone:
		lines := from.Lines()
		c.depend(lock.ReadDependsOn(obj), func(i int) string {
			return manifest.Position(from.Path, lines.Of(fmt.Sprintf("spec.dependsOn[%d]", i)))
		})
	case strings.HasPrefix(apiVersion, "pkg.crossplane.io/"):
		pkg, function := fieldpath.Text(obj, "spec", "package"), ""
		if kind == "Function" {
			function = fieldpath.Text(obj, "metadata", "name")
		}
		if kind == "Function" && lock.IsPath(pkg) {
			c.local[function] = true
		} else if pkg != "" {
			c.enqueue(requirement{pkg: pkg, by: manifest.Position(from.Path, from.Lines().Of("spec.package")), function: function})
		}
	}
	if near := schema.SimilarKind(apiVersion, kind); near != "" && crd.Defines(map[string]any{"apiVersion": apiVersion, "kind": near}) {
		return from.ErrorOf("kind", fmt.Errorf("%s has no kind %s%s", apiVersion, kind, hint.DidYouMean(near)))
	}
	return nil
}

// add adds the CRDs that obj defines. obj is a CRD, XRD or MRD.
func (c *collector) add(obj map[string]any, at manifest.Document) error {
	if err := crd.CheckScope(obj); err != nil {
		return at.ErrorOf("spec.scope", err)
	}
	all, err := crd.All(obj)
	if err != nil {
		return err
	}
	for _, o := range all {
		d, err := crd.Read(o)
		if err != nil {
			return err
		}
		next := CRD{Definition: d, Name: d.Plural + "." + d.Group, Object: o, Path: at.Path, Line: at.Line, Functions: c.functions}
		if at.Line > 0 {
			next.Source = at
		}
		was, known := c.known[next.Name]
		switch {
		case !known:
			c.known[next.Name] = next
			c.found = append(c.found, next)
		case !reflect.DeepEqual(was.Object, o):
			c.Progress.Send(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("%s in %s differs from the one in %s, which is used", next.Name, next.From(), was.From())})
		}
	}
	return nil
}

// depend adds dependencies to the queue. by returns the position of the dependency with an index.
func (c *collector) depend(all []lock.DependsOn, by func(int) string) {
	for i, d := range all {
		if d.Package != "" {
			c.enqueue(requirement{pkg: d.Package, version: d.Version, by: by(i)})
		}
	}
}

// enqueue adds a package to the queue, unless it was queued before, or cannot be read offline.
func (c *collector) enqueue(d requirement) {
	if d.by != "" && !c.Offline && c.Skip != nil && c.Skip(d.pkg, d.version) {
		return
	}
	key := d.pkg + " " + d.version
	if !c.packages[key] && (!c.Offline || c.Cache != nil) {
		c.packages[key] = true
		c.queue = append(c.queue, d)
	}
}

// maxCRDs limits the bytes of the files with CRDs in an image that is not a package.
const maxCRDs = 64 << 20

// image adds the CRDs of an image that is not a package. As in the image of Crossplane, they are in files
// NAME.yaml below folders named crds. Objects other than definitions are ignored.
func (c *collector) image(ctx context.Context, a xpkg.Artifact, name string) error {
	images, err := xpkg.Images(a)
	if err != nil {
		return err
	}
	img := images[0]
	for _, i := range images {
		if i.Platform != nil && i.Platform.String() == controlPlane {
			img = i
		}
	}
	files, left := map[string][]byte{}, int64(maxCRDs)
	err = oci.ReadLayers(ctx, img.Image, func(h *tar.Header, content io.Reader) error {
		file := path.Clean("/" + h.Name)
		if h.Typeflag != tar.TypeReg || !strings.Contains(file, "/crds/") || path.Ext(file) != ".yaml" {
			return nil
		}
		const header = 512 // of each entry
		if left -= header + h.Size; left < 0 {
			return fmt.Errorf("the files in folders named crds are larger than %d MiB", maxCRDs>>20)
		}
		files[file], err = io.ReadAll(content)
		return err
	})
	if err == nil && len(files) == 0 {
		err = xpkg.ErrNoPackage
	}
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		docs, err := manifest.Split(name+":"+file, files[file])
		if err != nil {
			return err
		}
		for _, doc := range docs {
			obj, err := doc.Object()
			if err == nil && crd.Defines(obj) {
				err = c.add(obj, doc)
			}
			if err := c.faulty(err); err != nil {
				return err
			}
		}
	}
	return nil
}
