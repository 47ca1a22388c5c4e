package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// A Blob is bytes that a repository is to have.
type Blob struct {
	v1.Descriptor
	// Open returns the bytes from the start. An error of reading them ends the
	// upload. It is called again where an upload has to go on.
	Open func() (io.ReadCloser, error)
	// OpenAt returns the bytes from one on, where that spares reading those
	// before it. It is called in place of Open if it is not nil.
	OpenAt func(ctx context.Context, from int64) (io.ReadCloser, error)
	// Progress is told of bytes that are sent, each once. It may be nil.
	Progress func(n int64)
}

// An Upload says what came of a blob.
type Upload struct {
	// Mounted says that it was not sent, as a neighbour has it.
	Mounted bool
	// Again is how many bytes were sent again after a failure.
	Again int64
}

const (
	// small is up to where a blob is sent with the request that ends the upload:
	// a round trip less, and nothing to go on from if it breaks.
	small = 1 << 20
	// step is how much has to arrive for a failed try not to count.
	step = 1 << 20
)

// Upload sends a blob that Find did not find, or mounts it from where it was
// found. After a failure it goes on from where the registry says that it is, or
// starts again. Tries after which the registry has more of the blob than before
// do not count.
func (u *Uploader) Upload(ctx context.Context, b Blob, found Found) (Upload, error) {
	s := &session{Uploader: u, blob: b, from: found.At}
	for try, best := 1, int64(0); ; try++ {
		err := s.try(ctx)
		if err == nil {
			return s.result(), nil
		}
		if s.offset >= best+step {
			try, best = 1, s.offset
		}
		if err := s.final(ctx, err, try); err != nil {
			return s.result(), err
		}
		if err := u.policy.pause(ctx, try, retryAfterOf(err)); err != nil {
			return s.result(), err
		}
	}
}

// A session is the upload of one blob.
type session struct {
	*Uploader
	blob Blob
	from name.Repository

	// at is where to send to, or nil without a session at the registry.
	at *url.URL
	// offset is how much of the blob the registry says that it has, and resumed
	// that this counts.
	offset             int64
	resumed, broken    bool
	committed, mounted bool

	// mu guards what readers of the blob write, of which one that was given up
	// may still run.
	mu         sync.Mutex
	wire, high int64
	local      error
}

func (s *session) result() Upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Upload{Mounted: s.mounted, Again: s.wire - s.high}
}

// final returns the error that ends the upload, if this one does. It leaves a
// session that cannot go on.
func (s *session) final(ctx context.Context, err error, try int) error {
	s.mu.Lock()
	local := s.local
	s.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if local != nil {
		return local
	}
	var status *transport.Error
	again := temporary(err)
	if errors.As(err, &status) && s.at != nil {
		switch status.StatusCode {
		case http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
			s.at, again = nil, true // It expired, or has lost count.
		case http.StatusBadRequest:
			s.at, again = nil, s.resumed // What it said that it had was wrong.
		}
	}
	if !again || try >= s.policy.tries {
		return err
	}
	s.broken = true
	return nil
}

// try brings the blob into the repository, or further.
func (s *session) try(ctx context.Context) error {
	if s.committed {
		// The answer may be all that was lost.
		there, err := s.has(ctx, s.repo, s.blob.Descriptor)
		if there || err != nil {
			return err
		}
		s.committed = false
	}
	if err := s.resume(ctx); err != nil {
		return err
	}
	if s.at == nil {
		if err := s.start(ctx); err != nil || s.mounted {
			return err
		}
	}
	if s.blob.Size <= small && s.offset == 0 {
		return s.commit(ctx, s.body(ctx))
	}
	if s.offset < s.blob.Size {
		if err := s.send(ctx); err != nil {
			return err
		}
	}
	return s.commit(ctx, body{})
}

// resume asks a session that broke how much it has. One that has nothing, or
// says what cannot be, is left.
func (s *session) resume(ctx context.Context) error {
	if !s.broken || s.at == nil {
		return nil
	}
	at := s.at
	s.at, s.offset, s.resumed = nil, 0, false
	resp, err := s.Uploader.send(ctx, request{method: http.MethodGet, url: at}, http.StatusNoContent, http.StatusOK, http.StatusAccepted)
	if err != nil {
		if temporary(err) {
			s.at = at
			return err
		}
		return nil
	}
	offset, ok := parseRange(resp.Header.Get("Range"))
	if !ok || offset == 0 || offset > s.blob.Size {
		return nil
	}
	if resp.Header.Get("Location") != "" {
		if at, err = s.location(resp); err != nil {
			return err
		}
	}
	s.at, s.offset, s.resumed, s.broken = at, offset, true, false
	return nil
}

