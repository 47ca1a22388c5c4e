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

	"github.com/xfn-dev/xfn/internal/oci"
)

// A Blob is a blob to upload.
type Blob struct {
	v1.Descriptor
	// Open returns the content from the start. It is called again when an upload resumes. If
	// reading the content fails, the upload fails.
	Open func() (io.ReadCloser, error)
	// OpenAt returns the content from an offset. If it is not nil, it is called instead of
	// Open.
	OpenAt func(ctx context.Context, from int64) (io.ReadCloser, error)
	// Progress is called with the number of bytes that were sent. Bytes that are sent again are
	// not counted. It may be nil.
	Progress func(n int64)
}

// An Upload is the result of uploading a blob.
type Upload struct {
	// Mounted is true if the registry mounted the blob from another of its repositories, so
	// that the content was not sent.
	Mounted bool
	// Again is the number of bytes that were sent again after an error.
	Again int64
}

// small is the maximum size in bytes of a blob that is sent in the closing PUT request of
// its upload, without a PATCH request. This saves a round trip, but such an upload cannot
// be resumed.
const small = 1 << 20

// Upload sends a blob that Find did not find in the repository, or mounts it from found.At.
// After an error it resumes at the offset that the registry reports, or starts again. The
// count of tries restarts when the registry has received another MiB.
func (u *Uploader) Upload(ctx context.Context, b Blob, found Found) (Upload, error) {
	s := &session{Uploader: u, blob: b, from: found.At}
	for a := (attempts{}); ; {
		err := s.try(ctx)
		again, err := s.recover(ctx, err)
		if again {
			err = a.next(ctx, u.policy, s.offset, err)
			again = err == nil
		}
		if !again {
			s.mu.Lock()
			defer s.mu.Unlock()
			return Upload{Mounted: s.mounted, Again: s.wire - s.high}, err
		}
	}
}

type session struct {
	*Uploader
	blob Blob
	from name.Repository

	// at is the URL at which the registry continues the upload, or nil if none has begun.
	at *url.URL
	// offset is the number of bytes that the registry has received. resumed is true if the
	// upload continues at an offset that the registry reported.
	offset             int64
	resumed, broken    bool
	committed, mounted bool

	// mu guards wire, high and local, which readers of the blob write. The reader of an
	// earlier, failed request may still be running.
	mu         sync.Mutex
	wire, high int64
	local      error
}

// recover reports whether to try the upload again after err. If so, it discards the URL of
// an upload that cannot be resumed. Otherwise cause is the error to return: the error of
// ctx, the error of reading the blob, or err.
func (s *session) recover(ctx context.Context, err error) (again bool, cause error) {
	s.mu.Lock()
	local := s.local
	s.mu.Unlock()
	switch {
	case err == nil:
		return false, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case local != nil:
		return false, local
	}
	again = isTemporary(err)
	if status, ok := errors.AsType[*transport.Error](err); ok && s.at != nil {
		switch status.StatusCode {
		case http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
			s.at, again = nil, true // The upload at the registry has expired, or is at another offset.
		case http.StatusBadRequest:
			s.at, again = nil, s.resumed // The registry may have reported a wrong offset to resume at.
		}
	}
	s.broken = true
	return again, err
}

