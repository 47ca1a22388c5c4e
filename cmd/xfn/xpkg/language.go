package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

func (f *runtimeFlags) buildSource(ctx context.Context, program terminal.Program, opts runtimeimage.Options) (*language.Result, error) {
	if len(opts.Platforms) == 0 {
		opts.Platforms = []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}}
	}
	lang, err := f.language()
	if err != nil {
		return nil, err
	}
	for _, flag := range []struct {
		given          bool
		language, text string
	}{
		{f.Ldflags != "" || len(f.GoFlags) > 0, "go", "--ldflags and --go-flags are for Go"},
		{f.NoBundle, "typescript", "--no-bundle is for TypeScript"},
		{f.IndexURL != "", "python", "--index-url is for Python"},
	} {
		if flag.given && lang.Name != flag.language {
			return nil, &terminal.UsageError{Err: fmt.Errorf("%s, but the language of %q is %s", flag.text, f.EmbedRuntimeSource, lang.Name)}
		}
	}
	root, err := language.Root(f.EmbedRuntimeSource)
	if err != nil {
		return nil, err
	}
	src := language.Source{
		Dir: f.EmbedRuntimeSource, Root: root, Platforms: opts.Platforms, Labels: f.Label,
		LDFlags: f.Ldflags, GoFlags: f.goFlags(), NoBundle: f.NoBundle,
		Artifacts: f.Artifacts(f.Client(program), f.Offline, f.Index),
	}
	if err := lang.CheckSource(ctx, src, opts.Progress); err != nil {
		return nil, err
	}
	if src.Base, err = f.base(ctx, program, lang.Base, opts); err != nil {
		return nil, err
	}
	return lang.Build(ctx, src, opts)
}

// language returns the language of --language, or of the source, which may be in the folder
// function of --embed-runtime-source.
func (f *runtimeFlags) language() (language.Language, error) {
	if f.Language != "" {
		lang, err := languages.ByName(f.Language)
		return lang, terminal.Usage(terminal.Wrap(err, "reading --language"))
	}
	lang, source, err := languages.Find(f.EmbedRuntimeSource)
	f.EmbedRuntimeSource = source
	return lang, hint.Wrap(err, cmp.Or(hint.Of(err), "name the folder of the function's source, or set --language"))
}

func (f *runtimeFlags) buildBinaries(ctx context.Context, program terminal.Program, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	var programs []runtimeimage.Program
	opts.Platforms = nil
	for _, name := range slices.Sorted(maps.Keys(f.EmbedRuntimeBinary)) {
		p, err := ParsePlatform(name)
		if err != nil {
			return nil, err
		}
		programs = append(programs, runtimeimage.Program{Platform: *p, File: f.EmbedRuntimeBinary[name]})
		opts.Platforms = append(opts.Platforms, *p)
	}
	base, err := f.base(ctx, program, "", opts)
	if err != nil {
		return nil, err
	}
	return runtimeimage.FromPrograms(ctx, base, programs, runtimeimage.Config{Labels: f.Label}, opts)
}

// base returns the base images of --base-image or, without this flag, at the reference
// standard. Without both, it returns nil. It looks up the tag of --base-image in the
// registry, because the tag may have moved, and uses the cache for everything else.
func (f *runtimeFlags) base(ctx context.Context, program terminal.Program, standard string, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	at, policy, err := place{}, image.Always, error(nil)
	switch {
	case f.BaseImage != "":
		if at, err = f.parsePlace(f.BaseImage); err != nil {
			return nil, fmt.Errorf("reading --base-image: %w", err)
		}
	case standard != "":
		policy = image.IfNotPresent
		if at.remote, err = f.Reference(standard); err != nil {
			return nil, err
		}
		if opts.Pin != nil {
			if _, err := opts.Pin(at.remote); err != nil {
				return nil, hint.Wrap(fmt.Errorf("finding the base image: %w", err), "lock it with xfn lock --base-image "+standard)
			}
		}
	default:
		return nil, nil
	}
	var images *runtimeimage.Images
	if at.remote == nil {
		images, err = at.images(ctx, f.Client(program), program, opts)
	} else {
		images, err = f.cached(ctx, program, at, policy, opts)
	}
	if err != nil && f.BaseImage == "" {
		err = hint.Add(err, "name a mirror of it with --base-image")
	}
	return images, terminal.Wrap(err, "finding the base image")
}

// cached returns the images at a reference. Without a directory for the cache, it reads them
// from the registry.
func (f *runtimeFlags) cached(ctx context.Context, program terminal.Program, at place, policy image.Policy, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	dir, err := f.Path()
	switch {
	case err == nil:
		pull := image.Options{Remote: f.Client(program), Progress: opts.Progress, Offline: f.Offline, Pin: opts.Pin}
		return runtimeimage.FromCache(ctx, dir, at.remote, policy, pull, opts)
	case f.CacheDir != "" || f.Offline:
		return nil, err
	}
	images, fetchErr := at.images(ctx, f.Client(program), program, opts)
	if fetchErr != nil {
		return nil, errors.Join(fetchErr, err)
	}
	return images, nil
}
