package xpkg

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/xpkg"
)

// ExtractCmd extracts a part of a package.
type ExtractCmd struct {
	Package string `arg:"" optional:"" help:"REGISTRY/REPOSITORY:TAG or @DIGEST; with --from-xpkg a file, by default the only .xpkg in the current directory; with --from-daemon an image of Docker."`

	FromDaemon bool   `xor:"from" help:"Read the package from the Docker engine."`
	FromXpkg   bool   `xor:"from" help:"Read a package file."`
	Output     string `writes:"output.yaml" stdout:"" short:"o" placeholder:"FILE" help:"File to write, or - for standard output. A file with package.yaml is compressed with gzip, and its name gets the extension .gz; standard output gets the YAML. Default: out.gz, examples.yaml or DIGITS.tar."`

	Examples bool   `xor:"what" help:"Extract the examples."`
	Layer    string `xor:"what" placeholder:"DIGEST" help:"Extract the tar of a layer, by its digest, the first digits of its digest, or its mark (xpkg inspect shows them)."`
	Rootfs   string `writes:"rootfs/" xor:"what" placeholder:"DIR" help:"Unpack the root file system of the runtime image into a new directory."`
	Platform string `placeholder:"OS/ARCH" help:"Platform of the image. Default: linux/amd64, as for the control plane."`
	registryFlags
}

// Help is shown by --help.
func (ExtractCmd) Help() string {
	return `Extracts package.yaml as the control plane reads it, or the part of the package that a flag names. Prints only the part that it writes to -.

Examples:

    xfn xpkg extract registry.example.org/acme/hello:v0.1.0 -o hello.gz
    xfn xpkg extract --from-xpkg hello.xpkg -o -
    xfn xpkg extract --from-xpkg hello.xpkg --examples -o -
    xfn xpkg extract --from-xpkg hello.xpkg --layer 4fcf65979eed
    xfn xpkg extract --from-xpkg hello.xpkg --rootfs hello \
        --platform linux/arm64
`
}

