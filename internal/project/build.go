package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

// Options are the options of Build.
type Options struct {
	// Jobs is how many functions are built at a time. Zero means the number of processors.
	Jobs int
	// Platforms replace the architectures of the project.
	Platforms []v1.Platform
	// Lint says which problems are errors, and Rules are additional rules.
	Lint  xpkg.Level
	Rules []xpkg.Rule
	// Base opens the images at a reference, for these platforms. The project's rewrites were
	// applied to it. It is required for functions with source.
	Base func(ctx context.Context, reference string, platforms []v1.Platform) (*runtimeimage.Images, error)
	// Artifacts are files that languages need.
	Artifacts language.Artifacts
	// Images are the options of runtime images, except Platforms.
	Images runtimeimage.Options
}

// Build builds the packages of a project: each embedded function for each architecture, and
// the Configuration, which depends on them by their digests. The result depends only on the
// content of the project's files and the base images. The caller closes it.
func Build(ctx context.Context, p *Project, o Options) (_ *Set, err error) {
	set := &Set{Repository: p.Repository}
	defer func() {
		if err != nil {
			err = errors.Join(err, set.Close())
		}
	}()
	functions, err := p.Functions()
	if err != nil {
		return nil, err
	}
	pkg, err := p.read(ctx, functions, o)
	if err != nil {
		return nil, err
	}
	set.Warnings = pkg.Warnings
	if err := set.build(ctx, p, functions, o); err != nil {
		return nil, err
	}
	for i, f := range set.Functions {
		digest, err := f.Index.Digest()
		if err != nil {
			return nil, fmt.Errorf("finding the digest of %q: %w", f.Repository, err)
		}
		pkg.YAML = bytes.Replace(pkg.YAML, []byte(placeholder(i)), []byte(digest.String()), 1)
	}
	set.Objects = len(pkg.Objects)
	o.Images.Progress.Step("building the Configuration")
	a, err := xpkg.Build(pkg, nil, xpkg.BuildOptions{Docker: true})
	if err != nil {
		return nil, fmt.Errorf("building the Configuration %q: %w", p.Name, err)
	}
	set.Configuration, _ = a.(v1.Image)
	return set, nil
}

// read reads the content of the Configuration, with placeholders for the digests of
// functions, and lints the project.
func (p *Project) read(ctx context.Context, functions []Function, o Options) (*xpkg.Package, error) {
	meta, err := p.configurationMetadata(functions)
	if err != nil {
		return nil, err
	}
	sources, found, err := p.collect()
	if err != nil {
		return nil, err
	}
	opts := xpkg.ReadOptions{ExamplesRoot: p.Dir(p.Paths.Examples), ExamplesOptional: true, Lint: o.Lint}
	opts.Rules = append(slices.Clone(o.Rules), p.rules(functions, found)...)
	pkg, err := xpkg.ReadSources(ctx, fmt.Sprintf("project %q", p.Name), append([]xpkg.Source{meta}, sources...), afero.NewOsFs(), opts)
	if err != nil {
		return nil, p.explain(err)
	}
	pkg.Warnings = p.inFile(pkg.Warnings)
	return pkg, nil
}

// explain removes the lines of problems in generated metadata from an error.
func (p *Project) explain(err error) error {
	var found xpkg.Problems
	if errors.As(err, &found) {
		return p.inFile(found)
	}
	return err
}

// inFile removes the lines of problems in generated metadata, which the project file does
// not have.
func (p *Project) inFile(found xpkg.Problems) xpkg.Problems {
	for i := range found {
		if found[i].Path == p.Path && found[i].Rule != ruleUnusedFunction {
			found[i].Line = 0
		}
	}
	return found
}

// placeholder stands for the digest of a function's package until the package is built. The
// metadata is at the start of package.yaml, so its placeholders come before any other text
// of the user that is the same.
func placeholder(i int) string { return fmt.Sprintf("sha256:%064x", i) }

