package runtimeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
)

// DefaultWorkdir is where a directory goes in an image. It is no directory of
// any usual base image, so that nothing of one is hidden.
const DefaultWorkdir = "/function"

// A Dir is a directory with a function that needs no compiling here, and how
// it becomes images.
type Dir struct {
	// Path is where the directory is.
	Path string
	// Base are the images that it is laid over. Those of other systems than
	// Linux are left out. They belong to FromDir: it closes them, or what it
	// returns does.
	Base *Images
	// Workdir is where the directory's content goes in the image, and where the
	// function starts: an absolute path. Empty is DefaultWorkdir.
	Workdir string
	// Entrypoint is the program that is started, found by PATH or relative to
	// Workdir, and its arguments.
	Entrypoint []string
	// Env are variables, as "KEY=value", added to the base's.
	Env []string
	// Labels are added to the images' configs.
	Labels map[string]string
}

// FromDir lays a directory over base images, as one layer, and gives an image
// for each. Its files belong to root and can be read by all, and executed by all
// if by their owner here; they have no times. Symbolic links are kept as they
// are. The function listens on port 9443, and is started by a user other than
// root.
//
// The images depend on the base, the directory's content and opts.Created, and
// on nothing else. They must be closed. A directory that the base has stays as
// it is there, with what is in it; one that is a link or a file there is an
// error, and so is a program for another processor. Errors name the directory.
func FromDir(ctx context.Context, d Dir, opts Options) (_ *Images, err error) {
	s, err := newSpool(opts)
	if err != nil {
		return nil, errors.Join(err, d.Base.Close())
	}
	s.keep(d.Base)
	all, err := s.fromDir(ctx, d, opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a runtime image of %q: %w", d.Path, err), s.Close())
	}
	return all, nil
}

func (s *spool) fromDir(ctx context.Context, d Dir, opts Options) (*Images, error) {
	if len(d.Entrypoint) == 0 || d.Entrypoint[0] == "" {
		return nil, errors.New("no entry point is given")
	}
	if d.Base == nil {
		return nil, errors.New("no base image is given")
	}
	if d.Workdir == "" {
		d.Workdir = DefaultWorkdir
	}
	if path.Clean(d.Workdir) != d.Workdir || !path.IsAbs(d.Workdir) {
		return nil, fmt.Errorf("its place %q in the image is not a clean, absolute path", d.Workdir)
	}
	if err := d.Base.onLinux(); err != nil {
		return nil, fmt.Errorf("choosing a base image: %w", err)
	}
	opts.Progress.Step("reading " + d.Path)
	t, err := readTree(ctx, d.Path, strings.TrimPrefix(d.Workdir, "/"))
	if err != nil {
		return nil, err
	}
	defer t.Close()
	m := &mounter{Dir: d, tree: t, spool: s, opts: opts, layers: map[string]blobLayer{}}
	all := &Images{spool: s}
	for _, base := range d.Base.All {
		img, err := m.image(ctx, base)
		if err != nil {
			return nil, err
		}
		all.All = append(all.All, img)
	}
	return all, nil
}

// A mounter lays one directory over images.
type mounter struct {
	Dir
	tree  *tree
	spool *spool
	opts  Options
	// layers are those made, by what the images below have where they go.
	layers map[string]blobLayer
}

func (m *mounter) image(ctx context.Context, base v1.Image) (v1.Image, error) {
	there, err := platforms([]v1.Image{base})
	if err != nil {
		return nil, err
	}
	beneath, err := m.tree.beneath(ctx, base)
	if err != nil {
		return nil, err
	}
	layer, err := m.layer(ctx, beneath)
	if err != nil {
		return nil, err
	}
	if err := m.tree.fits(there[0]); err != nil {
		return nil, err
	}
	return extend(base, m.opts.Created, layer, settings{
		entrypoint: m.Entrypoint, workdir: m.Workdir, env: m.Env, labels: m.Labels,
	})
}

func (m *mounter) layer(ctx context.Context, beneath folders) (blobLayer, error) {
	key := fmt.Sprint(beneath) // in the order of the names
	if made, ok := m.layers[key]; ok {
		return made, nil
	}
	l, b, err := m.spool.layer(func(w io.Writer) error { return m.tree.write(ctx, w, beneath) })
	if err != nil {
		return blobLayer{}, err
	}
	m.layers[key] = blobLayer{l, b}
	return m.layers[key], nil
}

// fits makes sure that programs among the files run on a platform, after they
// were written: of those for several, as some packages bring along, one must.
func (t *tree) fits(p v1.Platform) error {
	if len(t.programs) == 0 || t.programs[p.Architecture] != "" || t.programs[older[p.Architecture]] != "" {
		return nil
	}
	for _, arch := range sortedKeys(t.programs) {
		return hint.Wrap(
			fmt.Errorf("its %q is for linux/%s, and the base image for %s", t.programs[arch], arch, p),
			"build for that platform only, with "+hint.Platform+" linux/"+hint.Hint(arch),
		)
	}
	return nil
}

// older are the processors whose programs another one runs, too.
var older = map[string]string{"amd64": "386", "arm64": "arm"}
