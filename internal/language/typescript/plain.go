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

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// compiled is the folder into which tsc writes with the settings of the official template.
const compiled = "dist"

// plainLayers returns the layers of a function that is not bundled: the packages, then the
// manifest and the JavaScript. It also returns the path of the program in the working
// directory.
func (b *builder) plainLayers(ctx context.Context, t *tree) ([]runtimeimage.Layer, string, error) {
	entry, err := b.entry()
	if err != nil {
		return nil, "", err
	}
	at, files := path.Join(folder, b.from), &collector{}
	manifest := filepath.Join(b.dir, npm.ManifestFile)
	info, err := os.Stat(manifest)
	if err != nil {
		return nil, "", fsx.Cause(err)
	}
	files.all = append(files.all, fileOf(path.Join(at, npm.ManifestFile), manifest, info))
	main := entry
	if slices.Contains(typeScript, path.Ext(entry)) {
		if main, err = b.compiledFile(entry); err != nil {
			return nil, "", err
		}
		err = files.add(ctx, filepath.Join(b.dir, compiled), path.Join(at, compiled), fsx.IsTemporary)
	} else {
		err = b.addSource(ctx, files, at)
	}
	if err != nil {
		return nil, "", err
	}
	layers := []runtimeimage.Layer{layerOf(ctx, "source", files.all)}
	if len(t.packages) > 0 {
		packages, err := b.packagesLayer(ctx, t, t.packages)
		if err != nil {
			return nil, "", err
		}
		layers = slices.Insert(layers, 0, packages)
	}
	return layers, main, b.use(t, t.packages)
}

func (b *builder) addSource(ctx context.Context, files *collector, at string) error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return fsx.Cause(err)
	}
	for _, e := range entries {
		if leftOut(e.Name()) || e.Name() == npm.ManifestFile || e.Name() == npm.LockFile {
			continue
		}
		if err := files.add(ctx, filepath.Join(b.dir, e.Name()), path.Join(at, e.Name()), leftOut); err != nil {
			return err
		}
	}
	return nil
}

// compiledFile returns the path of the file that tsc writes for the entry. It returns an
// error if tsc has not written it, or if a source file is newer than what tsc wrote for it.
func (b *builder) compiledFile(entry string) (string, error) {
	top, below, _ := strings.Cut(entry, "/")
	if below == "" {
		top, below = ".", entry
	}
	var main, from string
	for _, place := range []struct{ main, from string }{{below, top}, {entry, "."}} {
		main, from = path.Join(compiled, javaScriptOf(place.main)), place.from
		if b.has(main) {
			break
		}
	}
	const run hint.Hint = "run npx tsc"
	if !b.has(main) {
		return "", hint.Wrap(fmt.Errorf("expected the compiled file of %q as %q, or elsewhere in %q", entry, path.Join(compiled, javaScriptOf(below)), compiled), run)
	}
	err := filepath.WalkDir(filepath.Join(b.dir, filepath.FromSlash(top)), func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return fsx.Cause(err)
		}
		if d.IsDir() && (leftOut(d.Name()) && d.Name() != ".") {
			return fs.SkipDir
		}
		if !slices.Contains(typeScript, path.Ext(d.Name())) || strings.HasSuffix(d.Name(), ".d.ts") {
			return nil
		}
		return b.checkAge(file, from)
	})
	return main, hint.Wrap(err, run)
}

// javaScriptOf returns the name of the file that tsc writes for a source file.
func javaScriptOf(name string) string {
	ending := path.Ext(name)
	return strings.TrimSuffix(name, ending) + strings.Replace(strings.Replace(ending, "ts", "js", 1), "x", "", 1)
}

// checkAge returns an error if a source file is newer than its compiled file. from is the
// folder that corresponds to the folder of compiled files. Source files without a compiled
// file may be tests.
func (b *builder) checkAge(file, from string) error {
	rel, _ := filepath.Rel(filepath.Join(b.dir, filepath.FromSlash(from)), file) // file is below it.
	source, err := os.Stat(file)
	if err != nil {
		return fsx.Cause(err)
	}
	made, err := os.Stat(filepath.Join(b.dir, compiled, javaScriptOf(rel)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fsx.Cause(err)
	}
	if source.ModTime().After(made.ModTime()) {
		name, _ := filepath.Rel(b.dir, file)
		return fmt.Errorf("%q is newer than its compiled file %q", filepath.ToSlash(name), path.Join(compiled, javaScriptOf(filepath.ToSlash(rel))))
	}
	return nil
}
