package typescript

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

const tsconfig = "tsconfig.json"

type project struct {
	// dir has the source, lockDir the lock file, and root all files of the project. The paths
	// are absolute. dir is in lockDir or equal to it, and lockDir is in root or equal to it.
	dir, lockDir, root string
	// written is the path of dir as the user wrote it, for positions.
	written string
	// from is the path of dir in lockDir, or "" if they are the same.
	from     string
	manifest *npm.Manifest
	lock     *npm.Lock
}

// readProject reads the manifest and the lock file of the function in dir.
func readProject(dir, root string) (*project, error) {
	p, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	if p.root = p.dir; root != "" {
		if p.root, err = filepath.Abs(root); err != nil {
			return nil, err
		}
	}
	if err := p.findLock(); err != nil {
		return nil, err
	}
	data, err := readFile(filepath.Join(p.lockDir, npm.LockFile), npm.MaxLock)
	if err != nil {
		return nil, err
	}
	if p.lock, err = npm.ParseLock(data); err != nil {
		return nil, fmt.Errorf("reading %q: %w", npm.LockFile, err)
	}
	return p, p.lock.Check(p.from, p.manifest)
}

// readManifest returns the project in dir with its manifest only.
func readManifest(dir string) (*project, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	data, err := readFile(filepath.Join(abs, npm.ManifestFile), npm.MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		err = hint.Wrap(err, "name the folder that has "+npm.ManifestFile)
	}
	if err != nil {
		return nil, err
	}
	m, err := npm.ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", npm.ManifestFile, err)
	}
	return &project{dir: abs, written: dir, manifest: m}, nil
}

// findLock finds the lock file: in the folder of the function, or, for a workspace, in a
// folder above it in the project.
func (p *project) findLock() error {
	if !fsx.IsWithin(p.root, p.dir) {
		return fmt.Errorf("the function is outside of the project %q", p.root)
	}
	for at := p.dir; ; at = filepath.Dir(at) {
		found, err := language.Has(at, npm.LockFile)
		if err != nil {
			return fmt.Errorf("reading %q: %w", npm.LockFile, err)
		}
		if found {
			from, err := filepath.Rel(at, p.dir)
			if p.lockDir = at; from != "." {
				p.from = filepath.ToSlash(from)
			}
			return err
		}
		if at == p.root {
			return p.noLock()
		}
	}
}

// checkSource returns the errors in the source that need none of its packages: errors of the syntax,
// and imports of packages that the manifest lacks, but had when the lock file was written.
func (p *project) checkSource(ctx context.Context) error {
	entry, err := p.entry()
	if err != nil {
		return err
	}
	done, err := build(ctx, api.BuildOptions{
		EntryPoints: []string{"./" + entry}, AbsWorkingDir: p.dir, Outfile: filepath.Join(p.dir, bundleFile), Bundle: true,
		Platform: api.PlatformNode, Format: api.FormatESModule, Packages: api.PackagesExternal, Metafile: true, LogLevel: api.LogLevelSilent,
	})
	if err != nil {
		return err
	}
	// With NoBundle, Node.js resolves imports.
	wrong := slices.DeleteFunc(done.errors, func(m api.Message) bool { return strings.HasPrefix(m.Text, "Could not resolve") })
	if len(wrong) > 0 || done.meta == nil {
		return p.explain(wrong)
	}
	for _, out := range done.meta.Outputs {
		for _, i := range out.Imports {
			if name := packageName(i.Path); p.lock.Dropped(p.from, p.manifest, name) {
				err := fmt.Errorf("%s imports %s, which %s lists and %s does not", entry, name, npm.LockFile, npm.ManifestFile)
				return hint.Wrap(err, "add the package to dependencies, with npm install "+name)
			}
		}
	}
	return nil
}

// noLock returns an error for a project without a lock file of npm.
func (p *project) noLock() error {
	for _, other := range []struct{ file, tool string }{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}} {
		if found, err := language.Has(p.dir, other.file); found && err == nil {
			return hint.Wrap(fmt.Errorf("expected %q, got only %q of %s", npm.LockFile, other.file, other.tool),
				"run npm install, and commit "+npm.LockFile)
		}
	}
	return hint.Wrap(fmt.Errorf("reading %q: %w", npm.LockFile, fs.ErrNotExist), "run npm install, and commit "+npm.LockFile)
}

