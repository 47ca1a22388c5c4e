package typescript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// yieldCall is replaced by yield, which cannot be in a module.
const yieldCall = "__xfnYield();"

// packages is a bundle of roots, and of all that they import. Its code is the body of a generator
// function, which yields after each root that is a module.
type packages struct {
	Roots    []root
	Meta     *metafile
	Warnings []string
	Map      sourceMap
	Last     position
	// Size is the size of the mappings in Text. The code follows them.
	Size int
	Text []byte `json:"-"`
	// Sum is a checksum of Text.
	Sum uint32
}

// find returns the root with a path or the name of its module, or nil.
func (p *packages) find(path string) *root {
	path = strings.TrimSuffix(path, moduleEnd)
	for i := range p.Roots {
		if p.Roots[i].Path == path {
			return &p.Roots[i]
		}
	}
	return nil
}

// keptPackages returns the bundle of roots that the folder cache has, or creates it there.
func (v *view) keptPackages(ctx context.Context, roots []root, cache string) (*packages, error) {
	key, _ := json.Marshal([]any{1, esbuild(), oldestNode, v.relative("."), v.key, v.external, roots}) // Strings have no errors.
	file := filepath.Join(cache, fmt.Sprintf("%x", sha256.Sum256(key)))
	if data, err := os.ReadFile(file); err == nil {
		kept := &packages{}
		header, text, _ := bytes.Cut(data, []byte("\n"))
		if kept.Text = text; json.Unmarshal(header, kept) == nil && kept.Sum == crc32.ChecksumIEEE(text) {
			_ = fsx.Touch(file) // only a prune of the cache reads the time
			return kept, nil
		}
	}
	p := &packages{Roots: roots}
	if err := v.describe(ctx, p); err != nil {
		return nil, err
	}
	if err := v.bundlePackages(ctx, p); err != nil {
		return nil, err
	}
	if header, _ := json.Marshal(p); os.MkdirAll(cache, 0o700) == nil {
		_ = fsx.WriteCached(file, 0o600, slices.Concat(header, []byte("\n"), p.Text)) // or else the next build makes it again
	}
	return p, nil
}

// esbuild returns the version of esbuild. Another version may write another bundle.
func esbuild() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if strings.HasSuffix(m.Path, "/esbuild") {
				return m.Version
			}
		}
	}
	return ""
}

func (v *view) describe(ctx context.Context, p *packages) error {
	o := v.options("")
	o.EntryPoints, o.Outdir, o.Outfile = nil, o.AbsWorkingDir, ""
	for _, r := range p.Roots {
		o.EntryPoints = append(o.EntryPoints, filepath.Join(v.at, filepath.FromSlash(r.Path)))
	}
	done, err := run(ctx, o, func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: a.Path, External: a.Kind != api.ResolveEntryPoint}, nil
		})
	})
	if err != nil {
		return err
	}
	for _, out := range done.meta.Outputs {
		if r := p.find(v.relative(out.EntryPoint)); r != nil && done.meta.Inputs[out.EntryPoint].Format == "esm" {
			r.Module, r.Default = true, slices.Contains(out.Exports, "default")
		}
	}
	return nil
}

// bundlePackages sets all of p from its roots.
func (v *view) bundlePackages(ctx context.Context, p *packages) error {
	var entry strings.Builder
	for _, module := range []bool{false, true} { // the others run when they are required
		for _, r := range p.Roots {
			if r.Module == module {
				fmt.Fprintf(&entry, "import %s;\n", quote(rootScheme+r.Path))
			}
		}
	}
	o := v.options("")
	o.EntryPoints, o.Stdin = nil, &api.StdinOptions{Contents: entry.String(), ResolveDir: o.AbsWorkingDir}
	o.TsconfigRaw, o.Supported = "{}", map[string]bool{"top-level-await": false}
	done, err := runPart(ctx, o, func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: "^" + rootScheme}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: strings.TrimPrefix(a.Path, rootScheme) + moduleEnd, Namespace: packageSpace}, nil
		})
		v.onImport(b, v.builtinsByRequire)
		onLoad(b, builtinSpace, v.at, requireText)
		onLoad(b, packageSpace, v.at, func(path string) string { return p.find(path).load(v.at) })
	})
	if err == nil && slices.ContainsFunc(slices.Collect(maps.Keys(done.meta.Inputs)), v.isSource) {
		err = errWhole
	}
	if err != nil {
		return err
	}
	mappings := ""
	if p.Map, mappings, err = decodeMap(done.sourceMap); err != nil {
		return err
	}
	code := bytes.ReplaceAll(done.code, []byte("\n"+yieldCall+"\n"), []byte("\nyield;\n"))
	if bytes.Contains(code, []byte(yieldCall)) {
		return errWhole
	}
	p.Meta, p.Warnings, p.Last = done.meta, done.warnings, lastPosition(mappings)
	p.Size, p.Text = len(mappings), append([]byte(mappings), code...)
	p.Sum = crc32.ChecksumIEEE(p.Text)
	return nil
}

