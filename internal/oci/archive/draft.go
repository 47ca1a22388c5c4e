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

// blockSize is the block size of a tar file in bytes. A header is one block. The content of
// each file is padded to whole blocks.
const blockSize = 512

// A DraftFile is the empty file that a Draft is written to.
type DraftFile interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
}

// A Draft is an archive that is being written. Its layers are written before its other files
// are known. Each layer is compressed or copied only once, directly to its final offset if
// layers are added in the order of Write. Methods may be called concurrently, except Finish,
// which must be the last call.
type Draft struct {
	mu   sync.Mutex
	file DraftFile
	end  int64
	// names are the files in the draft, in order.
	names []string
	// loose is true if the header of a file is larger than the block that was reserved for it.
	// In that case Finish returns false.
	loose  bool
	stored map[v1.Hash]*io.SectionReader // blobs by digest
	zipped map[v1.Hash]Layer             // layers that Compress created, by diff ID
	// zip is the Compressor of the last layer, for the next layer. It is nil if it cannot be
	// reused.
	zip *oci.Compressor
}

// A Layer is a layer in a draft, and its description.
type Layer struct {
	v1.Layer
	Blob oci.Blob
}

// NewDraft returns a Draft that is written to f.
func NewDraft(f DraftFile) *Draft {
	return &Draft{file: f, stored: map[v1.Hash]*io.SectionReader{}, zipped: map[v1.Hash]Layer{}}
}

// Compress adds a layer, in one pass: fill writes the layer's tar, and Compress stores it
// compressed. A layer that the draft already has is not stored again.
func (d *Draft) Compress(fill func(io.Writer) error) (Layer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var blob oci.Blob
	at, err := d.add(func(w io.Writer) (_ v1.Hash, err error) {
		blob, err = d.compress(w, fill)
		return blob.Digest, err
	})
	if err != nil {
		return Layer{}, fmt.Errorf("compressing a layer: %w", err)
	}
	l, err := oci.OwnLayer(at, blob)
	d.zipped[blob.DiffID] = Layer{l, blob}
	return d.zipped[blob.DiffID], err
}

func (d *Draft) compress(w io.Writer, fill func(io.Writer) error) (oci.Blob, error) {
	zip := d.zip
	d.zip = nil
	if zip == nil {
		zip = oci.NewCompressor(w)
	} else {
		zip.Reset(w)
	}
	err := fill(zip)
	if ended := zip.Close(); err == nil { // After an error, Close may return the same error.
		err = ended
	}
	if err != nil {
		return oci.Blob{}, err
	}
	d.zip = zip
	return zip.Blob(), nil
}

// Compressed returns the layer that Compress created from a tar with the digest diffID. It
// returns false if there is no such layer.
func (d *Draft) Compressed(diffID v1.Hash) (Layer, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.zipped[diffID]
	return l, ok
}

// Copy adds the layer that blob describes, without recompressing it. r must verify the bytes
// that it returns, as the reader of oci.Verify does. r is not read if the draft already has
// the layer. If blob has no digest, Copy computes the digest and size.
func (d *Draft) Copy(ctx context.Context, r io.Reader, blob oci.Blob) (Layer, error) {
	d.mu.Lock()
	at, ok := d.stored[blob.Digest]
	d.mu.Unlock()
	if !ok {
		var err error
		if at, blob.Digest, err = d.copyFrom(ctx, r, blob.Digest); err != nil {
			return Layer{}, fmt.Errorf("copying a layer: %w", err)
		}
	}
	blob.Size = at.Size()
	l, err := oci.OwnLayer(at, blob)
	return Layer{l, blob}, err
}

// copyFrom adds the content of r and returns its digest. If digest is not the zero value,
// copyFrom returns it without computing it.
func (d *Draft) copyFrom(ctx context.Context, r io.Reader, digest v1.Hash) (*io.SectionReader, v1.Hash, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, err := d.add(func(w io.Writer) (v1.Hash, error) {
		if digest != (v1.Hash{}) {
			_, err := oci.Copy(ctx, w, r)
			return digest, err
		}
		sum := sha256.New()
		_, err := oci.Copy(ctx, w, io.TeeReader(r, sum))
		digest = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}
		return digest, err
	})
	return at, digest, err
}

// add adds a file whose content is written by write. The tar header contains the digest and
// size of the content, so add writes the header after the content.
func (d *Draft) add(write func(io.Writer) (v1.Hash, error)) (*io.SectionReader, error) {
	body := io.NewOffsetWriter(d.file, d.end+blockSize)
	digest, err := write(body)
	if err != nil {
		return nil, errors.Join(err, d.file.Truncate(d.end))
	}
	if at, ok := d.stored[digest]; ok {
		return at, d.file.Truncate(d.end)
	}
	size := written(body)
	at := io.NewSectionReader(d.file, d.end+blockSize, size)
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(header(blobPath(digest), size)); err != nil {
		return nil, err
	}
	if head.Len() != blockSize {
		d.loose = true
	} else if _, err := d.file.WriteAt(head.Bytes(), d.end); err != nil {
		return nil, err
	}
	d.end += blockSize + (size+blockSize-1)/blockSize*blockSize // Nothing is written to the padding, so it is zeros.
	d.stored[digest] = at
	d.names = append(d.names, blobPath(digest))
	return at, nil
}

func written(w *io.OffsetWriter) int64 {
	n, _ := w.Seek(0, io.SeekCurrent) // Seek fails only for a negative offset.
	return n
}

// Finish completes the draft to the archive that Write would write for a, and returns true.
// The draft's layers must be the first files of that archive, in the same order. If they
// are not, Finish writes nothing and returns false, and the layers remain readable.
func (d *Draft) Finish(ctx context.Context, a oci.Artifact, text string, report progress.Func) (bool, error) {
	files, err := filesOf(ctx, a)
	if err != nil || d.loose || len(files) < len(d.names) {
		return false, err
	}
	end := io.NewOffsetWriter(d.file, d.end)
	out := newOutput(end, text, report)
	for i, name := range d.names {
		if files[i].name != name {
			return false, nil
		}
		out.done += files[i].size
	}
	out.total = out.done
	if err := out.files(ctx, files[len(d.names):]); err != nil {
		return true, err
	}
	return true, d.file.Truncate(d.end + written(end))
}