// build builds the packages of the functions, several at once.
func (s *Set) build(ctx context.Context, p *Project, functions []Function, o Options) error {
	s.Functions = make([]FunctionPackage, len(functions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, o.Jobs))
	if o.Jobs == 0 {
		g.SetLimit(runtime.GOMAXPROCS(0))
	}
	b := &builder{Options: o, project: p, set: s}
	for i, f := range functions {
		g.Go(func() (err error) {
			if s.Functions[i], err = b.function(ctx, f); err != nil {
				return fmt.Errorf("building function %q: %w", f.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// A builder builds the packages of functions.
type builder struct {
	Options
	project *Project

	mu  sync.Mutex
	set *Set
}

// keep closes c when the set is closed.
func (b *builder) keep(c io.Closer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set.open = append(b.set.open, c)
}

// platforms returns the platforms to build for.
func (b *builder) platforms() []v1.Platform {
	if len(b.Platforms) > 0 {
		return b.Platforms
	}
	all := make([]v1.Platform, len(b.project.Architectures))
	for i, arch := range b.project.Architectures {
		all[i] = v1.Platform{OS: "linux", Architecture: arch}
	}
	return all
}

// function builds the package of a function.
func (b *builder) function(ctx context.Context, f Function) (pkg FunctionPackage, err error) {
	b.Images.Progress.Step("building function " + f.Name)
	content, err := b.content(ctx, f)
	if err != nil {
		return pkg, err
	}
	runtimes := b.source
	if f.Tarball != "" {
		runtimes = b.tarballs
	}
	images, err := runtimes(ctx, f)
	if err != nil {
		return pkg, err
	}
	packages := make([]v1.Image, len(images))
	for i, img := range images {
		a, err := xpkg.Build(content, []v1.Image{img}, xpkg.BuildOptions{Docker: true})
		if err != nil {
			return pkg, err
		}
		packages[i], _ = a.(v1.Image)
	}
	return functionPackage(b.project.FunctionRepository(f.Name), packages)
}

// content returns the package.yaml and the examples of a function. A function without a
// directory of examples has an empty layer of examples.
func (b *builder) content(ctx context.Context, f Function) (*xpkg.Package, error) {
	meta, err := b.project.functionMetadata(f)
	if err != nil {
		return nil, err
	}
	opts := xpkg.ReadOptions{Lint: b.Lint}
	if f.Tarball == "" {
		opts.ExamplesRoot, opts.ExamplesOptional = filepath.Join(b.project.FunctionDir(f), "examples"), true
	}
	pkg, err := xpkg.ReadSources(ctx, fmt.Sprintf("function %q", f.Name), []xpkg.Source{meta}, afero.NewOsFs(), opts)
	if err != nil {
		return nil, b.project.explain(err)
	}
	if pkg.Examples == nil {
		pkg.Examples = []byte{}
	}
	return pkg, nil
}

// source returns the runtime images of a function from its source.
func (b *builder) source(ctx context.Context, f Function) ([]v1.Image, error) {
	p := b.project
	dir := p.FunctionDir(f)
	lang, err := languages.Detect(dir)
	if err != nil {
		return nil, err
	}
	src := language.Source{Dir: dir, Root: p.Root, Project: true, Platforms: b.platforms(), Artifacts: b.Artifacts}
	reference := lang.ProjectBase
	if reference == "" {
		reference = lang.Base
	}
	if reference != "" {
		if src.Base, err = b.Base(ctx, p.Rewritten(reference), src.Platforms); err != nil {
			return nil, fmt.Errorf("reading the base image of %s functions: %w", lang.Name, err)
		}
	}
	built, err := lang.Build(ctx, src, b.Images)
	if err != nil {
		return nil, err
	}
	b.keep(built.Images)
	return built.Images.All, nil
}

// tarballs returns the runtime images of a function from one file for each architecture.
func (b *builder) tarballs(ctx context.Context, f Function) ([]v1.Image, error) {
	var all []v1.Image
	for _, platform := range b.platforms() {
		file, err := b.project.tarball(f, platform.Architecture)
		if err != nil {
			return nil, err
		}
		images, err := runtimeimage.FromTarball(ctx, file, b.Images)
		if err != nil {
			return nil, err
		}
		b.keep(images)
		if len(images.All) != 1 {
			return nil, fmt.Errorf("the runtime image %q has %d images, expected one", file, len(images.All))
		}
		c, err := images.All[0].ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("reading the runtime image %q: %w", file, err)
		}
		if c.Architecture != platform.Architecture {
			return nil, fmt.Errorf("the runtime image %q is for architecture %q, expected %q", file, c.Architecture, platform.Architecture)
		}
		all = append(all, images.All[0])
	}
	return all, nil
}

// tarball returns the path of a function's runtime image for an architecture.
func (p *Project) tarball(f Function, arch string) (string, error) {
	var looked []string
	for _, suffix := range []string{".tar", ".tar.gz"} {
		file := p.Dir(f.Tarball + "-" + arch + suffix)
		looked = append(looked, file)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		root, rootErr := filepath.EvalSymlinks(p.Root)
		real, err := filepath.EvalSymlinks(file)
		if err := errors.Join(rootErr, err); err != nil {
			return "", fmt.Errorf("finding the runtime image %q: %w", file, err)
		}
		if !isBelow(root, real) {
			return "", fmt.Errorf("the runtime image %q is a link that leads out of the project", file)
		}
		return file, nil
	}
	return "", p.At(f.Field, fmt.Errorf("the function has no runtime image for architecture %q, expected %s or %s", arch, looked[0], looked[1]))
}
