package typescript

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
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
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// folder is the path in the image of the folder with the lock file.
const folder = "function"

// The limits of a layer are those of runtimeimage.FromDir.
const (
	maxFiles = 1 << 18
	maxBytes = 8 << 30
)

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
	files := []member{{name: at, data: made.code}, {name: at + ".map", data: made.sourceMap}}
	return append(layers, layerOf(ctx, "bundle "+t.key, files)), bundleFile, nil
}

// A member is a file of a layer. It has data, or the path of a file, or the target of a
// symbolic link.
type member struct {
	name       string
	data       []byte
	file, link string
}

// layerOf returns a layer with these files and the folders that they are in.
func layerOf(ctx context.Context, key string, files []member) runtimeimage.Layer {
	return runtimeimage.Layer{Key: key, Write: func(w io.Writer) error { return writeTar(ctx, w, files) }}
}

// writeTar writes a tar with these files, sorted, and the folders that they are in. Root
// owns all of them, and their modification time is zero.
func writeTar(ctx context.Context, w io.Writer, files []member) error {
	slices.SortFunc(files, func(a, b member) int { return slices.Compare(strings.Split(a.name, "/"), strings.Split(b.name, "/")) })
	tw := tar.NewWriter(w)
	made := map[string]bool{".": true}
	for _, f := range files {
		if err := writeFolders(tw, made, path.Dir(f.name)); err != nil {
			return err
		}
		if err := f.write(ctx, tw); err != nil {
			return fmt.Errorf("adding %q: %w", f.name, fsx.Cause(err))
		}
	}
	return tw.Close()
}

// writeFolders writes the headers of a folder and its parents, unless made has them.
func writeFolders(tw *tar.Writer, made map[string]bool, dir string) error {
	if made[dir] {
		return nil
	}
	if err := writeFolders(tw, made, path.Dir(dir)); err != nil {
		return err
	}
	made[dir] = true
	return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755})
}

func (m member) write(ctx context.Context, tw *tar.Writer) (err error) {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: m.name, Mode: 0o644, Size: int64(len(m.data))}
	var content io.Reader = bytes.NewReader(m.data)
	switch {
	case m.link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, m.link, 0o777
	case m.file != "":
		f, err := os.Open(m.file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return errors.New("expected a regular file")
		}
		if h.Size = info.Size(); info.Mode()&0o100 != 0 {
			h.Mode = 0o755
		}
		content = io.LimitReader(oci.Reader(ctx, f), h.Size)
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(tw, content)
	return err
}

// packagesLayer returns a layer with packages in node_modules.
func (b *builder) packagesLayer(ctx context.Context, t *tree, all []*npm.Package) (runtimeimage.Layer, error) {
	files := &collector{}
	for _, p := range all {
		at := path.Join(folder, p.At)
		switch {
		case strings.HasPrefix(p.At, "../"), strings.HasPrefix(p.Folder, "../"):
			return runtimeimage.Layer{}, fmt.Errorf("the package %s is the folder %q, outside of the folder of %s, which only a bundle can have", p.Import, p.Folder, npm.LockFile)
		case p.Bundled:
		case p.Link:
			up := strings.Repeat("../", strings.Count(p.At, "/"))
			files.all = append(files.all, member{name: at, link: up + p.Folder})
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

// A collector lists the files of a layer.
type collector struct {
	all  []member
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
		if c.size += info.Size(); c.size > maxBytes || len(c.all) == maxFiles {
			return fmt.Errorf("the files of the function are more than %d, or larger than %d GiB", maxFiles, maxBytes>>30)
		}
		rel, err := filepath.Rel(dir, file)
		c.all = append(c.all, member{name: path.Join(at, filepath.ToSlash(rel)), file: file})
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
