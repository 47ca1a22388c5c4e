package typescript

import (
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
	// bundleFile is the path of the bundle in the function's folder. Its depth is that of
	// the files that tsc writes. The ending .mjs makes it a module without a package.json.
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

// A bundle is a program in one file.
type bundle struct {
	code, sourceMap []byte
	// packages are those that have a part in the bundle. external are those that the bundle
	// loads from node_modules, and all that they need.
	packages, external []*npm.Package
}

// makeBundle bundles the function with the packages of a tree.
func (b *builder) makeBundle(ctx context.Context, t *tree) (_ *bundle, err error) {
	parent, err := os.OpenRoot(b.tempDir())
	if err != nil {
		return nil, fsx.Cause(err)
	}
	work, err := fsx.MakeTempDir(parent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, work.Close()) }()
	at, err := filepath.EvalSymlinks(filepath.Join(b.tempDir(), work.Name))
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
	return v.bundle(ctx, entry, b.opts.Progress.Warn)
}

func (b *builder) tempDir() string {
	if b.opts.TempDir != "" {
		return b.opts.TempDir
	}
	return os.TempDir()
}

// bundle runs esbuild.
func (v *view) bundle(ctx context.Context, entry string, warn func(string)) (*bundle, error) {
	rel, err := filepath.Rel(v.root, v.dir)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(v.at, rel)
	external := v.external()
	build, failed := api.Context(api.BuildOptions{
		EntryPoints: []string{"./" + entry}, AbsWorkingDir: dir, Outfile: filepath.Join(dir, filepath.FromSlash(bundleFile)),
		Bundle: true, Platform: api.PlatformNode, Format: api.FormatESModule, Engines: []api.Engine{{Name: api.EngineNode, Version: oldestNode}},
		PreserveSymlinks: true, External: external, Metafile: true, LegalComments: api.LegalCommentsEndOfFile,
		Sourcemap: api.SourceMapLinked, SourcesContent: api.SourcesContentExclude, Charset: api.CharsetUTF8,
		Banner: map[string]string{"js": banner}, LogLevel: api.LogLevelSilent,
	})
	if failed != nil {
		return nil, v.explain(failed.Errors)
	}
	defer build.Dispose()
	stop := context.AfterFunc(ctx, build.Cancel)
	result := build.Rebuild()
	stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(result.Errors) > 0 {
		return nil, v.explain(result.Errors)
	}
	for _, m := range result.Warnings[:min(len(result.Warnings), maxMessages)] {
		warn(locate(m) + m.Text)
	}
	b := &bundle{}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			b.sourceMap = f.Contents
		} else {
			b.code = f.Contents
		}
	}
	return b, v.usage(b, result.Metafile, filepath.ToSlash(rel))
}

// locate returns the position of a message, followed by ": ".
func locate(m api.Message) string {
	if m.Location == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", m.Location.File, m.Location.Line, m.Location.Column+1)
}

// explain returns an error with the messages of esbuild.
func (v *view) explain(all []api.Message) error {
	var errs []error
	for _, m := range all[:min(len(all), maxMessages)] {
		err := errors.New(locate(m) + m.Text)
		name, _, missing := strings.Cut(strings.TrimPrefix(m.Text, `Could not resolve "`), `"`)
		if missing && strings.HasPrefix(m.Text, "Could not resolve") && !strings.HasPrefix(name, ".") {
			err = hint.Wrap(err, v.adviceFor(name))
		}
		errs = append(errs, err)
	}
	if len(all) > maxMessages {
		errs = append(errs, fmt.Errorf("and %d more errors", len(all)-maxMessages))
	}
	return errors.Join(errs...)
}

// adviceFor returns the hint for an import that was not found.
func (v *view) adviceFor(module string) hint.Hint {
	parts := strings.SplitN(module, "/", 3)
	name := parts[0]
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		name += "/" + parts[1]
	}
	if v.manifest.Development[name] != "" {
		return hint.Hint("move " + name + " from devDependencies to dependencies, with npm install -P " + name)
	}
	return hint.Hint("add the package to dependencies, with npm install " + name)
}

// external returns the names of the packages that cannot be bundled: those with compiled
// code, and those that choose among packages for different platforms at run time.
func (v *view) external() []string {
	native := map[string]bool{} // by location
	for _, p := range v.tree.packages {
		native[p.At] = v.unpacked[p.At].Native || p.Specific
	}
	names := map[string]bool{}
	for _, p := range v.tree.packages {
		if native[p.At] || slices.ContainsFunc(p.Needs, func(at string) bool { return native[at] }) {
			names[p.Import] = true
		}
	}
	return sortedKeys(names)
}

// usage sets the packages of b from esbuild's description of the build. It returns an error
// if a file outside of the project is in the bundle.
func (v *view) usage(b *bundle, metafile, project string) error {
	var meta struct {
		Inputs map[string]struct {
			Imports []struct {
				Path     string `json:"path"`
				External bool   `json:"external"`
			} `json:"imports"`
		} `json:"inputs"`
		Outputs map[string]struct {
			Inputs map[string]struct {
				Bytes int `json:"bytesInOutput"`
			} `json:"inputs"`
			Imports []struct {
				Path string `json:"path"`
			} `json:"imports"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return fmt.Errorf("reading the description of the bundle: %w", err)
	}
	for _, name := range sortedKeys(meta.Inputs) {
		if err := v.checkSource(name, path.Join(project, name)); err != nil {
			return err
		}
	}
	used, loaded := map[*npm.Package]bool{}, map[string]bool{}
	for _, out := range meta.Outputs {
		for name := range out.Inputs {
			if p := v.owner(path.Join(project, name)); p != nil {
				used[p] = true
			}
		}
		for _, i := range out.Imports {
			loaded[i.Path] = true
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
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
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
	for _, name := range v.external() {
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
