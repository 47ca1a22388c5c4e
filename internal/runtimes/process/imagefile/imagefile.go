package imagefile

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/xpkg/oci"
)

const (
	// MaxSize is the largest file that is extracted, in bytes.
	MaxSize = 1 << 30
	// maxRead is how many bytes of layers, not compressed, a search may take.
	maxRead = 8 << 30
	// maxLinks is how many links may lead to the file.
	maxLinks = 40
)

// A NotFoundError is a path that the image does not have.
type NotFoundError struct{ Path string }

func (e NotFoundError) Error() string { return fmt.Sprintf("the image has no file %q", e.Path) }

// Extract writes the executable regular file that name, an absolute path in
// the image, leads to into the new file dst, with mode 0700. A file that is
// not there is a NotFoundError. It may leave a part of dst after an error.
//
// Layers are read from the top until the file is found. The layer that has it
// is read to its end, and is an error if it has another digest than it should.
func Extract(ctx context.Context, img v1.Image, name, dst string) error {
	layers, err := img.Layers()
	if err != nil {
		return fmt.Errorf("reading the image's layers: %w", err)
	}
	s := &search{layers: layers, dst: dst, left: maxRead}
	at := place{path: inRoot(name), layer: len(layers) - 1}
	for range maxLinks {
		next, err := s.find(ctx, at)
		if err != nil {
			return err
		}
		if next == nil {
			return nil
		}
		at = *next
	}
	return fmt.Errorf("finding %q in the image: too many links", name)
}

// inRoot returns name relative to the root of the image. No ".." leads out.
func inRoot(name string) string { return path.Clean("/" + name)[1:] }

// A place is a path as seen from a layer downwards.
type place struct {
	path  string
	layer int
}

type search struct {
	layers []v1.Layer
	dst    string
	left   int64 // bytes that may still be read
}

// find extracts the file at a place, or says where a link there leads.
func (s *search) find(ctx context.Context, at place) (next *place, err error) {
	t := &trail{path: at.path, dirs: map[string]bool{}}
	for i := at.layer; i >= 0 && !t.ends; i-- {
		found, err := s.scan(ctx, s.layers[i], t)
		if errors.Is(err, oci.ErrTooLarge) {
			err = fmt.Errorf("it and those above it have more than %d bytes", int64(maxRead))
		}
		if err != nil {
			return nil, fmt.Errorf("reading layer %d of the image: %w", i+1, err)
		}
		switch {
		case found:
			return nil, nil
		case t.hardLink != "":
			return &place{path: t.hardLink, layer: i}, nil
		case t.link != "":
			return &place{path: t.link, layer: len(s.layers) - 1}, nil
		}
	}
	return nil, NotFoundError{"/" + at.path}
}

// scan follows a trail through a layer, and extracts the file at its end.
func (s *search) scan(ctx context.Context, l v1.Layer, t *trail) (found bool, err error) {
	plain, err := oci.Plain(ctx, l, &s.left)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	files := tar.NewReader(plain)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err == nil && h.Size > s.left {
			err = oci.ErrTooLarge
		}
		if err != nil {
			return false, err
		}
		if t.see(h) {
			if err := s.extract(h, files); err != nil {
				return true, err
			}
			return true, plain.Finish()
		}
		if t.hardLink != "" {
			return false, nil
		}
	}
}

func (s *search) extract(h *tar.Header, content io.Reader) (err error) {
	switch {
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%q is not a regular file", "/"+inRoot(h.Name))
	case h.Mode&0o111 == 0:
		return fmt.Errorf("%q is not executable", "/"+inRoot(h.Name))
	case h.Size > MaxSize:
		return fmt.Errorf("%q is of %d bytes, more than the limit of %d", "/"+inRoot(h.Name), h.Size, int64(MaxSize))
	}
	f, err := os.OpenFile(s.dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return fmt.Errorf("creating the executable: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, content); err != nil {
		return fmt.Errorf("extracting %q: %w", "/"+inRoot(h.Name), err)
	}
	return nil
}

// A trail is what is known on the way to a path, from the top layer down.
type trail struct {
	path string
	// dirs are the parents of path that are directories in a layer already
	// seen, so that a link below them no longer counts.
	dirs map[string]bool
	// link and hardLink are where the path leads instead.
	link, hardLink string
	// ends is set if lower layers have nothing more to say.
	ends bool
}

// see takes note of an entry, and returns true if it is the path itself, and
// no link.
func (t *trail) see(h *tar.Header) bool {
	name := inRoot(h.Name)
	switch {
	case t.whiteout(name):
		t.ends = true
	case name == t.path:
		return t.arrive(h, name)
	case t.passes(name):
		t.cross(h, name)
	}
	return false
}

// passes tells whether dir is a parent directory of the path.
func (t *trail) passes(dir string) bool {
	return dir == "" || strings.HasPrefix(t.path, dir+"/")
}

// whiteout tells whether an entry hides the path in lower layers.
func (t *trail) whiteout(name string) bool {
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	if base == ".wh..wh..opq" {
		return t.passes(dir)
	}
	hidden, ok := strings.CutPrefix(base, ".wh.")
	if !ok {
		return false
	}
	hidden = path.Join(dir, hidden)
	return hidden == t.path || t.passes(hidden)
}

func (t *trail) arrive(h *tar.Header, name string) bool {
	switch h.Typeflag {
	case tar.TypeLink:
		t.hardLink = inRoot(h.Linkname)
	case tar.TypeSymlink:
		t.link = follow(name, h.Linkname)
	default:
		return true
	}
	return false
}

// cross takes note of a parent of the path.
func (t *trail) cross(h *tar.Header, name string) {
	switch {
	case h.Typeflag == tar.TypeDir:
		t.dirs[name] = true
	case h.Typeflag == tar.TypeSymlink && !t.dirs[name]:
		t.link = inRoot(path.Join(follow(name, h.Linkname), strings.TrimPrefix(t.path, name)))
	default:
		t.ends = true
	}
}

// follow returns where the symbolic link name leads within the image.
func follow(name, target string) string {
	if path.IsAbs(target) {
		return inRoot(target)
	}
	return inRoot(path.Join(path.Dir(name), target))
}
