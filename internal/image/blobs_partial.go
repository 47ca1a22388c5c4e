package image

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

// An Opener returns a reader of a blob's bytes from the offset from to the blob's end. The
// reader reconnects after broken connections.
type Opener func(ctx context.Context, from int64) io.ReadCloser

// Fetch adds the blob that desc describes. It resumes the partial file of an interrupted
// Fetch. It does not wait for another process that fetches the same blob. When the number
// of stored bytes changes, Fetch calls moved with the difference.
func (d *BlobDir) Fetch(ctx context.Context, desc v1.Descriptor, open Opener, moved func(bytes int64)) (err error) {
	if desc.Digest.Algorithm != sumFolder {
		return fmt.Errorf("digest %q is not a SHA-256 sum", desc.Digest)
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
	if err := oci.RetryMismatch(func() error { return p.fill(ctx, open) }); err != nil {
		return err
	}
	return d.shared(ctx, func() error { return d.publish(p) })
}

// A partial is a partially fetched blob, in a file that this process has locked.
type partial struct {
	file  *os.File
	desc  v1.Descriptor
	sum   hash.Hash
	size  int64
	moved func(int64)
	// unwritable is true if a write to the file failed.
	unwritable bool
}

// claim returns a partial blob that no other process has locked, or a new one.
func (d *BlobDir) claim(ctx context.Context, desc v1.Descriptor) (*partial, error) {
	paths, err := fsx.Glob(filepath.Join(d.path, partsFolder), desc.Digest.Hex+".*")
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
			return nil, fmt.Errorf("creating a file in cache %q: %w", d.path, fsx.Cause(err))
		}
		p, err := newPartial(ctx, f, desc)
		if err != nil || p != nil {
			return p, err
		}
	}
}

// newPartial locks f and hashes its content. It returns nil if another process has locked,
// renamed or removed the file.
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

func (p *partial) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.sum.Write(b[:n])
	p.size += int64(n)
	p.moved(int64(n))
	if err != nil {
		p.unwritable = true
		return n, fmt.Errorf("writing blob %s to the cache: %w", p.desc.Digest, fsx.Cause(err))
	}
	return n, nil
}

func (p *partial) reset() error {
	p.moved(-p.size)
	p.sum.Reset()
	p.size = 0
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return fsx.Cause(err)
	}
	return fsx.Cause(p.file.Truncate(0))
}

// abandon keeps the partial file for the next Fetch. It removes the file if it is empty, or if it
// cannot be written: after a full disk, the file would take the space that other programs need.
func (p *partial) abandon() error {
	if p.file == nil {
		return nil
	}
	if p.size == 0 || p.unwritable {
		// Removing an open file fails on Windows. The next prune removes the file.
		_ = os.Remove(p.file.Name())
	}
	return p.file.Close()
}

// fill fetches the missing bytes of the blob and verifies its digest. If the digest
// differs, fill empties the partial file.
func (p *partial) fill(ctx context.Context, open Opener) error {
	if p.size < p.desc.Size || p.size == 0 {
		if err := p.receive(ctx, open); err != nil {
			return err
		}
	}
	got := fmt.Sprintf("%x", p.sum.Sum(nil))
	if got == p.desc.Digest.Hex {
		return nil
	}
	return errors.Join(&oci.MismatchError{Digest: p.desc.Digest, Sum: got}, p.reset())
}

func (p *partial) receive(ctx context.Context, open Opener) (err error) {
	stream := open(ctx, p.size)
	defer func() { err = errors.Join(err, stream.Close()) }()
	_, err = io.Copy(p, oci.Reader(ctx, stream))
	return err
}

// publish renames the complete file to the name of its blob. Another process may have
// published the blob already. The directory must have a shared lock.
func (d *BlobDir) publish(p *partial) error {
	path, f := p.file.Name(), p.file
	p.file = nil
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing blob %s to the cache: %w", p.desc.Digest, fsx.Cause(err))
	}
	err := os.Rename(path, d.file(p.desc.Digest))
	if err != nil && d.Has(p.desc.Digest, p.desc.Size) {
		_ = os.Remove(path)
		return nil
	}
	return fsx.Cause(err)
}