// Run writes the selected part.
func (c *ExtractCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) (err error) {
	if c.Rootfs != "" && c.Output != "" {
		return &terminal.UsageError{Err: errors.New("--rootfs and --output cannot be used together: --rootfs names the directory to write")}
	}
	var platform *v1.Platform
	if c.Platform != "" {
		if platform, err = ParsePlatform(c.Platform); err != nil {
			return err
		}
	}
	s, err := c.source(ctx, term, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.explain("extracting", c.extract(ctx, term, s.artifact, platform))
}

func (c *ExtractCmd) source(ctx context.Context, term *terminal.Terminal, p terminal.Program) (*source, error) {
	switch {
	case c.FromXpkg:
		path, err := c.Package, error(nil)
		if path == "" {
			if path, err = onlyPackage("name the package file after --from-xpkg"); err != nil {
				return nil, err
			}
		}
		return openFile(ctx, path)
	case c.Package == "":
		return nil, &terminal.UsageError{Err: hint.Wrap(errors.New("expected a package as argument"), "name one in a registry, or use --from-xpkg for a file")}
	case c.FromDaemon:
		return fromDaemon(ctx, term, p, c.Package)
	default:
		ref, err := c.reference(c.Package)
		if err != nil && isFile(c.Package) {
			err = cmp.Or(checkFile(c.Package), hint.Wrap(fmt.Errorf("expected a reference, got the file %q", c.Package), "add --from-xpkg to read the file of a package"))
		}
		if err != nil {
			return nil, err
		}
		return c.fetch(ctx, p, c.Package, ref)
	}
}

// fromDaemon copies an image from the Docker engine to a temporary file.
func fromDaemon(ctx context.Context, term *terminal.Terminal, p terminal.Program, img string) (_ *source, err error) {
	engine, err := connect(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	dir, path, err := fsx.MakeTempDirIn(os.TempDir())
	if err != nil {
		return nil, err
	}
	path = filepath.Join(path, "image.tar")
	err = fsx.Write(path, 0o600, func(w io.Writer) error {
		return engine.Save(ctx, img, term.Progress, func(r io.Reader) error {
			_, err := io.Copy(w, r)
			return err
		})
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copying %q out of the engine: %w", img, err), dir.Close())
	}
	s, err := openFile(ctx, path, dir)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	s.name = img
	return s, nil
}

func (c *ExtractCmd) extract(ctx context.Context, term *terminal.Terminal, a xpkg.Artifact, platform *v1.Platform) error {
	img, err := imageOf(a, platform)
	if err != nil {
		return err
	}
	switch {
	case c.Examples:
		data, err := xpkg.Examples(ctx, img)
		if err != nil {
			return err
		}
		return c.write(term, "examples.yaml", func(w io.Writer) error { return write(w, data) })
	case c.Layer != "":
		name := strings.TrimPrefix(c.Layer, "sha256:")
		return c.write(term, name[:min(len(name), 12)]+".tar", func(w io.Writer) error { return inspect.WriteLayer(ctx, w, img, c.Layer) })
	case c.Rootfs != "":
		return terminal.Wrap(unpack(ctx, term, img, c.Rootfs), "unpacking into %q", c.Rootfs)
	default:
		data, err := xpkg.PackageYAML(ctx, img)
		if err != nil {
			return err
		}
		return c.metadata(term, data)
	}
}

// imageOf returns the image for a platform. Without a platform, it returns the
// only image, or the one for linux/amd64.
func imageOf(a xpkg.Artifact, platform *v1.Platform) (v1.Image, error) {
	if img, ok := a.(v1.Image); ok && platform == nil {
		return img, nil
	}
	if platform == nil {
		platform = &v1.Platform{OS: "linux", Architecture: "amd64"}
	}
	img, err := image.ImageFor(a, *platform)
	return img, hint.Wrap(err, "use an existing platform with --platform")
}

// metadata writes package.yaml. A file is compressed, as in the crossplane CLI's cache.
func (c *ExtractCmd) metadata(term *terminal.Terminal, data []byte) error {
	if c.Output == stdout {
		return write(term.Stdout, data)
	}
	path := cmp.Or(c.Output, "out.gz")
	path = strings.TrimSuffix(path, filepath.Ext(path)) + ".gz"
	return fsx.Write(path, 0o644, func(w io.Writer) error {
		zw, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		return errors.Join(write(zw, data), zw.Close())
	})
}

// stdout is the file name that stands for standard output.
const stdout = "-"

func (c *ExtractCmd) write(term *terminal.Terminal, name string, content func(io.Writer) error) error {
	if c.Output == stdout {
		return content(term.Stdout)
	}
	return fsx.Write(cmp.Or(c.Output, name), 0o644, content)
}

func write(w io.Writer, data []byte) error {
	_, err := w.Write(data)
	return err
}

// unpack writes an image's root file system to a new directory. If it fails, it
// leaves nothing.
func unpack(ctx context.Context, term *terminal.Terminal, img v1.Image, path string) (err error) {
	path = filepath.Clean(path)
	if _, err := os.Lstat(path); err == nil {
		return hint.Wrap(errors.New("it exists already"), "name a directory that does not exist")
	}
	dir, beside, err := fsx.MakeTempDirIn(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	root, err := rootfs.Unpack(ctx, img, rootfs.Options{Dir: beside, Progress: term.Progress})
	if err != nil {
		return err
	}
	return errors.Join(move(root.Path, path), root.Close())
}

// move renames a directory after it has made it writable.
func move(from, to string) error {
	info, err := os.Stat(from)
	if err == nil {
		err = os.Chmod(from, info.Mode()|0o700)
	}
	if err == nil {
		err = os.Rename(from, to)
	}
	return fsx.Cause(err)
}
