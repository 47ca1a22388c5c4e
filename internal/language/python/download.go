package python

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
	"github.com/xfn-dev/xfn/internal/oci"
)

// fetch adds a wheel to the cache. It continues the download of an earlier call that was
// interrupted, in this process or another one.
func (s *store) fetch(ctx context.Context, file resolve.File, path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("opening the cache: %w", fsx.Cause(err))
	}
	f, err := fsx.Resume(dir, file.SHA256)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p := &partial{f: f, sum: sha256.New()}
	if p.size, err = f.Size(); err != nil {
		return err
	}
	if _, err := io.Copy(p.sum, io.NewSectionReader(f, 0, p.size)); err != nil {
		return fsx.Cause(err)
	}
	resumed := p.size > 0
	receive := func() error { return s.receive(ctx, file, p) }
	if resumed && p.is(file.SHA256) { // it was not committed
		receive = func() error { return nil }
	}
	err = language.Retry(ctx, 0, 0, receive)
	if err == nil && p.joined && !p.is(file.SHA256) { // an earlier part may be damaged
		err = errors.Join(p.reset(), language.Retry(ctx, 0, 0, receive))
	}
	if err != nil {
		_, keepErr := f.Keep()
		return errors.Join(err, keepErr)
	}
	if !p.is(file.SHA256) {
		return fmt.Errorf("wheel %q has the digest sha256:%x, but the lock file has sha256:%s", file.Name, p.sum.Sum(nil), file.SHA256)
	}
	return f.Commit(path, 0o600)
}

type partial struct {
	f    *fsx.AtomicFile
	size int64
	sum  hash.Hash
	// joined is true if the content has parts of several responses.
	joined bool
}

func (p *partial) is(sum string) bool { return fmt.Sprintf("%x", p.sum.Sum(nil)) == sum }

func (p *partial) reset() error {
	p.size, p.joined = 0, false
	p.sum.Reset()
	return p.f.Truncate(0)
}

// Write appends b.
func (p *partial) Write(b []byte) (int, error) {
	n, err := p.f.WriteAt(b, p.size)
	p.size += int64(n)
	p.sum.Write(b[:n])
	return n, err
}

// receive appends the missing bytes of a wheel to p.
func (s *store) receive(ctx context.Context, file resolve.File, p *partial) (err error) {
	from, start, err := s.open(ctx, file, p.size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if start != p.size {
		if err := p.reset(); err != nil {
			return err
		}
	}
	p.joined = p.size > 0
	if _, err := io.Copy(p, io.LimitReader(oci.Reader(ctx, from), maxWheel+1-p.size)); err != nil {
		return language.WithoutURL(err)
	}
	if p.size > maxWheel {
		return fmt.Errorf("wheel %q is larger than %d MiB", file.Name, maxWheel>>20)
	}
	return nil
}

// open returns the content of a wheel that is not in the cache. start is the offset of its
// first byte: from, or 0 if the server does not send parts of files.
func (s *store) open(ctx context.Context, file resolve.File, from int64) (_ io.ReadCloser, start int64, err error) {
	if file.URL == "" {
		dir, err := inside(s.root, s.lockDir, filepath.ToSlash(filepath.Dir(file.Path)))
		if err != nil {
			return nil, 0, err
		}
		f, err := os.Open(filepath.Join(dir, filepath.Base(file.Path)))
		return f, 0, fsx.Cause(err)
	}
	u, err := url.Parse(file.URL)
	if err != nil {
		return nil, 0, fmt.Errorf("the URL of wheel %q is invalid", file.Name)
	}
	s.progress.Step("fetching " + file.Name)
	header := http.Header{"Accept": {"application/octet-stream"}, "Accept-Encoding": {"identity"}}
	if from > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	resp, err := s.request(ctx, u, header)
	if status, ok := errors.AsType[*language.StatusError](err); ok && from > 0 && status.Code == http.StatusRequestedRangeNotSatisfiable {
		return s.open(ctx, file, 0)
	}
	if err != nil {
		return nil, 0, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, 0, nil
	}
	var first int64
	if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &first); err == nil && first == from {
		return resp.Body, from, nil
	}
	if err := resp.Body.Close(); err != nil || from == 0 {
		return nil, 0, errors.Join(fmt.Errorf("registry %q sends a part of %q that was not requested", u.Host, file.Name), err)
	}
	return s.open(ctx, file, 0)
}
