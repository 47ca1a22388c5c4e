package languages

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// A Builder builds the images of functions for this machine.
type Builder struct {
	// Cache is the directory of the cache, which keeps the images.
	Cache string
	// Base returns the images at the reference of a default base image.
	Base func(ctx context.Context, reference string, opts runtimeimage.Options) (*runtimeimage.Images, error)
	// Options are the options of the build. Its platforms are ignored.
	Options   runtimeimage.Options
	Artifacts language.Artifacts
}

// Build builds the function whose source is in dir, and returns the folder of an OCI image
// layout. The folder depends only on the content of the image.
func (b Builder) Build(ctx context.Context, dir string) (layout string, err error) {
	lang, err := Detect(dir)
	if err != nil {
		return "", err
	}
	root, err := language.Root(dir)
	if err != nil {
		return "", err
	}
	opts := b.Options
	opts.Platforms = []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}}
	src := language.Source{Dir: dir, Root: root, Platforms: opts.Platforms, Artifacts: b.Artifacts}
	if err := lang.CheckSource(ctx, src, opts.Progress); err != nil {
		return "", err
	}
	if lang.Base != "" {
		if src.Base, err = b.Base(ctx, lang.Base, opts); err != nil {
			err = fmt.Errorf("finding the base image of %s: %w", lang.Name, err)
			return "", hint.Add(err, "build the package of the function with a base image from another registry, and name its file with "+hint.Package+" NAME=FILE")
		}
	}
	built, err := lang.Build(ctx, src, opts)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, built.Images.Close()) }()
	store, err := image.Open(b.Cache)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.Save(ctx, built.Images.All[0])
}

// Runtime returns a runtime that starts functions with next. It first builds the image of a
// function whose package is a folder with source code. With goProcess, next itself compiles
// Go.
func (b Builder) Runtime(next runtimes.Runtime, goProcess bool) runtimes.Runtime {
	return building{next, b, goProcess}
}

type building struct {
	next      runtimes.Runtime
	builder   Builder
	goProcess bool
}

var (
	_ runtimes.Preparer  = building{}
	_ runtimes.Prober    = building{}
	_ runtimes.Annotated = building{}
)

// builds reports whether the image of a function must be built.
func (r building) builds(fn runtimes.Function) bool {
	if !runtimes.IsSource(fn.Package) {
		return false
	}
	lang, err := Detect(fn.Package)
	return err == nil && !(r.goProcess && lang.Name == "go")
}

// Start builds the image of the function if necessary, and starts the function.
func (r building) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	if !r.builds(fn) {
		return r.next.Start(ctx, fn)
	}
	began := time.Now()
	buildCtx, isBuilt := runtimes.WithBuildTimeout(ctx)
	layout, err := r.builder.Build(buildCtx, fn.Package)
	isBuilt()
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	took := time.Since(began)
	built := fn
	built.Package = layout
	instance, err := r.next.Start(ctx, built)
	if err != nil {
		return nil, python.HintMissing(err, fn.Package)
	}
	meta := runtimes.SourceMetadata(fn.Package)
	instance.Capabilities, instance.Inputs = meta.Capabilities, meta.Inputs
	instance.Compiled += took
	instance.Detail = strings.Replace(instance.Detail, layout, "built from "+fn.Package, 1)
	return instance, nil
}

// Prepare prepares the functions whose images need not be built.
func (r building) Prepare(ctx context.Context, fns ...runtimes.Function) error {
	return runtimes.Prepare(ctx, r.next, slices.DeleteFunc(slices.Clone(fns), r.builds)...)
}

// Probe probes the next runtime.
func (r building) Probe(ctx context.Context) error { return runtimes.Probe(ctx, r.next) }

// Annotations returns the annotations of the next runtime.
func (r building) Annotations() []string {
	if a, ok := r.next.(runtimes.Annotated); ok {
		return a.Annotations()
	}
	return nil
}
