package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Stream returns the bytes of a blob from offset from. The first Read sends the first
// request. If the connection breaks or the registry is overloaded, Stream resumes at
// its offset; tries are counted anew when it has received more. It ends after
// desc.Size bytes, and fails if the registry sends fewer or more. The caller verifies
// the digest. It ends when ctx is done. Errors are for Explain.
func (b *Repository) Stream(ctx context.Context, desc v1.Descriptor, from int64) io.ReadCloser {
	return &stream{ctx: ctx, repo: b, desc: desc, at: from, attempts: attempts{best: from}}
}

type stream struct {
	ctx  context.Context
	repo *Repository
	desc v1.Descriptor
	// at is the offset of the next byte, and body continues there, if it is open.
	at   int64
	body io.ReadCloser
	attempts
	// failed is the last error, until there is another try.
	failed error
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for {
		if s.failed != nil {
			if err := s.recover(s.failed); err != nil {
				return 0, err
			}
			s.failed = nil
		}
		n, err := s.read(p)
		if err == io.EOF {
			return n, err
		}
		s.failed = err
		if n > 0 || err == nil {
			return n, nil
		}
	}
}

// read reads from one connection. It returns io.EOF at the end of the blob only.
func (s *stream) read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	if s.body == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n, err := s.body.Read(p)
	s.at += int64(n)
	switch {
	case s.at > s.desc.Size:
		return 0, fmt.Errorf("blob %s is longer than the %d bytes that its manifest says", s.desc.Digest, s.desc.Size)
	case err == io.EOF && s.at < s.desc.Size:
		return n, errors.Join(&shortError{s.desc, s.at}, s.close())
	case err != nil && err != io.EOF:
		return n, errors.Join(err, s.close())
	}
	return n, err
}

// open requests the rest of the blob. A registry without ranges sends the whole blob
// again.
func (s *stream) open() error {
	if s.at == s.desc.Size && s.at > 0 {
		s.body = http.NoBody
		return nil
	}
	body, start, err := s.repo.open(s.ctx, s.desc, s.at)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, body, s.at-start); err != nil {
		return errors.Join(err, body.Close())
	}
	s.body = body
	return nil
}

// recover waits for another try, or returns the error that ends the stream.
func (s *stream) recover(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if !isTemporary(err) {
		return err
	}
	return s.next(s.ctx, s.repo.policy, s.at, err)
}

func (s *stream) close() error {
	body := s.body
	s.body = nil
	if body == nil {
		return nil
	}
	return body.Close()
}

// Close implements io.Closer.
func (s *stream) Close() error { return s.close() }

// A shortError is the error of a blob that is shorter than its descriptor says.
type shortError struct {
	desc v1.Descriptor
	at   int64
}

func (e *shortError) Error() string {
	return fmt.Sprintf("blob %s ended after %d of %d bytes", e.desc.Digest, e.at, e.desc.Size)
}

// Unwrap makes it a temporary error.
func (e *shortError) Unwrap() error { return io.ErrUnexpectedEOF }
