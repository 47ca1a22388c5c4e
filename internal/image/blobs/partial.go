package blobs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
)

// tries is how often a blob is asked for whose stream breaks off.
const tries = 3

// An Opener opens a blob at its source so that from bytes of it need not be
// sent again. It returns where the stream starts: there, or at 0 if the source
// sends blobs only whole.
type Opener func(ctx context.Context, from int64) (stream io.ReadCloser, start int64, err error)

// Fetch adds the blob that desc describes. What an earlier Fetch left of it is
// used; what this one leaves, cut off, is left for the next. A process that
// fetches the same blob meanwhile is neither waited for nor disturbed. moved
// hears of each change of how many bytes are there.
func (d *Dir) Fetch(ctx context.Context, desc v1.Descriptor, open Opener, moved func(bytes int64)) (err error) {
	if _, err := nameOf(desc.Digest); err != nil {
		return err
	}
	p, err := d.claim(ctx, desc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.abandon()) }()
	if d.Has(desc.Digest, desc.Size) {
		return nil
	}
	p.moved = moved
	moved(p.size)
	for try := 1; ; try++ {
		again, err := p.fill(ctx, open)
		if err == nil {
			return d.publish(ctx, p)
		}
		if !again || try == tries || ctx.Err() != nil {
			return err
		}
	}
}

// A partial is a file that a blob is written to, locked by its process.
type partial struct {
	file  *os.File
	desc  v1.Descriptor
	sum   hash.Hash
	size  int64
	moved func(int64)
	// whole is set if all of its bytes are from one stream.
	whole bool
}

// claim returns what is there of a blob and nobody writes to, or a new file.
func (d *Dir) claim(ctx context.Context, desc v1.Descriptor) (*partial, error) {
	paths, err := filepath.Glob(filepath.Join(d.path, partsFolder, desc.Digest.Hex+".*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		p, err := newPartial(ctx, f, desc)
		if err != nil || p != nil {
			return p, err
		}
	}
	for {
		f, err := os.CreateTemp(filepath.Join(d.path, partsFolder), desc.Digest.Hex+".*")
		if err != nil {
			return nil, fmt.Errorf("making a file in cache %q: %w", d.path, fsx.Cause(err))
		}
		p, err := newPartial(ctx, f, desc)
		if err != nil || p != nil {
			return p, err
		}
	}
}

// newPartial locks f and reads what is in it. It is nil if another process has
// it, or has finished it.
func newPartial(ctx context.Context, f *os.File, desc v1.Descriptor) (*partial, error) {
	mine, err := fsx.TryLock(f, fsx.ExclusiveLock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking a file of the cache: %w", err), f.Close())
	}
	if !mine || !fsx.IsAt(f, f.Name()) {
		return nil, f.Close()
	}
	p := &partial{file: f, desc: desc, sum: sha256.New(), moved: func(int64) {}}
	if p.size, err = io.Copy(p.sum, oci.Reader(ctx, f)); err != nil {
		return nil, errors.Join(fmt.Errorf("reading a file of the cache: %w", fsx.Cause(err)), f.Close())
	}
	if p.size > desc.Size {
		if err := p.reset(); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return p, nil
}

// Write implements io.Writer.
func (p *partial) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.sum.Write(b[:n])
	p.size += int64(n)
	p.moved(int64(n))
	return n, fsx.Cause(err)
}

// reset empties the file.
func (p *partial) reset() error {
	p.moved(-p.size)
	p.sum.Reset()
	p.size = 0
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return fsx.Cause(err)
	}
	return fsx.Cause(p.file.Truncate(0))
}

// abandon leaves what there is to the next Fetch, unless that is nothing.
func (p *partial) abandon() error {
	if p.file == nil {
		return nil
	}
	if p.size == 0 {
		// Windows removes no open file, and an empty one harms nobody.
		_ = os.Remove(p.file.Name())
	}
	return p.file.Close()
}

// fill fetches what is missing and checks the whole. It tells whether an error
// may be one that is gone the next time.
func (p *partial) fill(ctx context.Context, open Opener) (again bool, err error) {
	if p.size < p.desc.Size || p.size == 0 {
		if again, err := p.receive(ctx, open); err != nil {
			return again, err
		}
	}
	got := fmt.Sprintf("%x", p.sum.Sum(nil))
	if got == p.desc.Digest.Hex {
		return false, nil
	}
	err = fmt.Errorf("blob %s has other content than its digest says: its SHA-256 sum is %s", p.desc.Digest, got)
	return !p.whole, errors.Join(err, p.reset())
}

func (p *partial) receive(ctx context.Context, open Opener) (again bool, err error) {
	stream, start, err := open(ctx, p.size)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	if start != p.size {
		if err := p.reset(); err != nil {
			return false, err
		}
	}
	p.whole = p.size == 0
	src := &source{in: oci.Reader(ctx, stream)}
	_, err = io.Copy(p, io.LimitReader(src, p.desc.Size-p.size+1))
	switch {
	case err != nil && src.err == nil:
		return false, fmt.Errorf("writing blob %s to the cache: %w", p.desc.Digest, err)
	case p.size > p.desc.Size:
		return false, errors.Join(fmt.Errorf("blob %s is longer than the %d bytes that its manifest says", p.desc.Digest, p.desc.Size), p.reset())
	case p.size == p.desc.Size:
		return false, nil
	case src.err != nil:
		return true, src.err
	default:
		return true, fmt.Errorf("blob %s ended after %d of %d bytes", p.desc.Digest, p.size, p.desc.Size)
	}
}

// A source remembers how reading failed, to tell it from failing to write.
type source struct {
	in  io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// publish gives the finished file the name of its blob. Whoever finished the
// same one first has done no harm.
func (d *Dir) publish(ctx context.Context, p *partial) (err error) {
	use, err := d.Share(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, use.Close()) }()
	path, f := p.file.Name(), p.file
	p.file = nil
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing blob %s to the cache: %w", p.desc.Digest, fsx.Cause(err))
	}
	err = os.Rename(path, d.file(p.desc.Digest))
	if err != nil && d.Has(p.desc.Digest, p.desc.Size) {
		_ = os.Remove(path)
		return nil
	}
	return fsx.Cause(err)
}
