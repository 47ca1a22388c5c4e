package typescript

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

const (
	// bundleFile is the path of the bundle in the function's folder. It is as deep in the
	// folder as the files that tsc writes. The ending .mjs makes it a module without a
	// package.json.
	bundleFile = "dist/main.mjs"
	// oldestNode is the oldest version of Node.js that can run a bundle.
	oldestNode = "20"
	// maxMessages limits the messages of esbuild that are shown.
	maxMessages = 10
)

// banner defines what CommonJS modules in a bundle expect. Global names do not collide with
// names in the source, as a declaration would.
const banner = `import { createRequire as __createRequire } from "node:module";
globalThis.require ??= __createRequire(import.meta.url);
globalThis.__filename ??= import.meta.filename ?? new URL(import.meta.url).pathname;
globalThis.__dirname ??= new URL(".", import.meta.url).pathname.slice(0, -1);`

type bundle struct {
	code, sourceMap []byte
	// packages are the packages that have a part in the bundle. external are the packages
	// that the bundle loads from node_modules, and their dependencies.
	packages, external []*npm.Package
	warnings           []string
}

func (b *builder) makeBundle(ctx context.Context, t *tree) (_ *bundle, err error) {
	work, path, err := fsx.MakeTempDirIn(b.tempDir())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, work.Close()) }()
	at, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	v, err := newView(ctx, b.project, t, at)
	if err != nil {
		return nil, err
	}
	entry, err := b.entry()
	if err != nil {
		return nil, err
	}
	b.opts.Progress.Step("bundling " + entry)
	done, err := v.split(ctx, entry, filepath.Join(b.src.Artifacts.Dir, Cache().Name, bundlesFolder))
	if errors.Is(err, errWhole) {
		done, err = v.whole(ctx, entry)
	}
	if err != nil {
		return nil, err
	}
	for _, text := range done.warnings {
		b.opts.Progress.Warn(text)
	}
	return done, nil
}

func (b *builder) tempDir() string { return cmp.Or(b.opts.TempDir, os.TempDir()) }

func (v *view) options(entry string) api.BuildOptions {
	dir := filepath.Join(v.at, filepath.FromSlash(v.relative(".")))
	return api.BuildOptions{
		EntryPoints: []string{"./" + entry}, AbsWorkingDir: dir, Outfile: filepath.Join(dir, filepath.FromSlash(bundleFile)),
		Bundle: true, Platform: api.PlatformNode, Format: api.FormatESModule, Engines: []api.Engine{{Name: api.EngineNode, Version: oldestNode}},
		PreserveSymlinks: true, External: v.external, Metafile: true, LegalComments: api.LegalCommentsEndOfFile,
		SourcesContent: api.SourcesContentExclude, Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent,
	}
}

// relative returns the path in the view of a path that is relative to the function.
func (v *view) relative(name string) string {
	rel, _ := filepath.Rel(v.root, v.dir) // Both are absolute.
	return path.Join(filepath.ToSlash(rel), name)
}

// A built is the output of esbuild. If it has errors, all other fields are empty.
type built struct {
	errors          []api.Message
	warnings        []string
	code, sourceMap []byte
	meta            *metafile
}

func build(ctx context.Context, o api.BuildOptions) (*built, error) {
	c, failed := api.Context(o)
	if failed != nil {
		return &built{errors: failed.Errors}, nil
	}
	defer c.Dispose()
	stop := context.AfterFunc(ctx, c.Cancel)
	result := c.Rebuild()
	stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(result.Errors) > 0 {
		return &built{errors: result.Errors}, nil
	}
	b := &built{meta: &metafile{}}
	if err := json.Unmarshal([]byte(result.Metafile), b.meta); err != nil {
		return nil, fmt.Errorf("reading the description of the bundle: %w", err)
	}
	for _, m := range result.Warnings[:min(len(result.Warnings), maxMessages)] {
		b.warnings = append(b.warnings, locate("", m)+m.Text)
	}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			b.sourceMap = f.Contents
		} else {
			b.code = f.Contents
		}
	}
	return b, nil
}

