package typescript

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// Language describes TypeScript and JavaScript.
func Language() language.Language {
	return language.Language{
		Name:   "typescript",
		Marks:  npm.ManifestFile + " and a file such as src/main.ts",
		Base:   "gcr.io/distroless/nodejs24-debian12:nonroot",
		Detect: detect,
		Lacks: func(dir string) error {
			p, err := readManifest(dir)
			if err != nil {
				return nil
			}
			_, err = p.entry()
			return err
		},
		Check: func(ctx context.Context, src language.Source) error {
			p, err := readProject(src.Dir, src.Root)
			if err != nil {
				return err
			}
			return p.checkSource(ctx)
		},
		Build: Build,
		Watch: watch,
	}
}

const bundlesFolder = "bundles"

// Cache describes what builds keep: bundles of packages, without the source that imports them.
func Cache() language.Cache {
	return language.Cache{Name: "typescript", Folders: []string{bundlesFolder}, Noun: "bundle"}
}

// sourceMaps is the option of Node.js that shows positions in the source in stack traces.
const sourceMaps = "enable-source-maps"

func detect(dir string) (bool, error) {
	has, err := language.Has(dir, npm.ManifestFile)
	if err != nil || !has {
		return false, err
	}
	p, err := readManifest(dir)
	if err != nil {
		return false, err
	}
	_, err = p.entry()
	return err == nil, nil
}

// Build bundles the source and the packages of its package-lock.json into one file, for each
// platform, and adds it to a base image that has Node.js. Packages with compiled code, and
// with src.NoBundle all packages, remain files in node_modules. The images depend only on
// the base images, the source, the lock file and opts.Created. Build runs no scripts and
// checks no types.
func Build(ctx context.Context, src language.Source, opts runtimeimage.Options) (*language.Result, error) {
	b, err := prepare(ctx, src, opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("building the function in %q: %w", src.Dir, err), src.Base.Close())
	}
	images, err := runtimeimage.FromLayers(ctx, runtimeimage.Layered{Base: src.Base, Platforms: src.Platforms, Layers: b.layers}, opts)
	if err != nil {
		return nil, fmt.Errorf("building the function in %q: %w", src.Dir, err)
	}
	b.note()
	return language.NewResult(src, images, slices.Collect(maps.Values(b.used)))
}

// A builder builds one function for several platforms.
type builder struct {
	*project
	src   language.Source
	opts  runtimeimage.Options
	trees map[string]*tree // by architecture; trees with the same packages are the same

	mu   sync.Mutex
	used map[string]language.Material // the packages in the images, as NAME@VERSION
	runs map[string]bool              // packages among them that have an install script
	// lacks are the optional packages that a lock file of another platform does not have.
	lacks map[string]bool
}

type tree struct {
	key      string
	packages []*npm.Package
	unpacked map[string]npm.Unpacked
	// bundle returns the bundle of the function with these packages.
	bundle func() (*bundle, error)
}

func prepare(ctx context.Context, src language.Source, opts runtimeimage.Options) (*builder, error) {
	if src.Base == nil {
		return nil, errors.New("no base image with Node.js is given")
	}
	if src.Artifacts.Dir == "" {
		return nil, errors.New("no folder for packages of npm is given")
	}
	p, err := readProject(src.Dir, src.Root)
	if err != nil {
		return nil, err
	}
	if note := p.otherMain(); note != "" {
		opts.Progress.Note(note)
	}
	config, err := npm.ReadConfig(p.lockDir, opts.Env)
	if err != nil {
		return nil, err
	}
	store := &npm.Store{Dir: filepath.Join(src.Artifacts.Dir, npm.Cache().Name), Client: src.Artifacts.Client, Config: config, Offline: src.Artifacts.Offline, Progress: opts.Progress}
	b := &builder{project: p, src: src, opts: opts, trees: map[string]*tree{}, used: map[string]language.Material{}, runs: map[string]bool{}, lacks: map[string]bool{}}
	same := map[string]*tree{}
	for _, platform := range src.Platforms {
		target, err := b.target(ctx, platform)
		if err != nil {
			return nil, err
		}
		packages, err := p.lock.Tree(p.from, p.manifest, target)
		if err != nil {
			return nil, err
		}
		t := &tree{key: keyOf(packages), packages: packages}
		if same[t.key] == nil {
			if t.unpacked, err = store.Get(ctx, packages, p.lockDir, p.root); err != nil {
				return nil, err
			}
			t.bundle = sync.OnceValues(func() (*bundle, error) { return b.makeBundle(ctx, t) })
			same[t.key] = t
		}
		b.trees[platform.Architecture] = same[t.key]
	}
	return b, nil
}

