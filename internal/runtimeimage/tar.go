package runtimeimage

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
)

// A TarFile is a file in a layer: a directory if its path ends in "/", a symbolic link if it has
// a Link, or else a regular file.
type TarFile struct {
	// Path is the path in the image, without a leading slash.
	Path string
	Mode int64
	Link string
	// Open returns the content of a regular file, which has Size bytes.
	Size int64
	Open func() (io.ReadCloser, error)
}

// NewTarFile returns a regular file with this content.
func NewTarFile(name string, mode int64, data []byte) TarFile {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return TarFile{Path: name, Mode: mode, Size: int64(len(data)), Open: open}
}

// WriteTar writes the tar of a layer with these files, in their order, and the directories that
// lead to them. Root owns all entries, and their modification times are zero.
func WriteTar(ctx context.Context, w io.Writer, files []TarFile) error {
	tw := tar.NewWriter(w)
	made := map[string]bool{".": true}
	for _, f := range files {
		err := writeParents(tw, made, path.Dir(strings.TrimSuffix(f.Path, "/")))
		if err == nil {
			err = f.write(ctx, tw)
		}
		if err != nil {
			return fmt.Errorf("adding %q: %w", "/"+f.Path, fsx.Cause(err))
		}
	}
	return tw.Close()
}

// writeParents writes the headers of a directory and of its parents, except directories in made.
func writeParents(tw *tar.Writer, made map[string]bool, dir string) error {
	if made[dir] {
		return nil
	}
	if err := writeParents(tw, made, path.Dir(dir)); err != nil {
		return err
	}
	made[dir] = true
	return tw.WriteHeader(header(dir+"/", 0o755, 0))
}

func (f TarFile) write(ctx context.Context, tw *tar.Writer) (err error) {
	h := header(f.Path, f.Mode, f.Size)
	if f.Link != "" {
		h = &tar.Header{Typeflag: tar.TypeSymlink, Name: f.Path, Linkname: f.Link, Mode: 0o777}
	}
	if err := tw.WriteHeader(h); err != nil || f.Open == nil {
		return err
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	n, err := io.Copy(tw, oci.Reader(ctx, r))
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != f.Size {
		err = errors.New("the size of the file changed while it was read")
	}
	return err
}

// header returns the tar header of a file, or of a directory if name ends in "/". The
// format is USTAR, or PAX if size is 8 GiB or more.
func header(name string, mode, size int64) *tar.Header {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size}
	if name[len(name)-1] == '/' {
		h.Typeflag = tar.TypeDir
	}
	return h
}