// parseRange reads "0-N", which says that N+1 bytes have arrived. As "0-0" is
// also said of none, it counts as none.
func parseRange(text string) (n int64, ok bool) {
	var first, last int64
	text = strings.TrimPrefix(text, "bytes=")
	if k, _ := fmt.Sscanf(text, "%d-%d", &first, &last); k != 2 || first != 0 || last < 0 {
		return 0, false
	}
	if last == 0 {
		return 0, true
	}
	return last + 1, true
}

// start begins a session, or mounts the blob.
func (s *session) start(ctx context.Context) error {
	at := urlOf(s.repo, "blobs/uploads/")
	if s.from != (name.Repository{}) {
		at.RawQuery = url.Values{"mount": {s.blob.Digest.String()}, "from": {s.from.RepositoryStr()}}.Encode()
	}
	resp, err := s.Uploader.send(ctx, request{method: http.MethodPost, url: at}, http.StatusAccepted, http.StatusCreated)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusCreated && s.from != (name.Repository{}) {
		s.mounted = true
		return nil
	}
	s.from = name.Repository{} // It does not mount, and need not be asked again.
	if err := transport.CheckError(resp, http.StatusAccepted); err != nil {
		return err
	}
	s.offset, s.resumed, s.broken = 0, false, false
	s.at, err = s.location(resp)
	return err
}

// send streams what the session lacks.
func (s *session) send(ctx context.Context) error {
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	if s.offset > 0 {
		header.Set("Content-Range", fmt.Sprintf("%d-%d", s.offset, s.blob.Size-1))
	}
	resp, err := s.Uploader.send(ctx, request{method: http.MethodPatch, url: s.at, header: header, body: s.body(ctx)}, http.StatusAccepted, http.StatusNoContent, http.StatusOK)
	if err != nil {
		return err
	}
	s.offset = s.blob.Size
	if resp.Header.Get("Location") != "" {
		s.at, err = s.location(resp)
	}
	return err
}

// commit makes the session's bytes, and those of b, the blob.
func (s *session) commit(ctx context.Context, b body) error {
	at := *s.at
	if at.RawQuery != "" {
		at.RawQuery += "&"
	}
	at.RawQuery += "digest=" + url.QueryEscape(s.blob.Digest.String())
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	s.committed = true
	_, err := s.Uploader.send(ctx, request{method: http.MethodPut, url: &at, header: header, body: b}, http.StatusCreated)
	return err
}

// body is the blob from the session's offset on.
func (s *session) body(ctx context.Context) body {
	offset := s.offset
	return body{size: s.blob.Size - offset, open: func() (io.ReadCloser, error) {
		return &reader{ctx: ctx, s: s, pos: offset}, nil
	}}
}

// A reader reads a blob for the transport, which may close it while it reads.
type reader struct {
	ctx context.Context
	s   *session
	pos int64

	mu     sync.Mutex
	blob   io.ReadCloser
	closed bool
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, errors.New("the upload has ended")
	}
	if r.blob == nil {
		if err := r.open(); err != nil {
			return 0, r.s.fail(err)
		}
	}
	n, err := r.blob.Read(p)
	r.pos += int64(n)
	r.s.count(int64(n), r.pos)
	if err != nil && err != io.EOF {
		err = r.s.fail(err)
	}
	return n, err
}

func (r *reader) open() (err error) {
	if at := r.s.blob.OpenAt; at != nil {
		r.blob, err = at(r.ctx, r.pos)
		return err
	}
	if r.blob, err = r.s.blob.Open(); err != nil {
		return err
	}
	for skipped := int64(0); skipped < r.pos && err == nil; {
		var n int64
		n, err = io.CopyN(io.Discard, r.blob, min(r.pos-skipped, step))
		skipped += n
		err = errors.Join(err, r.ctx.Err())
	}
	return err
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.blob == nil {
		return nil
	}
	return r.blob.Close()
}

// fail keeps the error of reading the blob, which no registry is to blame for.
func (s *session) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.local = err
	return err
}

func (s *session) count(n, pos int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wire += n
	if pos > s.high {
		if s.blob.Progress != nil {
			s.blob.Progress(pos - s.high)
		}
		s.high = pos
	}
}
