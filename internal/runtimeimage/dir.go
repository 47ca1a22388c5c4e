package runtimeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
)

// DefaultWorkdir is the default of Dir.Workdir. Common base images do not have this path.
const DefaultWorkdir = "/function"

// A Dir describes images that FromDir creates from a directory, which contains a function
// that needs no compilation.
type Dir struct {
	Path string
	// Base are the base images. Images for systems other than Linux are ignored. FromDir
	// takes ownership of Base: FromDir closes it on an error, and otherwise the returned
	// Images do.
	Base *Images
	// Workdir is the absolute path of the directory's content in the image, and the
	// working directory of the function. Empty means DefaultWorkdir.
	Workdir string
	// Entrypoint is the program and its arguments. A program without a slash is searched
	// in PATH. A relative path starts at Workdir.
	Entrypoint []string
	// Env are environment variables, as "KEY=value". They are added to the variables of the
	// base image, or replace them.
	Env []string
	// Labels are added to the config of each image.
	Labels map[string]string
}

// FromDir adds a directory as one layer to each base image. The files in the layer belong
// to root and have the zero modification time. They are readable by all, and executable
// by all if their owner may execute them. FromDir keeps symbolic links. A directory that
// the base image already has keeps its attributes and content there. FromDir returns an
// error if a path is a directory in the base image and another kind of file in d, or the
// reverse. It also returns an error if all programs in the directory are for other
// processors than the base image, or if the image would not have the program of
// d.Entrypoint. It leaves out .git, __pycache__ and what a file .xpkgignore in the
// directory lists.
//
// The function in the images listens on port 9443 and does not run as root. The images
// depend only on the base images, the content of the directory and opts.Created. The
// caller must close them. Errors name the directory.
func FromDir(ctx context.Context, d Dir, opts Options) (*Images, error) {
	t, err := d.read(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("making a runtime image of %q: %w", d.Path, errors.Join(err, d.Base.Close()))
	}
	all, err := FromLayers(ctx, Layered{Base: d.Base, Layers: func(ctx context.Context, target Target) ([]Layer, Config, error) {
		return t.layers(ctx, target.Base, opts)
	}}, opts)
	if err == nil {
		err = t.fitsAll(all)
	}
	if err != nil {
		return nil, fmt.Errorf("making a runtime image of %q: %w", d.Path, errors.Join(err, all.Close()))
	}
	return all, nil
}

func (d Dir) read(ctx context.Context, opts Options) (*tree, error) {
	if len(d.Entrypoint) == 0 || d.Entrypoint[0] == "" {
		return nil, errors.New("no entry point is given")
	}
	if d.Base == nil {
		return nil, errors.New("no base image is given")
	}
	d.Workdir = cmp.Or(d.Workdir, DefaultWorkdir)
	if path.Clean(d.Workdir) != d.Workdir || !path.IsAbs(d.Workdir) {
		return nil, fmt.Errorf("expected a clean, absolute path in the image as the working directory, got %q", d.Workdir)
	}
	if err := d.Base.onLinux(); err != nil {
		return nil, fmt.Errorf("choosing a base image: %w", err)
	}
	opts.Progress.Step("reading " + d.Path)
	files, err := list(ctx, d.Path, ".", nil)
	return &tree{Dir: d, at: strings.TrimPrefix(d.Workdir, "/"), files: files, programs: map[string]string{}}, err
}

// layers returns the layer of the directory for a base image. The layers of base images
// that have the same directories are equal.
func (t *tree) layers(ctx context.Context, base v1.Image, opts Options) ([]Layer, Config, error) {
	files, err := t.scan(ctx, base)
	if err != nil {
		return nil, Config{}, err
	}
	beneath, err := files.folders()
	if err != nil {
		return nil, Config{}, err
	}
	if err := t.checkEntrypoint(base, files, opts); err != nil {
		return nil, Config{}, err
	}
	layer := Layer{
		Key:   fmt.Sprint(beneath), // fmt prints a map in the order of its keys
		Write: func(w io.Writer) error { return t.write(ctx, w, beneath) },
	}
	return []Layer{layer}, Config{Entrypoint: t.Entrypoint, Workdir: t.Workdir, Env: t.Env, Labels: t.Labels}, nil
}

// fitsAll returns an error if the tree contains programs, but no program for the processor of one of the
// images. Call it after write, which finds the programs.
func (t *tree) fitsAll(images *Images) error {
	all, err := platforms(images.All)
	if err != nil || len(t.programs) == 0 {
		return err
	}
	for _, p := range all {
		if t.programs[p.Architecture] == "" && t.programs[older[p.Architecture]] == "" {
			arch := slices.Min(slices.Collect(maps.Keys(t.programs)))
			err := fmt.Errorf("program %q is for linux/%s, but the base image is for %s", t.programs[arch], arch, p)
			return hint.Wrap(err, "build for that platform only, with "+hint.Platform+" linux/"+hint.Hint(arch))
		}
	}
	return nil
}

// older maps a processor to an older processor whose programs it can execute, too.
var older = map[string]string{"amd64": "386", "arm64": "arm"}