func (v *view) whole(ctx context.Context, entry string) (*bundle, error) {
	o := v.options(entry)
	o.Sourcemap, o.Banner = api.SourceMapLinked, map[string]string{"js": banner}
	done, err := build(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(done.errors) > 0 {
		return nil, v.explain(done.errors)
	}
	b := &bundle{code: done.code, sourceMap: done.sourceMap, warnings: done.warnings}
	return b, v.setPackages(b, done.meta)
}

// locate returns the position of a message about a function in dir, followed by ": ".
func locate(dir string, m api.Message) string {
	if m.Location == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", filepath.Join(dir, filepath.FromSlash(m.Location.File)), m.Location.Line, m.Location.Column+1)
}

func (p *project) explain(all []api.Message) error {
	var errs []error
	for _, m := range all[:min(len(all), maxMessages)] {
		err := errors.New(locate(p.written, m) + m.Text)
		name, _, missing := strings.Cut(strings.TrimPrefix(m.Text, `Could not resolve "`), `"`)
		if missing && strings.HasPrefix(m.Text, "Could not resolve") && !strings.HasPrefix(name, ".") {
			next, name := hint.Hint("add the package to dependencies, with npm install "), packageName(name)
			if p.manifest.Development[name] != "" {
				next = hint.Hint("move " + name + " from devDependencies to dependencies, with npm install -P ")
			}
			err = hint.Wrap(err, next+hint.Hint(name))
		}
		errs = append(errs, err)
	}
	if len(all) > maxMessages {
		errs = append(errs, fmt.Errorf("and %d more errors", len(all)-maxMessages))
	}
	return errors.Join(errs...)
}

// packageName returns the name of the package that has a module, such as "@a/b" for "@a/b/c".
func packageName(module string) string {
	parts := strings.SplitN(module, "/", 3)
	if strings.HasPrefix(module, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// externals returns the names of the packages that cannot be bundled: those with compiled
// code, and those that choose among packages for different platforms at run time.
func (t *tree) externals() []string {
	native := map[string]bool{} // by location
	for _, p := range t.packages {
		native[p.At] = t.unpacked[p.At].Native || p.Specific
	}
	names := map[string]bool{}
	for _, p := range t.packages {
		if native[p.At] || slices.ContainsFunc(p.Needs, func(at string) bool { return native[at] }) {
			names[p.Import] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// A metafile is esbuild's description of a build. The names of files are relative to the function.
type metafile struct {
	Inputs map[string]struct {
		Format string `json:"format"`
	} `json:"inputs"`
	Outputs map[string]struct {
		Inputs  map[string]struct{} `json:"inputs"`
		Imports []struct {
			Path string `json:"path"`
			Kind string `json:"kind"`
		} `json:"imports"`
		Exports    []string `json:"exports"`
		EntryPoint string   `json:"entryPoint"`
	} `json:"outputs"`
}

// setPackages sets the packages of b from the bundles of which it consists. It returns an error if
// a file outside of the project is in them.
func (v *view) setPackages(b *bundle, parts ...*metafile) error {
	used, loaded := map[*npm.Package]bool{}, map[string]bool{}
	for _, meta := range parts {
		for _, name := range slices.Sorted(maps.Keys(meta.Inputs)) {
			if err := v.checkSource(name, v.relative(name)); err != nil {
				return err
			}
		}
		for _, out := range meta.Outputs {
			for name := range out.Inputs {
				if p := v.owner(v.relative(name)); p != nil {
					used[p] = true
				}
			}
			for _, i := range out.Imports {
				loaded[i.Path] = true
			}
		}
	}
	b.packages = byLocation(used)
	var err error
	b.external, err = v.loaded(loaded)
	return err
}

// checkSource returns an error if a file of the bundle is outside of the project, or is a
// link that leads there. at is its path in the view. Packages have no links.
func (v *view) checkSource(name, at string) error {
	p := v.owner(at)
	if p != nil && !p.Link {
		return nil
	}
	real, err := filepath.EvalSymlinks(filepath.Join(v.at, filepath.FromSlash(at)))
	if err != nil {
		return nil // not a file, such as a module that esbuild replaces
	}
	root, err := filepath.EvalSymlinks(v.root)
	if err != nil {
		return fsx.Cause(err)
	}
	if !fsx.IsWithin(root, real) {
		return fmt.Errorf("the source imports %q, which is outside of the project %q", name, v.root)
	}
	return nil
}

// owner returns the package that has a file of the view, or nil.
func (v *view) owner(file string) *npm.Package {
	for at := path.Dir(file); at != "." && at != "/"; at = path.Dir(at) {
		if p := v.packages[at]; p != nil {
			return p
		}
	}
	return nil
}

// loaded returns the packages that a bundle with these imports needs in node_modules.
func (v *view) loaded(imports map[string]bool) ([]*npm.Package, error) {
	byName, byAt := map[string][]*npm.Package{}, map[string]*npm.Package{}
	for _, p := range v.tree.packages {
		byName[p.Import] = append(byName[p.Import], p)
		byAt[p.At] = p
	}
	needed := map[*npm.Package]bool{}
	var add func(p *npm.Package)
	add = func(p *npm.Package) {
		if needed[p] {
			return
		}
		needed[p] = true
		for _, at := range p.Needs {
			add(byAt[at])
		}
	}
	for _, name := range v.external {
		for module := range imports {
			if module != name && !strings.HasPrefix(module, name+"/") {
				continue
			}
			all := byName[name]
			if len(all) > 1 || all[0].At != "node_modules/"+name {
				err := fmt.Errorf("the package %q has compiled code, and must be in node_modules once, got %d locations such as %q", name, len(all), all[0].At)
				return nil, hint.Wrap(err, "keep all packages in node_modules, with "+hint.NoBundle)
			}
			add(all[0])
		}
	}
	return byLocation(needed), nil
}

func byLocation(set map[*npm.Package]bool) []*npm.Package {
	return slices.SortedFunc(maps.Keys(set), func(a, b *npm.Package) int { return strings.Compare(a.At, b.At) })
}