func readFile(name string, limit int64) ([]byte, error) {
	data, err := fsx.ReadFile(name, limit)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", filepath.Base(name), err)
	}
	return data, nil
}

// The endings of source files.
var (
	typeScript = []string{".ts", ".mts", ".cts", ".tsx"}
	javaScript = []string{".js", ".mjs", ".cjs", ".jsx"}
)

// entry returns the path of the file in which the function starts, relative to the folder
// of the project: the source of "main" in the manifest, or a file with a usual name.
func (p *project) entry() (string, error) {
	main := path.Clean("/" + strings.TrimPrefix(p.manifest.Main, "./"))[1:]
	stem := strings.TrimSuffix(main, path.Ext(main))
	var stems []string
	if _, below, ok := strings.Cut(stem, "/"); ok { // such as dist/main.js
		stems = append(stems, "src/"+below)
	}
	if stem != "" {
		stems = append(stems, "src/"+stem, stem)
	}
	stems = append(stems, "src/main", "main", "src/index", "index")
	if found := p.find(stems, typeScript); found != "" {
		return found, nil
	}
	if !p.has(tsconfig) {
		if main != "" && p.has(main) {
			return main, nil
		}
		if found := p.find(stems, javaScript); found != "" {
			return found, nil
		}
	}
	err := fmt.Errorf("%s: found no file in which the function starts, such as %q", npm.ManifestFile, stems[0]+".ts")
	return "", hint.Wrap(err, hint.Hint("move the file there, or name its compiled file as \"main\" in "+npm.ManifestFile+", such as dist/main.js for src/main.ts"))
}

// otherMain returns a note if "main" in the manifest names neither a file nor the compiled file of the
// entry, or "". npm init names index.js, which need not exist.
func (p *project) otherMain() string {
	const byDefault = "index.js"
	entry, err := p.entry()
	main := strings.TrimPrefix(p.manifest.Main, "./")
	stem := func(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }
	if err != nil || main == "" || main == byDefault || stem(main) == stem(entry) || p.has(main) {
		return ""
	}
	return fmt.Sprintf("%s%s: main is %q, which has no source file: the function starts in %s", npm.ManifestFile, p.manifest.Line("main"), main, entry)
}

// find returns the first file with one of these names and endings, or "".
func (p *project) find(stems, endings []string) string {
	for _, s := range stems {
		for _, ending := range endings {
			if p.has(s + ending) {
				return s + ending
			}
		}
	}
	return ""
}

func (p *project) has(name string) bool {
	found, err := language.Has(p.dir, filepath.FromSlash(name))
	return found && err == nil
}

// watch returns the manifest, the lock file, the compiler's options, the folder of the source,
// and the folders of the project that are packages.
func watch(dir string) ([]string, error) {
	p, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	entry, err := p.entry()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range []string{npm.ManifestFile, npm.LockFile, tsconfig, ".npmrc"} {
		if p.has(name) {
			all = append(all, filepath.Join(dir, name))
		}
	}
	if root, err := language.Root(dir); err == nil {
		if full, err := readProject(dir, root); err == nil { // or else the next build reports the error
			if full.from != "" {
				all = append(all, filepath.Join(full.lockDir, npm.LockFile))
			}
			for _, at := range full.lock.Links() {
				if at != full.from {
					all = append(all, filepath.Join(full.lockDir, filepath.FromSlash(at)))
				}
			}
		}
	}
	if top, _, nested := strings.Cut(entry, "/"); nested {
		return append(all, filepath.Join(dir, top)), nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	for _, e := range entries {
		if !leftOut(e.Name()) && (e.IsDir() || path.Ext(e.Name()) == path.Ext(entry)) {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all, nil
}

// leftOut reports whether a file or folder in a project, by its name, is not source code.
func leftOut(name string) bool {
	return name == "node_modules" || name == "dist" || strings.HasPrefix(name, ".") || path.Ext(name) == ".xpkg" || fsx.IsTemporary(name)
}
