package xpkg

import (
	"archive/tar"
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

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
)

// Limits of all extension folders in total. Every client downloads the layers, and
// Build keeps them in memory.
const (
	// maxFolders limits the layers of extensions: container engines support at
	// most 125 layers in an image, and the runtime needs most of them.
	maxFolders = 32
	maxBytes   = 64 << 20
	maxEntries = 10_000
	// maxExtensionName limits the bytes of a path, as Linux does.
	maxExtensionName = 4 << 10
)

// An ExtensionLayer is the layer of an extension folder. Name is the name of the
// folder and the layer's value of Annotation.
type ExtensionLayer struct {
	v1.Layer
	Name string
}

// folderName matches names of folders that are safe in paths and do not begin with a dot.
var folderName = proc.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// ReadExtensions returns each folder in the directory dir as a layer, in the
// order of their names. Paths in a layer begin with the folder's name, such as
// "icons/icon.svg". Owners and times are zero; folders have mode 0755, files
// 0644. A link to a file in dir becomes that file.
//
// It returns an error for other files and links in dir, folders named BaseMark or
// ExamplesMark, names that delete files (OCI image spec, "Whiteouts"), files named
// package.yaml, and more than 64 MiB or 10,000 files in total.
func ReadExtensions(ctx context.Context, dir string) (layers []ExtensionLayer, err error) {
	root, err := os.OpenRoot(dir)
	var entries []fs.DirEntry
	if err == nil {
		defer func() { err = errors.Join(err, root.Close()) }()
		entries, err = fs.ReadDir(root.FS(), ".")
	}
	if err != nil {
		return nil, fmt.Errorf("reading extensions root %q: %w", dir, fsx.Cause(err))
	}
	if len(entries) == 0 || len(entries) > maxFolders {
		return nil, fmt.Errorf("reading extensions root %q: it has %d folders, and must have 1 to %d", dir, len(entries), maxFolders)
	}
	r := &reader{ctx: ctx, dir: dir, root: root, bytes: maxBytes, entries: maxEntries}
	for _, e := range entries {
		l, err := r.layer(e)
		if err != nil {
			return nil, err
		}
		layers = append(layers, ExtensionLayer{l, e.Name()})
	}
	return layers, nil
}

// A reader reads folders below root. bytes and entries limit what it may still read.
type reader struct {
	ctx            context.Context
	dir            string
	root           *os.Root
	bytes, entries int64
}

func (r *reader) layer(folder fs.DirEntry) (v1.Layer, error) {
	name := folder.Name()
	switch {
	case !folder.IsDir():
		return nil, hint.Wrap(fmt.Errorf("%q is not a folder, and only folders become layers", r.path(name)), "move the file into a folder")
	case !folderName().MatchString(name):
		return nil, fmt.Errorf("%q is not a valid name of an extension folder: use up to 63 letters, digits, '-', '_' and '.', without a dot at the start", r.path(name))
	case name == "base" || name == "upbound":
		return nil, fmt.Errorf("%q is not a valid name of an extension folder: %q is reserved for a layer of the package itself", r.path(name), name)
	}
	return oci.TarLayer(func(tw *tar.Writer) error {
		return fs.WalkDir(r.root.FS(), name, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return fmt.Errorf("reading %q: %w", r.path(name), fsx.Cause(err))
			}
			return r.add(tw, name, d)
		})
	})
}

// path returns the path of a name in root as the user would write it.
func (r *reader) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *reader) add(tw *tar.Writer, name string, d fs.DirEntry) error {
	if r.ctx.Err() != nil {
		return fmt.Errorf("reading %q: %w", r.path(name), context.Cause(r.ctx))
	}
	if r.entries--; r.entries < 0 || len(name) > maxExtensionName {
		return fmt.Errorf("reading %q: there are more than %d files, or a name longer than %d bytes", r.path(name), maxEntries, maxExtensionName)
	}
	switch base := path.Base(name); {
	case strings.HasPrefix(base, oci.Whiteout):
		return fmt.Errorf("%q would delete a file of the image: in a layer, a name that begins with \".wh.\" deletes a file", r.path(name))
	case d.IsDir():
		return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
	case base == "package.yaml":
		return hint.Wrap(fmt.Errorf("%q would be read as the package's own package.yaml by tools that ignore layer annotations", r.path(name)), "rename the file")
	}
	info, err := r.root.Stat(filepath.FromSlash(name))
	link := d.Type()&fs.ModeSymlink != 0
	switch {
	case link && (err != nil || info.IsDir()):
		return hint.Wrap(fmt.Errorf("%q is a link that does not lead to a file in %q", r.path(name), r.dir), "replace the link with its target")
	case err != nil:
		return fmt.Errorf("reading %q: %w", r.path(name), fsx.Cause(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("reading %q: it is neither a file nor a folder", r.path(name))
	}
	if err := r.file(tw, name, info.Size()); err != nil {
		return fmt.Errorf("reading %q: %w", r.path(name), fsx.Cause(err))
	}
	return nil
}

func (r *reader) file(tw *tar.Writer, name string, size int64) error {
	if r.bytes -= size; r.bytes < 0 {
		return fmt.Errorf("the extension folders have more than %d MiB", maxBytes>>20)
	}
	f, err := r.root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}); err != nil {
		return err
	}
	// CopyN returns an error if the file has shrunk.
	_, err = io.CopyN(tw, oci.Reader(r.ctx, f), size)
	return err
}

// systemFolders are the folders in the root of Linux (Filesystem Hierarchy Standard 3.0).
var systemFolders = []string{
	"bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt",
	"proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
}

// checkOverlay returns an error for extensions that would hide a folder of the
// runtime: a system folder, or one with the command or working directory.
func checkOverlay(config map[string]any, extensions []ExtensionLayer) error {
	settings := fieldpath.Map(config, "config")
	taken := slices.Clone(systemFolders)
	for _, p := range slices.Concat([]any{settings["WorkingDir"]}, fieldpath.List(settings, "Entrypoint"), fieldpath.List(settings, "Cmd")) {
		if at, ok := p.(string); ok && strings.Contains(at, "/") {
			first, _, _ := strings.Cut(path.Clean("/" + at)[1:], "/")
			taken = append(taken, first)
		}
	}
	for _, e := range extensions {
		if slices.Contains(taken, e.Name) {
			return hint.Wrap(fmt.Errorf("extension folder %q would hide a folder of the same name that the runtime image needs", e.Name), "rename the extension folder")
		}
	}
	return nil
}