// try makes one attempt to complete the upload. It continues an upload that the registry
// has begun, if there is one.
func (s *session) try(ctx context.Context) error {
	if s.committed {
		// The registry may have completed the upload although its response was lost.
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
	single := s.blob.Size <= small && s.offset == 0
	if !single && s.offset < s.blob.Size {
		if err := s.stream(ctx); err != nil {
			return err
		}
	}
	return s.commit(ctx, single)
}

// resume asks the registry for the offset of an upload whose connection broke. If the
// registry has received nothing or reports an impossible offset, resume discards the
// upload's URL, and the upload starts again.
func (s *session) resume(ctx context.Context) error {
	if !s.broken || s.at == nil {
		return nil
	}
	at := s.at
	s.at, s.offset, s.resumed = nil, 0, false
	resp, err := s.send(ctx, request{method: http.MethodGet, url: at}, http.StatusNoContent, http.StatusOK, http.StatusAccepted)
	if err != nil {
		if isTemporary(err) {
			s.at = at
			return err
		}
		return nil
	}
	offset := parseRange(resp.Header.Get("Range"))
	if offset == 0 || offset > s.blob.Size {
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

// parseRange returns the number of bytes that the registry received according to its Range
// header "0-N". It returns 0 for an invalid header, and for "0-0", which may also mean that
// the registry received nothing.
func parseRange(text string) int64 {
	var first, last int64
	n, _ := fmt.Sscanf(strings.TrimPrefix(text, "bytes="), "%d-%d", &first, &last)
	if n != 2 || first != 0 || last <= 0 {
		return 0
	}
	return last + 1
}

// start begins an upload, or mounts the blob if another repository of the registry has it.
func (s *session) start(ctx context.Context) error {
	at := urlOf(s.repo, "blobs/uploads/")
	if s.from != (name.Repository{}) {
		at.RawQuery = url.Values{"mount": {s.blob.Digest.String()}, "from": {s.from.RepositoryStr()}}.Encode()
	}
	resp, err := s.send(ctx, request{method: http.MethodPost, url: at}, http.StatusAccepted, http.StatusCreated)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusCreated && s.from != (name.Repository{}) {
		s.mounted = true
		return nil
	}
	s.from = name.Repository{} // The registry did not mount the blob: do not ask again.
	if err := transport.CheckError(resp, http.StatusAccepted); err != nil {
		return err
	}
	s.offset, s.resumed, s.broken = 0, false, false
	s.at, err = s.location(resp)
	return err
}

// stream sends the blob from s.offset to its end in one PATCH request.
func (s *session) stream(ctx context.Context) error {
	r := s.request(ctx, http.MethodPatch, s.at, true)
	if s.offset > 0 {
		r.header.Set("Content-Range", fmt.Sprintf("%d-%d", s.offset, s.blob.Size-1))
	}
	resp, err := s.send(ctx, r, http.StatusAccepted, http.StatusNoContent, http.StatusOK)
	if err != nil {
		return err
	}
	s.offset = s.blob.Size
	if resp.Header.Get("Location") != "" {
		s.at, err = s.location(resp)
	}
	return err
}

// commit sends the closing PUT request of the upload. If withBody is true, the request
// contains the content of the blob.
func (s *session) commit(ctx context.Context, withBody bool) error {
	at := *s.at
	if at.RawQuery != "" {
		at.RawQuery += "&"
	}
	at.RawQuery += "digest=" + url.QueryEscape(s.blob.Digest.String())
	s.committed = true
	_, err := s.send(ctx, s.request(ctx, http.MethodPut, &at, withBody), http.StatusCreated)
	return err
}

// request returns a request of the upload. If withBody is true, the request's body is the
// content of the blob from s.offset.
func (s *session) request(ctx context.Context, method string, at *url.URL, withBody bool) request {
	r := request{method: method, url: at, header: http.Header{"Content-Type": {"application/octet-stream"}}}
	if withBody {
		offset := s.offset
		r.size = s.blob.Size - offset
		r.open = func() (io.ReadCloser, error) { return &reader{ctx: ctx, s: s, pos: offset}, nil }
	}
	return r
}

// A reader is the body of a request that sends a blob. The transport may call Close while
// Read runs.
type reader struct {
	ctx context.Context
	s   *session
	pos int64

	mu     sync.Mutex
	blob   io.ReadCloser
	closed bool
}

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
	_, err = io.CopyN(io.Discard, oci.Reader(r.ctx, r.blob), r.pos)
	return err
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.blob == nil {
		return nil
	}
	return r.blob.Close()
}

// fail records an error of reading the blob, so that recover can distinguish it from errors
// of the registry.
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