// load returns the module that adds the function for a root.
func (r *root) load(dir string) string {
	path, file := quote(r.Path), filepath.Join(dir, filepath.FromSlash(r.Path))
	if !r.Module {
		return "__xfnRoots[" + path + "] = () => require(" + quote(file) + ");"
	}
	return r.exports(file) + "import * as root from " + quote(rootScheme+r.Path) + ";\n" +
		"__xfnRoots[" + path + "] = () => Object.defineProperty(root, \"__esModule\", { value: true });\n" + yieldCall
}

// isSource reports whether an input of a bundle is a file of the project.
func (v *view) isSource(name string) bool {
	if p := v.owner(v.relative(name)); p != nil {
		return p.Link
	}
	return !strings.HasPrefix(name, "<") && !strings.HasPrefix(name, "(disabled):") &&
		!strings.HasPrefix(name, builtinSpace+":") && !strings.HasPrefix(name, packageSpace+":")
}

// The code that joins both parts. Each is in a function, so that neither sees the names of the other.
const (
	beforePackages = banner + `
const __xfnPackage = ((code, roots = {}, run = code(roots)) => (name) => {
  while (!roots[name] && !run.next().done);
  return roots[name]();
})((function* (__xfnRoots) {
`
	afterPackages = "}));\n"
	beforeSource  = "// source\nawait (async () => {\n"
	afterSource   = "})();\n//# sourceMappingURL=main.mjs.map\n"
)

// join returns the bundle of packages and the source that loads them.
func (p *packages) join(source *built) (*bundle, error) {
	code, err := source.withoutExports()
	if err != nil {
		return nil, err
	}
	m, mappings, err := decodeMap(source.sourceMap)
	if err != nil {
		return nil, err
	}
	theirs, text := p.Text[:p.Size], p.Text[p.Size:]
	b := &bundle{code: slices.Concat([]byte(beforePackages), text, []byte(afterPackages+beforeSource), code, []byte(afterSource)), warnings: slices.Concat(p.Warnings, source.warnings)}
	lines := func(text []byte) int { return bytes.Count(text, []byte("\n")) }
	var all bytes.Buffer
	all.WriteString(strings.Repeat(";", strings.Count(beforePackages, "\n")))
	all.Write(theirs)
	all.WriteString(strings.Repeat(";", lines(text)-bytes.Count(theirs, []byte(";"))+strings.Count(afterPackages, "\n")))
	// The first line before the source has a mapping to the start of its first file, and the second none.
	first := position{len(p.Map.Sources), 0, 0, len(p.Map.Names)}
	if len(m.Names) == 0 {
		first[3] = p.Last[3]
	}
	all.WriteString(p.Last.mapping(first) + ";A;" + mappings)
	b.sourceMap = sourceMap{slices.Concat(p.Map.Sources, m.Sources), slices.Concat(p.Map.Names, m.Names)}.encode(all.Bytes())
	return b, nil
}

// exportStatement matches the last statement that esbuild prints for a module with exports.
var exportStatement = proc.Regexp(`(?m)^export \{\n(?:  .*\n)+\};\n`)

// withoutExports returns the code without its export statement, which cannot be in a function.
func (b *built) withoutExports() ([]byte, error) {
	for _, out := range b.meta.Outputs {
		if len(out.Exports) == 0 {
			continue
		}
		if found := exportStatement().FindAllIndex(b.code, -1); len(found) == 1 { // and none in the text of a string
			return slices.Delete(b.code, found[0][0], found[0][1]), nil
		}
		return nil, errWhole
	}
	return b.code, nil
}
