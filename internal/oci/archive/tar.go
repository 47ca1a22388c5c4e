package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

const (
	// maxEntries bounds the files of an archive. A docker save has three per
	// layer.
	maxEntries = 20_000
	// maxMetadata bounds the bytes of all manifests and configs together.
	// Registries take 4 MiB for one.
	maxMetadata = 64 << 20
	// maxLinks is how many links lead to a file at most.
	maxLinks = 8
)

// A tarball is a tar file whose entries can be read in any order.
type tarball struct {
	file    *os.File
	entries map[string]entry
	// budget is how many bytes of metadata may still be read.
	budget int64
}

// An entry is a file in a tar, or the name that it is a link to.
type entry struct {
	content
	link string
}

// readTar finds the entries of f without reading them.
func readTar(ctx context.Context, f *os.File) (*tarball, error) {
	if err := sniff(f); err != nil {
		return nil, err
	}
	t := &tarball{file: f, entries: map[string]entry{}, budget: maxMetadata}
	return t, t.readAll(ctx, tar.NewReader(f), t.locate)
}

// readAll calls file for each regular file, to have it as an entry.
func (t *tarball) readAll(ctx context.Context, tr *tar.Reader, file func(*tar.Header) (entry, error)) error {
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return explain(err, n)
		}
		if n == maxEntries {
			return fmt.Errorf("it has more than %d entries", maxEntries)
		}
		if err := t.add(h, file); err != nil {
			return err
		}
	}
}

// explain says what is wrong with a tar, n of whose entries could be read.
func explain(err error, n int) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && n > 0:
		return errors.New("the tar file is cut off")
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is not a tar file")
	default:
		return fsx.Cause(err)
	}
}

// sniff refuses what is known not to be a tar, and goes back to the start.
func sniff(f *os.File) error {
	magic := make([]byte, 4)
	n, err := f.ReadAt(magic, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case n == 0:
		return errors.New("the file is empty")
	case oci.IsGzip(magic):
		return hint.Wrap(errors.New("it is compressed with gzip"), "decompress it first: gunzip keeps the tar that is inside")
	case oci.IsZstd(magic):
		return hint.Wrap(errors.New("it is compressed with zstd"), "decompress it first: zstd -d keeps the tar that is inside")
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

func (t *tarball) add(h *tar.Header, file func(*tar.Header) (entry, error)) error {
	name := clean(h.Name)
	switch h.Typeflag {
	case tar.TypeReg:
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse") {
				return fmt.Errorf("its entry %q is sparse", h.Name)
			}
		}
		e, err := file(h)
		if err != nil {
			return err
		}
		t.entries[name] = e
	case tar.TypeSymlink:
		t.entries[name] = entry{link: clean(path.Join(path.Dir(name), h.Linkname))}
	case tar.TypeLink:
		t.entries[name] = entry{link: clean(h.Linkname)}
	}
	return nil
}

// locate notes where the entry of h lies. The tar reader has just read its header
// and nothing more, so the file stands at the entry's first byte.
func (t *tarball) locate(h *tar.Header) (entry, error) {
	at, err := t.file.Seek(0, io.SeekCurrent)
	return entry{content: section(t.file, at, h.Size)}, err
}

// clean returns name without "./", "../" and "/" in front.
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// find returns where the content of a file lies.
func (t *tarball) find(name string) (entry, bool) {
	name = clean(name)
	for range maxLinks {
		e, ok := t.entries[name]
		if !ok || e.link == "" {
			return e, ok
		}
		name = e.link
	}
	return entry{}, false
}

// section is a part of a file.
func section(f io.ReaderAt, offset, size int64) content {
	return content{size: size, open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, offset, size)), nil
	}}
}

// look implements files.
func (t *tarball) look(name string) (content, error) {
	e, ok := t.find(name)
	if !ok {
		return content{}, fs.ErrNotExist
	}
	return e.content, nil
}

// metadata reads a file whole, within the budget.
func (t *tarball) metadata(name string) ([]byte, error) { return readMetadata(t, name, &t.budget) }
