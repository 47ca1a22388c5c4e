package typescript

import (
	"context"
	"fmt"
	"io"
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

// folder is the path in the image of the folder with the lock file.
const folder = "function"

// bundleLayers returns the layers of a bundled function, and the path of its program in the
// working directory.
func (b *builder) bundleLayers(ctx context.Context, t *tree) ([]runtimeimage.Layer, string, error) {
	made, err := t.bundle()
	if err != nil {
		return nil, "", err
	}
	if err := b.use(t, slices.Concat(made.packages, made.external)); err != nil {
		return nil, "", err
	}
	var layers []runtimeimage.Layer
	if len(made.external) > 0 {
		layer, err := b.packagesLayer(ctx, t, made.external)
		if err != nil {
			return nil, "", err
		}
		layers = append(layers, layer)
	}
	at := path.Join(folder, b.from, bundleFile)
	files := []runtimeimage.TarFile{runtimeimage.NewTarFile(at, 0o644, made.code), runtimeimage.NewTarFile(at+".map", 0o644, made.sourceMap)}
	return append(layers, layerOf(ctx, "bundle "+t.key, files)), bundleFile, nil
}

// layerOf returns a layer with these files and the folders that they are in.
func layerOf(ctx context.Context, key string, files []runtimeimage.TarFile) runtimeimage.Layer {
	slices.SortFunc(files, func(a, b runtimeimage.TarFile) int {
		return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
	})
	return runtimeimage.Layer{Key: key, Write: func(w io.Writer) error { return runtimeimage.WriteTar(ctx, w, files) }}
}

// fileOf returns the file of a layer, with the name there, for a regular file.
func fileOf(name, file string, info fs.FileInfo) runtimeimage.TarFile {
	open := func() (io.ReadCloser, error) { return os.Open(file) }
	return runtimeimage.TarFile{Path: name, Mode: runtimeimage.ModeOf(info, open), Size: info.Size(), Open: open}
}

func (b *builder) packagesLayer(ctx context.Context, t *tree, all []*npm.Package) (runtimeimage.Layer, error) {
	files := &collector{}
	for _, p := range all {
		at := path.Join(folder, p.At)
		switch {
		case strings.HasPrefix(p.At, "../"), strings.HasPrefix(p.Folder, "../"):
			return runtimeimage.Layer{}, fmt.Errorf("the package %s is the folder %q, which is outside of the folder of %s: only a bundle can contain such a package", p.Import, p.Folder, npm.LockFile)
		case p.Bundled:
		case p.Link:
			up := strings.Repeat("../", strings.Count(p.At, "/"))
			files.all = append(files.all, runtimeimage.TarFile{Path: at, Link: up + p.Folder})
			dir := filepath.Join(b.lockDir, filepath.FromSlash(p.Folder))
			if err := files.add(ctx, dir, path.Join(folder, p.Folder), func(name string) bool { return name != "dist" && leftOut(name) }); err != nil {
				return runtimeimage.Layer{}, err
			}
		default:
			if err := files.add(ctx, t.unpacked[p.At].Dir, at, func(string) bool { return false }); err != nil {
				return runtimeimage.Layer{}, err
			}
		}
	}
	return layerOf(ctx, "packages "+keyOf(all), files.all), nil
}

type collector struct {
	all  []runtimeimage.TarFile
	size int64
}

// add adds the files in dir, at a path in the image, except those whose name skip matches.
func (c *collector) add(ctx context.Context, dir, at string, skip func(name string) bool) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fsx.Cause(err)
		case file != dir && skip(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil // a folder, or what no image needs
		}
		info, err := d.Info()
		if err != nil {
			return fsx.Cause(err)
		}
		if c.size += info.Size(); c.size > runtimeimage.MaxBytes || len(c.all) == runtimeimage.MaxFiles {
			return fmt.Errorf("the files of the function are more than %d, or larger than %d GiB", runtimeimage.MaxFiles, runtimeimage.MaxBytes>>30)
		}
		rel, err := filepath.Rel(dir, file)
		c.all = append(c.all, fileOf(path.Join(at, filepath.ToSlash(rel)), file, info))
		return err
	})
}

// checkScript returns an error for a package that does not work before its install script
// has compiled it.
func (t *tree) checkScript(p *npm.Package) error {
	u := t.unpacked[p.At]
	if !p.InstallScript || !u.Gyp || u.Native {
		return nil
	}
	for _, at := range p.Needs {
		if t.unpacked[at].Native {
			return nil
		}
	}
	err := fmt.Errorf("package %s must be compiled by its install script, which is not run", p)
	return hint.Wrap(err, "use a version of it with compiled files for Linux, or build the folder elsewhere and embed it with "+hint.EmbedRuntimeDir)
}
