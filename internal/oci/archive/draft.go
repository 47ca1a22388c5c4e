package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// blockSize is that of a tar: headers have one, and contents are padded to it.
const blockSize = 512

// A DraftFile is what a Draft needs of an empty file.
type DraftFile interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
}

// A Draft is an archive whose layers are written before it is known what else it
// will hold: each is compressed or copied once, to the place where it stays if
// layers came in the order that Write gives them. Its methods may be called by
// several goroutines, but for Finish, after which none may be called.
type Draft struct {
	mu   sync.Mutex
	file DraftFile
	end  int64
	// names are the files that are there, in their order.
	names []string
	// loose is true if one of them has no room for its header.
	loose  bool
	stored map[v1.Hash]*io.SectionReader // by digest
	zipped map[v1.Hash]zipped            // by the digest of its tar
	// zip is for the next layer, if there was one.
	zip *oci.Compressor
}

// A zipped layer was compressed here.
type zipped struct {
	v1.Layer
	oci.Blob
}

// NewDraft returns a draft that is kept in f.
func NewDraft(f DraftFile) *Draft {
	return &Draft{file: f, stored: map[v1.Hash]*io.SectionReader{}, zipped: map[v1.Hash]zipped{}}
}

// Compress adds a layer of the tar that fill writes, compressed in one pass. One
// that is there already is not stored again.
func (d *Draft) Compress(fill func(io.Writer) error) (v1.Layer, oci.Blob, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var blob oci.Blob
	at, err := d.add(func(w io.Writer) (_ v1.Hash, err error) {
		blob, err = d.compress(w, fill)
		return blob.Digest, err
	})
	if err != nil {
		return nil, oci.Blob{}, fmt.Errorf("compressing a layer: %w", err)
	}
	l, err := oci.OwnLayer(at, blob)
	d.zipped[blob.DiffID] = zipped{l, blob}
	return l, blob, err
}

func (d *Draft) compress(w io.Writer, fill func(io.Writer) error) (oci.Blob, error) {
	zip, err := d.compressor(w)
	if err != nil {
		return oci.Blob{}, err
	}
	err = fill(zip)
	if ended := zip.Close(); err == nil { // else it may say the same again
		err = ended
	}
	if err != nil {
		return oci.Blob{}, err
	}
	d.zip = zip
	return zip.Blob(), nil
}

func (d *Draft) compressor(w io.Writer) (*oci.Compressor, error) {
	zip := d.zip
	if d.zip = nil; zip == nil {
		return oci.NewCompressor(w)
	}
	return zip, zip.Reset(w)
}

// Compressed returns the layer that Compress made of a tar with this digest.
func (d *Draft) Compressed(diffID v1.Hash) (v1.Layer, oci.Blob, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	z, ok := d.zipped[diffID]
	return z.Layer, z.Blob, ok
}

// Copy adds a layer as it is stored, which blob describes and r holds: r must
// check that, as a reader of oci.Verify does. A blob without a digest gets the
// digest and size of what was read. If the layer is there already, r may not be
// read.
func (d *Draft) Copy(ctx context.Context, r io.Reader, blob *oci.Blob) (v1.Layer, error) {
	at, ok := d.find(blob.Digest)
	if !ok {
		var err error
		if at, blob.Digest, err = d.copyFrom(ctx, r, blob.Digest); err != nil {
			return nil, fmt.Errorf("copying a layer: %w", err)
		}
	}
	blob.Size = at.Size()
	return oci.OwnLayer(at, *blob)
}

func (d *Draft) find(digest v1.Hash) (*io.SectionReader, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.stored[digest]
	return at, ok
}

// copyFrom adds what r holds, and returns its digest, which may be known.
func (d *Draft) copyFrom(ctx context.Context, r io.Reader, known v1.Hash) (*io.SectionReader, v1.Hash, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	digest := known
	at, err := d.add(func(w io.Writer) (v1.Hash, error) {
		r := oci.Reader(ctx, r)
		if known != (v1.Hash{}) {
			_, err := oci.Copy(w, r)
			return digest, err
		}
		sum := sha256.New()
		_, err := oci.Copy(w, io.TeeReader(r, sum))
		digest = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}
		return digest, err
	})
	return at, digest, err
}

// add adds a file of what write writes. Its header, which names its digest and
// size, comes last.
func (d *Draft) add(write func(io.Writer) (v1.Hash, error)) (*io.SectionReader, error) {
	body := &offsetWriter{d.file, d.end + blockSize}
	digest, err := write(body)
	if err != nil {
		return nil, errors.Join(err, d.file.Truncate(d.end))
	}
	if at, ok := d.stored[digest]; ok {
		return at, d.file.Truncate(d.end)
	}
	at := io.NewSectionReader(d.file, d.end+blockSize, body.at-d.end-blockSize)
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(header(blobPath(digest), at.Size())); err != nil {
		return nil, err
	}
	if head.Len() != blockSize {
		d.loose = true
	} else if _, err := d.file.WriteAt(head.Bytes(), d.end); err != nil {
		return nil, err
	}
	d.end = (body.at + blockSize - 1) / blockSize * blockSize // what is between is zeros
	d.stored[digest] = at
	d.names = append(d.names, blobPath(digest))
	return at, nil
}

// Finish makes the draft the archive that Write would write of a, if the layers
// of the draft are the first ones of that, in their order. If they are not,
// nothing is written and it returns false: its layers can be read all the same.
func (d *Draft) Finish(ctx context.Context, a oci.Artifact, text string, report progress.Func) (bool, error) {
	files, err := filesOf(ctx, a)
	if err != nil || d.loose || len(files) < len(d.names) {
		return false, err
	}
	there := files[:len(d.names)]
	for i, name := range d.names {
		if there[i].name != name {
			return false, nil
		}
	}
	end := &offsetWriter{d.file, d.end}
	out := newOutput(end, text, report)
	for _, f := range there {
		out.done += f.size
	}
	out.total = out.done
	if err := out.files(ctx, files[len(there):]); err != nil {
		return true, err
	}
	return true, d.file.Truncate(end.at)
}

// An offsetWriter writes to a file from an offset on.
type offsetWriter struct {
	file io.WriterAt
	at   int64
}

func (w *offsetWriter) Write(p []byte) (int, error) {
	n, err := w.file.WriteAt(p, w.at)
	w.at += int64(n)
	return n, err
}
