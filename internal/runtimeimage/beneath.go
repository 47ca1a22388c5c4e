package runtimeimage

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
)

// folders maps the paths of directories in an image to their attributes. A directory that
// is not in the map belongs to root and is readable by all.
type folders map[string]folder

// A folder has the attributes of one directory in an image: its mode and its owner.
type folder struct {
	mode     int64
	uid, gid int
}

// header returns the tar header of the directory with this name, with the attributes in f
// or, if f does not have it, the default attributes.
func (f folders) header(name string) *tar.Header {
	h := header(name+"/", 0o755, 0)
	if have, ok := f[name]; ok {
		h.Mode, h.Uid, h.Gid = have.mode, have.uid, have.gid
	}
	return h
}

// beneath returns those directories of the tree that the base image already has. If the
// tree becomes a top-level directory of the image, such as DefaultWorkdir, beneath does
// not read the image's layers, because base images do not have such a directory.
func (t *tree) beneath(ctx context.Context, base v1.Image) (folders, error) {
	if t.at != "" && !strings.Contains(t.at, "/") {
		return nil, nil
	}
	layers, err := base.Layers()
	if err != nil {
		return nil, fmt.Errorf("reading the base image's layers: %w", err)
	}
	s := &scan{ours: t.kinds(), theirs: map[string]*tar.Header{}, left: oci.MaxUnpacked}
	for _, l := range layers {
		if err := s.layer(ctx, l); err != nil {
			return nil, fmt.Errorf("reading the base image's layers: %w", err)
		}
	}
	return s.folders()
}

// kinds returns the file type of each file in the tree. The keys are paths in the image.
func (t *tree) kinds() map[string]fs.FileMode {
	all := map[string]fs.FileMode{}
	for _, dir := range t.parents() {
		all[dir] = fs.ModeDir
	}
	for _, n := range t.nodes {
		all[path.Join(t.at, n.name)] = n.kind
	}
	return all
}

// A scan reads the layers of an image to find which paths of a tree exist in it.
type scan struct {
	ours   map[string]fs.FileMode
	theirs map[string]*tar.Header
	left   int64
}

// layer updates s.theirs with the files that a layer adds and deletes.
func (s *scan) layer(ctx context.Context, l v1.Layer) (err error) {
	in, err := oci.Plain(ctx, l, &s.left)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for tr := tar.NewReader(in); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		dir, base := path.Split(name)
		switch {
		case base == deleted+deleted+".opq":
			s.forget(dir)
		case strings.HasPrefix(base, deleted):
			gone := dir + strings.TrimPrefix(base, deleted)
			delete(s.theirs, gone)
			s.forget(gone + "/")
		default:
			if h.Typeflag != tar.TypeDir {
				s.forget(name + "/")
			}
			if _, ok := s.ours[name]; ok {
				s.theirs[name] = h
			}
		}
	}
}

// forget removes the files below the directory dir from s.theirs.
func (s *scan) forget(dir string) {
	for name := range s.theirs {
		if strings.HasPrefix(name, dir) {
			delete(s.theirs, name)
		}
	}
}

// folders returns the directories that both the tree and the image have. It returns an
// error if a path exists in both but is a directory in only one of them, because the tree
// would then hide files of the image.
func (s *scan) folders() (folders, error) {
	both := folders{}
	for _, name := range sortedKeys(s.theirs) {
		h := s.theirs[name]
		ours, theirs := s.ours[name].IsDir(), h.Typeflag == tar.TypeDir
		switch {
		case ours && theirs:
			both[name] = folder{h.Mode & 0o7777, h.Uid, h.Gid}
		case ours && h.Typeflag == tar.TypeSymlink:
			return nil, fmt.Errorf("the base image has a symbolic link to %q, where the function has the directory %q", h.Linkname, "/"+name)
		case ours:
			return nil, fmt.Errorf("the base image has a file, where the function has the directory %q", "/"+name)
		case theirs:
			return nil, fmt.Errorf("the base image has the directory %q, where the function has a file or a symbolic link", "/"+name)
		}
	}
	return both, nil
}
