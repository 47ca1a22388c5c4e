package typescript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
	"github.com/xfn-dev/xfn/internal/proc"
)

// rootScheme is the prefix of imports of packages, in place of the path of a root. In a bundle of
// packages, it is the prefix of the module that loads a root.
const rootScheme = packageSpace + ":"

// The namespaces of modules that have no file.
const (
	// packageSpace has a module for each root.
	packageSpace = "package"
	// loadedSpace has modules that export what the roots of another bundle export.
	loadedSpace = "loaded"
	// builtinSpace has the modules of Node.js.
	builtinSpace = "builtin"
	// moduleEnd ends their names: esbuild treats default exports by endings such as .mjs.
	moduleEnd = "#"
)

// errWhole means that a source cannot be bundled apart from its packages. The reason depends only
// on the source and the packages, and not on the cache.
var errWhole = errors.New("the source and its packages must be bundled together")

// A root is a file of a package that the source imports.
type root struct {
	// Path is relative to the view.
	Path string
	// Names are the names that the source imports. "*" is the whole namespace.
	Names []string
	// Module is true for an ECMAScript module. Default reports whether a module has a default export.
	Module, Default bool
}

// split bundles the source, and joins it with the bundle of its packages, which it keeps in the
// folder cache. Modules run in the same order as in a bundle of everything. split returns
// errWhole for a source that:
//   - imports no package, or a package with import() or require(),
//   - is in CommonJS,
//   - imports a package with compiled code, or one whose package imports such a package,
//   - imports a package that imports a file of the project, or awaits at its top level,
//   - has errors.
func (v *view) split(ctx context.Context, entry, cache string) (*bundle, error) {
	roots, err := v.roots(ctx, entry)
	if err != nil {
		return nil, err
	}
	p, err := v.keptPackages(ctx, roots, cache)
	if err != nil {
		return nil, err
	}
	source, err := v.sourceOf(ctx, entry, p)
	if err != nil {
		return nil, err
	}
	b, err := p.join(source)
	if err != nil {
		return nil, err
	}
	return b, v.setPackages(b, p.Meta, source.meta)
}

// run runs esbuild with a plugin. It returns errWhole for errors.
func run(ctx context.Context, o api.BuildOptions, setup func(api.PluginBuild)) (*built, error) {
	o.Plugins = []api.Plugin{{Name: "xfn", Setup: setup}}
	b, err := build(ctx, o)
	if err == nil && len(b.errors) > 0 {
		err = errWhole
	}
	return b, err
}

// runPart is like run, for code that becomes the body of a function. It returns errWhole for
// import statements.
func runPart(ctx context.Context, o api.BuildOptions, setup func(api.PluginBuild)) (*built, error) {
	o.Sourcemap = api.SourceMapExternal
	b, err := run(ctx, o, setup)
	if err != nil {
		return nil, err
	}
	for _, out := range b.meta.Outputs {
		for _, i := range out.Imports {
			if i.Kind == "import-statement" {
				return nil, errWhole
			}
		}
	}
	return b, nil
}

// onImport calls found with an import and esbuild's result for it. If found returns an empty
// result, the import has esbuild's result. Each resolution by a plugin reads folders again, so
// onImport skips imports that found would not change, and keeps the results of the others.
func (v *view) onImport(b api.PluginBuild, found func(api.OnResolveArgs, api.ResolveResult) api.OnResolveResult) {
	var resolved proc.Memo[string, api.ResolveResult]
	b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		key := v.resolutionKey(a)
		if key == "" || a.PluginData == v || a.Kind == api.ResolveEntryPoint || a.Namespace == packageSpace {
			return api.OnResolveResult{}, nil
		}
		r := resolved.Get(key, func() api.ResolveResult {
			return b.Resolve(a.Path, api.ResolveOptions{Importer: a.Importer, Namespace: a.Namespace, ResolveDir: a.ResolveDir, Kind: a.Kind, With: a.With, PluginData: v})
		})
		return found(a, r), nil
	})
}

// resolutionKey identifies the result of resolving an import. It is empty if a file imports a file
// beside it, and if a package imports a package.
func (v *view) resolutionKey(a api.OnResolveArgs) string {
	rel, err := filepath.Rel(v.at, a.ResolveDir)
	dir := filepath.ToSlash(rel)
	fromPackage := err == nil && v.inPackage(dir)
	name := packageName(a.Path)
	switch {
	case strings.HasPrefix(a.Path, ".") && (fromPackage || !v.inPackage(path.Join(dir, a.Path))):
		return ""
	case fromPackage && (strings.HasPrefix(a.Path, "#") || slices.ContainsFunc(v.tree.packages, func(p *npm.Package) bool { return p.Import == name })):
		return ""
	case fromPackage:
		return a.Path
	default:
		return fmt.Sprint(a.Path, "\n", dir, "\n", a.Kind)
	}
}

func (v *view) inPackage(at string) bool {
	p := v.owner(at + "/file")
	return p != nil && !p.Link
}

func onLoad(b api.PluginBuild, namespace, dir string, text func(path string) string) {
	b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		content := text(a.Path)
		return api.OnLoadResult{Contents: &content, ResolveDir: dir, Loader: api.LoaderJS}, nil
	})
}

