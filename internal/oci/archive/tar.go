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
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
)

const (
	// maxEntries limits the files of an archive. docker save writes three files for each
	// layer.
	maxEntries = 20_000
	// maxMetadata limits the total bytes of all manifests and configs. Registries accept 4 MiB
	// for one manifest.
	maxMetadata = 64 << 20
	// maxLinks limits the length of a chain of links in an archive.
	maxLinks = 8
)

// A File is an archive that was opened by Open or read by Read.
type File struct {
	// Artifact is the image or index in the archive. Its layers are read from the archive when
	// they are opened, and verified while they are read.
	Artifact oci.Artifact
	// Docker is true for a Docker archive without a complete OCI layout. Its image gets a
	// manifest without annotations. The manifest is created when it is first needed, which
	// reads all layers.
	Docker bool

	file *os.File // nil for a File that Read returned
}

// Close closes the file. The artifact's layers cannot be read afterwards.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Open opens an archive of one image or index and reads its metadata. The manifest of a
// Docker archive is created later, but not after ctx is done. Errors name the file.
func Open(ctx context.Context, path string) (*File, error) {
	f := &File{}
	var err error
	f.file, err = openTar(ctx, path, func(t *tarball) (err error) {
		f.Artifact, f.Docker, err = t.artifactOf(ctx)
		return err
	})
	return f, err
}

// openTar opens a tar file, which read reads. Errors name the file.
func openTar(ctx context.Context, path string, read func(*tarball) error) (_ *os.File, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // Opening a pipe would wait for a writer.
		err = errors.New("the path is not a regular file")
	}
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", path, fsx.Cause(err))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", path, fsx.Cause(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("opening %q: %w", path, err), f.Close())
		}
	}()
	t, err := readTar(ctx, f)
	if err != nil {
		return nil, err
	}
	return f, read(t)
}

// artifactOf returns the artifact of the OCI layout. If the layout is missing or
// incomplete, it returns the image of the Docker archive, and true. Docker's layouts may
// lack an image that was saved by its ID, layers (up to version 25), and platforms that
// Docker has not pulled.
func (t *tarball) artifactOf(ctx context.Context) (a oci.Artifact, docker bool, err error) {
	if _, ok := t.find(layoutFile); ok {
		a, err = t.layout().one(ctx)
		if _, ok := t.find(manifestFile); !ok || !errors.As(err, new(oci.IncompleteError)) {
			return a, false, err
		}
	}
	a, err = t.docker(ctx)
	return a, true, err
}

// A tarball is a tar file whose entries can be read in any order.
type tarball struct {
	file    *os.File
	entries map[string]entry
	// budget is the number of bytes that may still be read into memory.
	budget int64
}

// An entry is a file in a tar, or a link to another name.
type entry struct {
	content
	link string
}

// readTar lists the entries of f without reading their contents.
func readTar(ctx context.Context, f *os.File) (*tarball, error) {
	if err := sniff(f); err != nil {
		return nil, err
	}
	t := &tarball{file: f, entries: map[string]entry{}, budget: maxMetadata}
	return t, t.readAll(ctx, tar.NewReader(f), t.locate)
}

// readAll adds all entries of tr to the tarball. It calls file for each regular file.
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
			return fmt.Errorf("the archive has more than %d entries", maxEntries)
		}
		if err := t.add(h, file); err != nil {
			return err
		}
	}
}

// explain returns a clearer error than err for a file that cannot be read as a tar. n is
// the number of entries that were read before the error.
func explain(err error, n int) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF) && n > 0:
		return hint.Wrap(errors.New("the tar file is truncated"), "build or pull the file again")
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.Is(err, io.ErrUnexpectedEOF):
		return hint.Wrap(errors.New("the file is not a tar file"), "name a file that a build or a pull wrote, as xfn xpkg build does")
	default:
		return fsx.Cause(err)
	}
}

// sniff returns an error if f is recognized as a file other than a tar.
func sniff(f *os.File) error {
	head := make([]byte, blockSize)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := otherContent(head[:n]); err != nil {
		return err
	}
	switch compression := oci.Compression(head); {
	case n == 0:
		return hint.Wrap(errors.New("the file is empty"), "build or pull the file again")
	case compression != "":
		next := map[string]hint.Hint{oci.Gzip: "gunzip", oci.Zstd: "zstd -d"}[compression]
		return hint.Wrap(fmt.Errorf("the file is compressed with %s", compression), "decompress the file first, with "+next)
	default:
		return nil
	}
}

// otherContent returns an error if a file that begins with head has other content in place of an
// archive.
func otherContent(head []byte) error {
	what, next := manifest.OtherContent(head)
	if what == "" {
		return nil
	}
	return hint.Wrap(errors.New(what), next)
}

func (t *tarball) add(h *tar.Header, file func(*tar.Header) (entry, error)) error {
	name := clean(h.Name)
	switch h.Typeflag {
	case tar.TypeReg:
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse") {
				return fmt.Errorf("entry %q is a sparse file, which is not supported", h.Name)
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

// locate returns the content of the file that h describes. The tar reader has just read that
// header, so the offset of the tar file is the first byte of the content.
func (t *tarball) locate(h *tar.Header) (entry, error) {
	at, err := t.file.Seek(0, io.SeekCurrent)
	return entry{content: section(t.file, at, h.Size)}, err
}

// clean returns name without leading "./", "../" and "/".
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// find returns the file with a name, after following links. It returns false if there is
// no such file.
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

func section(f io.ReaderAt, offset, size int64) content {
	return content{size: size, open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, offset, size)), nil
	}}
}

func (t *tarball) look(name string) (content, error) {
	e, ok := t.find(name)
	if !ok {
		return content{}, fs.ErrNotExist
	}
	return e.content, nil
}

func (t *tarball) layout() layout { return layout{t, &t.budget} }

func (t *tarball) metadata(name string) ([]byte, error) { return t.layout().metadata(name) }
