package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

type builder struct {
	Options
	project *Project
	set     *Set
}

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

// languages returns the language of each function. A tarball has the zero language.
func (p *Project) languages(functions []Function) ([]language.Language, error) {
	all := make([]language.Language, len(functions))
	var faults []error
	for i, f := range functions {
		if f.Tarball != "" {
			continue
		}
		var err error
		if all[i], err = languages.Detect(p.FunctionDir(f)); err != nil {
			faults = append(faults, fmt.Errorf("building function %q: %w", f.Name, err))
		}
	}
	return all, errors.Join(faults...)
}

func (b *builder) function(ctx context.Context, f Function, lang language.Language) (pkg FunctionPackage, err error) {
	b.Images.Progress.Step("building function " + f.Name)
	content, err := b.content(ctx, f)
	if err != nil {
		return pkg, err
	}
	var images []v1.Image
	var materials []language.Material
	if f.Tarball != "" {
		images, err = b.tarballs(ctx, f)
	} else {
		images, materials, err = b.source(ctx, f, lang)
	}
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
	pkg, err = functionPackage(b.project.FunctionRepository(f.Name), packages)
	pkg.Function, pkg.Materials = f.Name, materials
	return pkg, err
}

// content returns the package.yaml and the examples of a function. A function without a
// directory of examples has an empty layer of examples.
func (b *builder) content(ctx context.Context, f Function) (*xpkg.Package, error) {
	about := map[string]string{"description": fmt.Sprintf("Function %s from project %s", f.Name, b.project.Name)}
	meta, err := b.project.metadata("Function", b.project.Name+"-"+f.Name, about, map[string]any{"capabilities": []any{"composition", "operation"}})
	if err != nil {
		return nil, err
	}
	opts := xpkg.ReadOptions{Lint: b.Lint, Tolerated: tolerated}
	if f.Tarball == "" {
		opts.ExamplesRoot, opts.ExamplesOptional = filepath.Join(b.project.FunctionDir(f), "examples"), true
	}
	pkg, err := xpkg.ReadSources(ctx, fmt.Sprintf("function %q", f.Name), []xpkg.Source{meta}, afero.NewOsFs(), opts)
	if err != nil {
		return nil, b.project.explain(err)
	}
	pkg.Warnings = b.project.inFile(pkg.Warnings)
	if pkg.Examples == nil {
		pkg.Examples = []byte{}
	}
	return pkg, nil
}

// source returns the runtime images of a function from its source, and their materials.
func (b *builder) source(ctx context.Context, f Function, lang language.Language) (_ []v1.Image, _ []language.Material, err error) {
	p := b.project
	src := language.Source{Dir: p.FunctionDir(f), Root: p.Root, Project: true, Platforms: b.platforms(), Artifacts: b.Artifacts}
	reference := cmp.Or(lang.ProjectBase, lang.Base)
	if err := lang.CheckSource(ctx, src, b.Images.Progress); err != nil {
		return nil, nil, err
	}
	if reference != "" {
		if src.Base, err = b.Base(ctx, reference, src.Platforms); err != nil {
			return nil, nil, p.adviseMirror(reference, fmt.Errorf("reading the base image of %s functions: %w", lang.Name, err))
		}
	}
	isPackage := false
	if src.Base != nil {
		if isPackage, err = overPackage(src.Base); err != nil {
			return nil, nil, errors.Join(err, src.Base.Close())
		}
	}
	built, err := lang.Build(ctx, src, b.Images)
	if err != nil {
		return nil, nil, err
	}
	b.set.open.Add(built.Images)
	if !isPackage {
		return built.Images.All, built.Materials, nil
	}
	images := make([]v1.Image, len(built.Images.All))
	for i, img := range built.Images.All {
		if images[i], err = rebuilt(img); err != nil {
			return nil, nil, err
		}
	}
	return images, built.Materials, nil
}

