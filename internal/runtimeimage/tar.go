package runtimeimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
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

// ModeOf returns the mode in a layer of a regular file: 0755 if it is executable, and otherwise
// 0644. Windows has no such mode. There, a file is executable if it begins as the programs and
// scripts of Linux do.
func ModeOf(info fs.FileInfo, open func() (io.ReadCloser, error)) int64 {
	executable := info.Mode()&0o100 != 0
	if runtime.GOOS == "windows" {
		executable = isProgram(open)
	}
	if executable {
		return 0o755
	}
	return 0o644
}

// isProgram returns false for a file that cannot be read: its content is read later, which fails then.
func isProgram(open func() (io.ReadCloser, error)) bool {
	r, err := open()
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }()
	start := make([]byte, len(elf.ELFMAG))
	n, _ := io.ReadFull(r, start)
	return string(start) == elf.ELFMAG || bytes.HasPrefix(start[:n], []byte("#!"))
}

func (f TarFile) header() *tar.Header {
	if f.Link != "" {
		return &tar.Header{Typeflag: tar.TypeSymlink, Name: f.Path, Linkname: f.Link, Mode: 0o777}
	}
	return header(f.Path, f.Mode, f.Size)
}

// WriteTar writes the tar of a layer with these files, in their order, and the directories that
// lead to them. Root owns all entries, and their modification times are zero.
func WriteTar(ctx context.Context, w io.Writer, files []TarFile) error {
	tw := newTarWriter(ctx, w)
	made := map[string]bool{}
	for _, f := range files {
		for _, dir := range parents(path.Dir(strings.TrimSuffix(f.Path, "/"))) {
			if !made[dir] {
				tw.add(dir, header(dir+"/", 0o755, 0), nil)
			}
			made[dir] = true
		}
		tw.add("/"+f.Path, f.header(), f.Open)
	}
	return tw.close()
}

// A tarWriter writes the tar of a layer. After an error, it writes nothing more.
type tarWriter struct {
	ctx context.Context
	tar *tar.Writer
	err error
}

func newTarWriter(ctx context.Context, w io.Writer) *tarWriter {
	return &tarWriter{ctx: ctx, tar: tar.NewWriter(w)}
}

// add writes an entry and, unless open is nil, its content. name is its name in an error. Of a file on
// disk, add writes the size that the file had when it was opened, because another process may append
// to it.
func (w *tarWriter) add(name string, h *tar.Header, open func() (io.ReadCloser, error)) {
	if w.err != nil {
		return
	}
	if err := w.write(h, open); err != nil {
		w.err = fmt.Errorf("adding %q: %w", name, fsx.Cause(err))
	}
}

func (w *tarWriter) write(h *tar.Header, open func() (io.ReadCloser, error)) (err error) {
	if open == nil {
		return w.tar.WriteHeader(h)
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	content := io.Reader(r)
	if f, ok := r.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return errors.New("the file was replaced while it was read")
		}
		h.Size, content = info.Size(), io.LimitReader(r, info.Size())
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(w.tar, oci.Reader(w.ctx, content))
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != h.Size {
		err = errors.New("the size of the file changed while it was read")
	}
	return err
}

func (w *tarWriter) close() error { return cmp.Or(w.err, w.tar.Close()) }

// header returns the tar header of a file, or of a directory if name ends in "/". The
// format is USTAR, or PAX if size is 8 GiB or more.
func header(name string, mode, size int64) *tar.Header {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size}
	if name[len(name)-1] == '/' {
		h.Typeflag = tar.TypeDir
	}
	return h
}
