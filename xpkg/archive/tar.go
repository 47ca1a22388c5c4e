package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
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

// A tarball is a plain tar file whose entries can be read in any order.
type tarball struct {
	file    *os.File
	entries map[string]entry
	// budget is how many bytes of metadata may still be read.
	budget int64
}

// An entry is where a file lies in a tar, or the name that it is a link to.
type entry struct {
	offset, size int64
	link         string
}

// readTar finds the entries of f without reading them.
func readTar(ctx context.Context, f *os.File) (*tarball, error) {
	if err := sniff(f); err != nil {
		return nil, err
	}
	t := &tarball{file: f, entries: map[string]entry{}, budget: maxMetadata}
	tr := tar.NewReader(f)
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			return t, nil
		case errors.Is(err, io.ErrUnexpectedEOF) && n > 0:
			return nil, errors.New("the tar file is cut off")
		case err != nil:
			return nil, errors.New("it is not a tar file")
		}
		if n == maxEntries {
			return nil, fmt.Errorf("it has more than %d entries", maxEntries)
		}
		if err := t.add(h); err != nil {
			return nil, err
		}
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
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return hint.Wrap(errors.New("it is compressed with gzip"), "decompress it first: gunzip keeps the tar that is inside")
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return hint.Wrap(errors.New("it is compressed with zstd"), "decompress it first: zstd -d keeps the tar that is inside")
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// add notes where the entry of h lies. The tar reader has just read its header
// and nothing more, so the file stands at the entry's first byte.
func (t *tarball) add(h *tar.Header) error {
	name := clean(h.Name)
	switch h.Typeflag {
	case tar.TypeReg:
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse") {
				return fmt.Errorf("its entry %q is sparse", h.Name)
			}
		}
		at, err := t.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		t.entries[name] = entry{offset: at, size: h.Size}
	case tar.TypeSymlink:
		t.entries[name] = entry{link: clean(path.Join(path.Dir(name), h.Linkname))}
	case tar.TypeLink:
		t.entries[name] = entry{link: clean(h.Linkname)}
	}
	return nil
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

// section returns the bytes of an entry.
func (t *tarball) section(e entry) *io.SectionReader {
	return io.NewSectionReader(t.file, e.offset, e.size)
}

// metadata reads a file whole, within the budget.
func (t *tarball) metadata(name string) ([]byte, error) {
	e, ok := t.find(name)
	if !ok {
		return nil, fmt.Errorf("it has no %s", name)
	}
	if t.budget -= e.size; t.budget < 0 {
		return nil, fmt.Errorf("its manifests and configs are larger than %d MiB", maxMetadata>>20)
	}
	data := make([]byte, e.size)
	if _, err := io.ReadFull(t.section(e), data); err != nil {
		return nil, fmt.Errorf("reading its %s: %w", name, err)
	}
	return data, nil
}
