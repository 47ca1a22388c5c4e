package runtimeimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
)

// IsRoot reports whether a path is a folder with a root file system or a tar of one, as
// debootstrap makes them, instead of an archive or a layout of images.
func IsRoot(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		_, errLayout := os.Stat(filepath.Join(path, "oci-layout"))
		usr, err := os.Stat(filepath.Join(path, "usr"))
		return errLayout != nil && err == nil && usr.IsDir()
	}
	if !info.Mode().IsRegular() {
		return false // a pipe can be read only once
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	in, err := oci.Decompress(f)
	if err != nil {
		return false
	}
	defer in.Close()
	const enough = 1000
	tr := tar.NewReader(io.LimitReader(in, MaxBytes))
	for range enough {
		h, err := tr.Next()
		if err != nil {
			return false
		}
		switch top, _, _ := strings.Cut(cleanName(h.Name), "/"); top {
		case "usr", "bin", "etc":
			return true
		case "oci-layout", "index.json", "manifest.json", "blobs":
			return false
		}
	}
	return false
}

// FromRoot returns an image whose only layer is a root file system: a folder, or a tar that
// may be compressed. Owners, modes and links are kept; all times are zero. Devices, pipes and
// sockets are left out, and so is what is in /dev, /proc and /sys. No symbolic link is
// followed. The platform is the platform of most programs. Errors name the path.
func FromRoot(ctx context.Context, path string, opts Options) (*Images, error) {
	return read(fmt.Sprintf("reading the root file system %q", path), path, opts, func(s *spool) (*Images, error) { return s.fromRoot(ctx, path, opts.Created) })
}

func (s *spool) fromRoot(ctx context.Context, path string, created time.Time) (*Images, error) {
	r := &rootWriter{programs: map[string]int{}}
	layer, err := s.draft.Compress(func(w io.Writer) error {
		r.out = newTarWriter(ctx, w)
		read := r.tar
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			read = r.folder
		}
		return cmp.Or(read(path), r.out.close())
	})
	if err != nil {
		return nil, err
	}
	arch := r.architecture()
	if arch == "" {
		return nil, errors.New("it has no program, so its processor is not known")
	}
	img, err := ofOneLayer(layer, created, v1.ConfigFile{OS: "linux", Architecture: arch, Config: v1.Config{Env: []string{searchPath}}})
	if err != nil {
		return nil, err
	}
	images, err := only([]v1.Image{img}, s.platforms)
	return &Images{spool: s, All: images}, err
}

type rootWriter struct {
	out      *tarWriter
	files    int
	size     int64
	programs map[string]int // numbers of programs and libraries, by processor
}

// architecture returns the processor of most programs, or "".
func (r *rootWriter) architecture() string {
	arch := ""
	for _, a := range slices.Sorted(maps.Keys(r.programs)) {
		if r.programs[a] > r.programs[arch] {
			arch = a
		}
	}
	return arch
}

// folder adds the files of a folder, in the order of their paths.
func (r *rootWriter) folder(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
		}
		if name == "." || isMounted(name) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
		}
		var link string
		if d.Type() == fs.ModeSymlink {
			if link, err = root.Readlink(filepath.FromSlash(name)); err != nil {
				return fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
			}
		}
		if !d.IsDir() && d.Type() != fs.ModeSymlink && !d.Type().IsRegular() {
			return nil
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		h.Name = name
		return r.add(h, func() (io.ReadCloser, error) { return root.Open(filepath.FromSlash(name)) })
	})
}

// tar adds the entries of a tar file, in their order.
func (r *rootWriter) tar(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in, err := oci.Decompress(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return oci.ReadTar(in, func(h *tar.Header, content io.Reader) error {
		name := cleanName(h.Name)
		if slices.Contains(strings.Split(h.Name, "/"), "..") {
			return fmt.Errorf("entry %q is outside of the root", h.Name)
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
		default:
			return nil
		}
		if name == "" || isMounted(name) {
			return nil
		}
		if h.Name = name; h.Typeflag == tar.TypeLink {
			if slices.Contains(strings.Split(h.Linkname, "/"), "..") {
				return fmt.Errorf("entry %q links to %q, which is outside of the root", name, h.Linkname)
			}
			h.Linkname = cleanName(h.Linkname)
		}
		return r.add(h, func() (io.ReadCloser, error) { return io.NopCloser(content), nil })
	})
}

// cleanName returns the name of a tar entry as a path without a leading slash.
func cleanName(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// isMounted reports whether a path is in a folder where a running system mounts devices or
// the kernel's state.
func isMounted(name string) bool {
	top, below, _ := strings.Cut(name, "/")
	return below != "" && slices.Contains([]string{"dev", "proc", "sys"}, top)
}

// add adds an entry with the owner, mode and link of h, and no other attributes. open returns the
// content of a regular file.
func (r *rootWriter) add(h *tar.Header, open func() (io.ReadCloser, error)) error {
	r.files++
	if h.Typeflag == tar.TypeReg {
		r.size += h.Size
	}
	switch {
	case r.out.ctx.Err() != nil:
		return context.Cause(r.out.ctx)
	case r.files > MaxFiles || r.size > MaxBytes:
		return fmt.Errorf("it has more than %d files or %d GiB", MaxFiles, MaxBytes>>30)
	case strings.HasPrefix(path.Base(h.Name), oci.Whiteout):
		return fmt.Errorf("the name of file %q would mark another file as deleted in an image", h.Name)
	}
	made := &tar.Header{Typeflag: h.Typeflag, Name: h.Name, Linkname: h.Linkname, Mode: h.Mode, Uid: h.Uid, Gid: h.Gid}
	switch h.Typeflag {
	case tar.TypeReg:
		made.Size = h.Size
		r.out.add(h.Name, made, func() (io.ReadCloser, error) { return r.detect(open, h.Size) })
	case tar.TypeDir:
		made.Name += "/"
		fallthrough
	default:
		r.out.add(h.Name, made, nil)
	}
	return r.out.err
}

// detect opens a file, of which it returns size bytes, and counts the processor of a program or library.
func (r *rootWriter) detect(open func() (io.ReadCloser, error), size int64) (io.ReadCloser, error) {
	in, err := open()
	if err != nil {
		return nil, err
	}
	var head bytes.Buffer
	if _, err := io.CopyN(&head, in, min(size, 64)); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if arch := processor(bytes.NewReader(head.Bytes())); arch != "" {
		r.programs[arch]++
	}
	return oci.ReadCloser{Reader: io.LimitReader(io.MultiReader(&head, in), size), Closer: in}, nil
}