// builtinsByRequire replaces import statements of modules that Node.js has by require, as
// statements cannot be in a function.
func (v *view) builtinsByRequire(a api.OnResolveArgs, r api.ResolveResult) api.OnResolveResult {
	if !r.External || a.Kind != api.ResolveJSImportStatement || slices.ContainsFunc(v.external, func(name string) bool {
		return r.Path == name || strings.HasPrefix(r.Path, name+"/")
	}) {
		return api.OnResolveResult{}
	}
	return api.OnResolveResult{Path: r.Path, Namespace: builtinSpace}
}

func requireText(path string) string { return "module.exports = require(" + quote(path) + ");" }

func quote(text string) string {
	data, _ := json.Marshal(text) // a string has no errors
	return string(data)
}

// pathOf returns the path in the view of a file of a package, or "".
func (v *view) pathOf(r api.ResolveResult) string {
	if len(r.Errors) > 0 || r.External || r.Namespace != "file" {
		return ""
	}
	rel, err := filepath.Rel(v.at, r.Path)
	if err != nil {
		return ""
	}
	if at := filepath.ToSlash(rel); v.inPackage(at) {
		return at
	}
	return ""
}

// importLine matches a statement that esbuild prints for an import of a root.
var importLine = proc.Regexp(`(?m)^import (?:([^"';]*?) from )?"` + rootScheme + `([^"]+)";$`)

// roots returns the roots that the source imports, in the order in which they run.
func (v *view) roots(ctx context.Context, entry string) ([]root, error) {
	var mixed atomic.Bool
	o := v.options(entry)
	b, err := run(ctx, o, func(b api.PluginBuild) {
		v.onImport(b, func(a api.OnResolveArgs, r api.ResolveResult) api.OnResolveResult {
			at := v.pathOf(r)
			if at == "" {
				return api.OnResolveResult{}
			}
			if a.Kind != api.ResolveJSImportStatement {
				mixed.Store(true)
			}
			return api.OnResolveResult{Path: rootScheme + at, External: true}
		})
	})
	if err != nil {
		return nil, err
	}
	var all []root
	for _, m := range importLine().FindAllSubmatch(b.code, -1) {
		at := string(m[2])
		i := slices.IndexFunc(all, func(r root) bool { return r.Path == at })
		if i < 0 {
			i, all = len(all), append(all, root{Path: at})
		}
		all[i].Names = append(all[i].Names, importedNames(string(m[1]))...)
	}
	if mixed.Load() || len(all) == 0 || b.meta.Inputs[entry].Format == "cjs" {
		return nil, errWhole
	}
	for i, r := range all {
		slices.Sort(r.Names)
		all[i].Names = slices.Compact(r.Names)
	}
	return all, nil
}

// importedNames returns the names in a clause such as `d, { a, b as c }`.
func importedNames(clause string) []string {
	var all []string
	outer, inner, _ := strings.Cut(clause, "{")
	for _, name := range strings.Split(outer, ",") {
		switch name = strings.TrimSpace(name); {
		case strings.HasPrefix(name, "*"):
			all = append(all, "*")
		case name != "":
			all = append(all, "default")
		}
	}
	for _, name := range strings.Split(strings.Trim(inner, " }\n"), ",") {
		if name, _, _ = strings.Cut(strings.TrimSpace(name), " as "); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// sourceOf bundles the source. Its imports of packages load roots of p.
func (v *view) sourceOf(ctx context.Context, entry string, p *packages) (*built, error) {
	return runPart(ctx, v.options(entry), func(b api.PluginBuild) {
		load := func(path string) string { return "module.exports = __xfnPackage(" + quote(p.find(path).Path) + ");" }
		b.OnResolve(api.OnResolveOptions{Filter: ".*", Namespace: packageSpace}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: a.Importer, Namespace: loadedSpace}, nil
		})
		v.onImport(b, func(a api.OnResolveArgs, r api.ResolveResult) api.OnResolveResult {
			at := v.pathOf(r)
			switch {
			case at == "":
				return v.builtinsByRequire(a, r)
			case p.find(at) == nil: // a form of import that importLine does not match
				return api.OnResolveResult{Errors: []api.Message{{Text: errWhole.Error()}}}
			}
			return api.OnResolveResult{Path: at + moduleEnd, Namespace: packageSpace}
		})
		onLoad(b, builtinSpace, v.at, requireText)
		onLoad(b, loadedSpace, v.at, load)
		onLoad(b, packageSpace, v.at, func(path string) string {
			if r := p.find(path); r.Module {
				return r.exports(loadedSpace)
			}
			return load(path)
		})
	})
}

// exports returns statements that export what the source imports, from another module.
func (r *root) exports(from string) string {
	var text strings.Builder
	names := r.Names
	if slices.Contains(names, "*") {
		fmt.Fprintf(&text, "export * from %s;\n", quote(from))
		names = nil
		if r.Default {
			names = []string{"default"}
		}
	}
	fmt.Fprintf(&text, "export { %s } from %s;\n", strings.Join(names, ", "), quote(from))
	return text.String()
}
