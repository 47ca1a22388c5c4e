package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

const (
	// maxRatio limits the compression ratio of an archive that unpacks to more than
	// freeSize. Images of programs have ratios of 2 to 5.
	maxRatio = 200
	freeSize = 1 << 30
)

// Read reads an archive from a stream, such as the output of docker save. The stream may be
// compressed with gzip or zstd. Read stores the layers in d, and compresses layers that are
// plain tars. Other files are kept in memory, up to 64 MiB. The artifact's layers are read
// from d. Read may leave bytes after the end marker of a tar that is not compressed.
//
// Read returns the cause of ctx when ctx is done. An archive that unpacks to more than 1
// GiB and to more than 200 times its size is an error.
func Read(ctx context.Context, r io.Reader, d *Draft) (*File, error) {
	s := &stream{stored: r, draft: d, ctx: ctx, tarball: tarball{entries: map[string]entry{}, budget: maxMetadata}}
	if err := s.read(); err != nil {
		return nil, err
	}
	a, docker, err := s.artifactOf(ctx)
	return &File{Artifact: a, Docker: docker}, err
}

// A stream is a tarball that is read once.
type stream struct {
	tarball
	ctx    context.Context
	draft  *Draft
	stored io.Reader
	// in and out count the bytes before and after decompression.
	in, out int64
	tar     *tar.Reader
}

func (s *stream) read() (err error) {
	stored := bufio.NewReaderSize(oci.Reader(s.ctx, readerFunc(s.readStored)), 64<<10)
	magic, _ := stored.Peek(4) // Decompress returns the error.
	compressed := oci.Compression(magic) != ""
	plain, err := oci.Decompress(stored)
	if err != nil {
		return explain(err, 0)
	}
	defer func() {
		if ended := plain.Close(); err == nil { // After an error, Close returns the same error.
			err = ended
		}
	}()
	bounded := readerFunc(func(p []byte) (int, error) { return s.count(plain.Read(p)) })
	head := make([]byte, blockSize)
	n, err := io.ReadFull(bounded, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return explain(err, 0)
	}
	if err := otherContent(head[:n]); err != nil {
		return err
	}
	s.tar = tar.NewReader(io.MultiReader(bytes.NewReader(head[:n]), bounded))
	if err := s.readAll(s.ctx, s.tar, s.file); err != nil {
		return err
	}
	switch {
	case s.out == 0:
		return hint.Wrap(errors.New("the file is empty"), "build or pull the file again")
	case !compressed:
		return nil
	}
	// The tar reader stops at the end marker. The bytes after the marker must be read, to
	// detect that the compressed stream is truncated.
	_, err = io.Copy(io.Discard, bounded)
	return explain(err, 1)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (s *stream) readStored(p []byte) (int, error) {
	n, err := s.stored.Read(p)
	s.in += int64(n)
	return n, err
}

func (s *stream) count(n int, err error) (int, error) {
	if s.out += int64(n); s.out > freeSize && s.out/maxRatio > s.in {
		return n, fmt.Errorf("the archive unpacks to more than %d times its size", maxRatio)
	}
	return n, err
}

func (s *stream) file(h *tar.Header) (entry, error) {
	r := bufio.NewReaderSize(s.tar, 64<<10)
	head, err := r.Peek(blockSize)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return entry{}, explain(err, 1)
	case oci.Compression(head) != "":
		return s.copied(r)
	case isTar(head):
		return s.zip(r, h.Size)
	default:
		return s.hold(r, h.Size)
	}
}

func (s *stream) copied(r io.Reader) (entry, error) {
	at, digest, err := s.draft.copyFrom(s.ctx, r, v1.Hash{})
	if err != nil {
		return entry{}, explain(err, 1)
	}
	c := section(at, 0, at.Size())
	c.digest = digest
	return entry{content: c}, nil
}

func (s *stream) zip(r io.Reader, size int64) (entry, error) {
	l, err := s.draft.Compress(func(w io.Writer) error {
		_, err := oci.Copy(s.ctx, w, r)
		return err
	})
	if err != nil {
		return entry{}, explain(err, 1)
	}
	return entry{content: content{size: size, digest: l.Blob.DiffID, open: l.Uncompressed}}, nil
}

func (s *stream) hold(r io.Reader, size int64) (entry, error) {
	if err := spend(&s.budget, size); err != nil {
		return entry{}, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return entry{}, explain(err, 1)
	}
	c := section(bytes.NewReader(data), 0, size)
	c.held = true
	return entry{content: c}, nil
}

// isTar reports whether a file that begins with head is a tar. It checks the checksum of the
// first header (POSIX, pax interchange format), or recognizes an empty tar.
func isTar(head []byte) bool {
	const from, to = 148, 156 // The checksum counts its own field as spaces.
	if len(head) < blockSize {
		return false
	}
	sum := int64(to-from) * ' '
	for i, b := range head {
		if i < from || i >= to {
			sum += int64(b)
		}
	}
	field := bytes.Trim(head[from:to], " \x00")
	want, err := strconv.ParseInt(string(field), 8, 64)
	return err == nil && want == sum || bytes.Count(head, []byte{0}) == len(head)
}