// keyOf returns a text that identifies the packages.
func keyOf(all []*npm.Package) string {
	var key strings.Builder
	for _, p := range all {
		fmt.Fprintln(&key, p.At, p.Integrity, p.Folder)
	}
	return key.String()
}

// layers returns the layers of the image for a platform: the packages, then the source.
func (b *builder) layers(ctx context.Context, t runtimeimage.Target) ([]runtimeimage.Layer, runtimeimage.Config, error) {
	node, err := nodeOf(ctx, t.Base)
	if err != nil {
		return nil, runtimeimage.Config{}, err
	}
	tree := b.trees[t.Platform.Architecture]
	var layers []runtimeimage.Layer
	var main string
	if b.src.NoBundle {
		layers, main, err = b.plainLayers(ctx, tree)
	} else {
		layers, main, err = b.bundleLayers(ctx, tree)
	}
	return layers, runtimeimage.Config{
		Entrypoint: []string{node, "--" + sourceMaps, main},
		Workdir:    "/" + path.Join(folder, b.from), Labels: b.src.Labels,
	}, err
}

// target returns the target of packages for a platform. It reads the base image only if the
// packages depend on its libc.
func (b *builder) target(ctx context.Context, platform v1.Platform) (npm.Target, error) {
	t := npm.TargetOf(platform.Architecture)
	if !b.lock.HasLibc() {
		return t, nil
	}
	base, err := b.src.Base.Of(platform)
	if err != nil {
		return t, fmt.Errorf("choosing a base image: %w", err)
	}
	t.Libc, err = libcOf(ctx, base)
	return t, err
}

// nodeOf returns the program of Node.js in a base image: the program in its entry
// point, as in distroless images, or node in PATH.
func nodeOf(ctx context.Context, base v1.Image) (string, error) {
	config, err := base.ConfigFile()
	if err != nil {
		return "", fmt.Errorf("reading the base image: %w", err)
	}
	if e := config.Config.Entrypoint; len(e) > 0 && path.Base(e[0]) == "node" {
		return e[0], nil
	}
	isNode := func(h *tar.Header) bool { return path.Base(h.Name) == "node" && h.Typeflag != tar.TypeDir }
	if found, err := find(ctx, base, isNode); err != nil || found {
		return "node", err
	}
	return "", hint.Wrap(errors.New("reading the base image: it has no program node"), "use a base image with Node.js")
}

func (b *builder) use(t *tree, packages []*npm.Package) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range packages {
		if p.Link {
			continue
		}
		if err := t.checkScript(p); err != nil {
			return err
		}
		m := language.Material{Name: p.Name, Version: p.Version, PURL: "pkg:npm/" + strings.Replace(p.Name, "@", "%40", 1) + "@" + p.Version}
		if d := t.unpacked[p.At].Digest; d != (v1.Hash{}) { // The tarball of another package contains a bundled one.
			m.Digest = d.String()
		}
		b.used[p.String()] = m
		if p.InstallScript {
			b.runs[p.String()] = true
		}
		for _, name := range p.Lacks {
			b.lacks[name] = true
		}
	}
	return nil
}

// note reports types that were not checked, the packages whose install scripts were not run, and the
// packages that may be missing.
func (b *builder) note() {
	if entry, err := b.entry(); err == nil && !b.src.NoBundle && slices.Contains(typeScript, path.Ext(entry)) {
		b.opts.Progress.Note("types are not checked: run tsc")
	}
	if len(b.lacks) > 0 {
		b.opts.Progress.Warn(fmt.Sprintf("%s lacks optional packages, which may be for Linux: %s; create it without node_modules", npm.LockFile, strings.Join(slices.Sorted(maps.Keys(b.lacks)), ", ")))
	}
	if len(b.runs) > 0 {
		b.opts.Progress.Note("install scripts of packages are not run: " + strings.Join(slices.Sorted(maps.Keys(b.runs)), ", "))
	}
}
