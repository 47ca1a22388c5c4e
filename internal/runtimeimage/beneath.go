package runtimeimage

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
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

// scan lists the files of a base image that the tree is laid over.
func (t *tree) scan(ctx context.Context, base v1.Image) (*scan, error) {
	s := &scan{ours: map[string]bool{}, theirs: map[string]entry{}}
	for _, dir := range parents(t.at) {
		s.ours[dir] = true
	}
	for _, f := range t.files {
		s.ours[path.Join(t.at, f.Path)] = strings.HasSuffix(f.Path, "/")
	}
	if err := oci.ReadLayers(ctx, base, s.add); err != nil {
		return nil, fmt.Errorf("reading the base image's layers: %w", err)
	}
	return s, nil
}

type scan struct {
	// ours are the paths of a tree, and whether they are directories. theirs are the files of the
	// image, by their paths without a leading slash.
	ours   map[string]bool
	theirs map[string]entry
	// partial is true if the image has more than MaxFiles files: theirs then lacks files
	// that are not in ours.
	partial bool
}

type entry struct {
	kind byte // the type of the tar header, or 0 for a directory that is only in paths
	link string
	folder
}

func (e entry) isDir() bool { return e.kind == tar.TypeDir || e.kind == 0 }

// add updates s.theirs with a file that a layer adds or deletes.
func (s *scan) add(h *tar.Header, _ io.Reader) error {
	name := cleanName(h.Name)
	dir, base := path.Split(name)
	switch {
	case base == oci.Opaque:
		s.forget(dir)
	case strings.HasPrefix(base, oci.Whiteout):
		gone := dir + strings.TrimPrefix(base, oci.Whiteout)
		delete(s.theirs, gone)
		s.forget(gone + "/")
	default:
		s.set(name, entry{h.Typeflag, h.Linkname, folder{h.Mode & 0o7777, h.Uid, h.Gid}})
	}
	return nil
}

// set adds a file and the directories that lead to it. The files of a directory that the
// file replaces are removed.
func (s *scan) set(name string, e entry) {
	old, replaces := s.theirs[name]
	if replaces && old.isDir() && !e.isDir() {
		s.forget(name + "/")
	}
	_, shared := s.ours[name]
	if len(s.theirs) >= MaxFiles && !replaces && !shared {
		s.partial = true
		return
	}
	s.theirs[name] = e
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if _, ok := s.theirs[dir]; ok {
			break
		}
		s.theirs[dir] = entry{}
	}
}

// forget removes the files below the directory dir from s.theirs.
func (s *scan) forget(dir string) {
	maps.DeleteFunc(s.theirs, func(name string, _ entry) bool { return strings.HasPrefix(name, dir) })
}

// folders returns the directories that both the tree and the image have. It returns an
// error if a path exists in both but is a directory in only one of them, because the tree
// would then hide files of the image.
func (s *scan) folders() (folders, error) {
	both := folders{}
	for _, name := range slices.Sorted(maps.Keys(s.theirs)) {
		e := s.theirs[name]
		ours, shared := s.ours[name]
		theirs := e.isDir()
		switch {
		case !shared || ours && e.kind == 0:
		case ours && theirs:
			both[name] = e.folder
		case ours && e.kind == tar.TypeSymlink:
			return nil, fmt.Errorf("the base image has a symbolic link to %q, where the function has the directory %q", e.link, "/"+name)
		case ours:
			return nil, fmt.Errorf("the base image has a file, where the function has the directory %q", "/"+name)
		case theirs:
			return nil, fmt.Errorf("the base image has the directory %q, where the function has a file or a symbolic link", "/"+name)
		}
	}
	return both, nil
}