// adviseMirror adds to the hint of an error of a registry that a mirror can be named, or which
// ImageConfig rewrote the reference of the image.
func (p *Project) adviseMirror(reference string, err error) error {
	if !remote.Explained(err) {
		return err
	}
	next := hint.Hint("name a mirror of the registry in spec.imageConfigs of the project file")
	if r := p.rewrite(reference); r.From != "" {
		err = fmt.Errorf("%w (%s:%d rewrites %q)", err, p.Path, p.Line(r.Field), reference)
		next = hint.Hint(fmt.Sprintf("correct the prefixes of the ImageConfig, of which %q became %q", r.From, r.To))
	}
	return hint.Wrap(err, hint.Or(next, hint.Of(err)))
}

// overPackage reports whether a base image is a package, whose own layers are left out.
func overPackage(base *runtimeimage.Images) (bool, error) {
	for _, img := range base.All {
		m, err := img.Manifest()
		if err != nil {
			return false, fmt.Errorf("reading the base image: %w", err)
		}
		if slices.ContainsFunc(m.Layers, func(d v1.Descriptor) bool { return d.Annotations[xpkg.Annotation] != "" }) {
			return true, nil
		}
	}
	return false, nil
}

// rebuilt returns an image as the crossplane CLI rebuilds it over the layers of a package:
// without a type in the config's rootfs.
func rebuilt(img v1.Image) (v1.Image, error) {
	p, err := oci.PartsOf(img)
	if err != nil {
		return nil, err
	}
	config, err := p.ConfigObject()
	if err != nil {
		return nil, err
	}
	if rootfs, ok := config["rootfs"].(map[string]any); ok {
		rootfs["type"] = ""
	}
	raw, _ := json.Marshal(config) // An object that was JSON has no errors.
	return oci.Assemble(raw, p.Descriptors, p.Layers...)
}

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
		b.set.open.Add(images)
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
		if _, err := p.inside(file); err != nil {
			return "", fmt.Errorf("finding the runtime image %q: %w", file, fsx.Cause(err))
		}
		return file, nil
	}
	return "", p.At(f.Field, fmt.Errorf("the function has no runtime image for architecture %q, expected %s or %s", arch, looked[0], looked[1]))
}

// FunctionDir returns the source directory of an embedded function.
func (p *Project) FunctionDir(f Function) string {
	return filepath.Join(p.Dir(p.Paths.Functions), f.Name)
}

// Functions returns the embedded functions: the functions that the project file lists,
// or each directory in the directory of functions, in the order of their names. Links
// are not functions. An error joins all problems.
func (p *Project) Functions() ([]Function, error) {
	if _, err := p.Existing(p.Paths.Functions); err != nil {
		return nil, err
	}
	all, errs := p.Listed, []error(nil)
	if all == nil {
		entries, err := os.ReadDir(p.Dir(p.Paths.Functions))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the functions of the project: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, Function{Name: e.Name()})
			}
		}
	}
	refs := map[string]Function{}
	for _, f := range all {
		if err := p.checkFunction(f); err != nil {
			errs = append(errs, err)
			continue
		}
		ref := p.FunctionRef(f.Name)
		if first, again := refs[ref]; again {
			err := fmt.Errorf("the functions %q and %q would both have the name %q in a cluster", first.Name, f.Name, ref)
			errs = append(errs, hint.Wrap(err, "rename one of the two"))
		}
		refs[ref] = f
	}
	return all, errors.Join(errs...)
}

// checkFunction validates the name of a function whose directory was found, and the
// directory of a function that the project file lists.
func (p *Project) checkFunction(f Function) error {
	if f.Tarball != "" {
		return nil
	}
	dir := p.FunctionDir(f)
	if f.Field == "" {
		if remote.CheckRepository(p.FunctionRepository(f.Name)) == nil {
			return nil
		}
		r := &reader{p: p, doc: manifest.Document{Path: dir}}
		r.functionName("the function's name", f.Name)
		if len(r.errs) > 0 {
			return hint.Wrap(fmt.Errorf("%s: %w", dir, errors.Unwrap(r.errs[0])), "rename the directory, or move it out of the directory of functions")
		}
		return nil
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return p.At(f.Field, fmt.Errorf("the function %q has no directory %q", f.Name, dir))
	}
	return nil
}
