package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
)

// A Repository reads the tags, manifests and blobs of a repository. It is safe for
// concurrent use. Callers must pass its errors to Client.Explain.
type Repository struct {
	client *http.Client
	repo   name.Repository
	policy policy
}

// Repository logs in to the registry of repo and returns its Repository. Callers must pass
// errors to Explain.
func (c *Client) Repository(ctx context.Context, repo name.Repository) (*Repository, error) {
	return c.repository(ctx, repo, repo.Scope(transport.PullScope))
}

func (c *Client) repository(ctx context.Context, repo name.Repository, scopes ...string) (*Repository, error) {
	auth, err := c.keychain.resolve(ctx, repo)
	if err != nil {
		return nil, err
	}
	agent := transport.NewUserAgent(fresh{c.transport}, c.userAgent)
	var t http.RoundTripper
	p := c.policy
	p.report = func(err error, wait time.Duration, try int) {
		text, _ := c.describe(repo.Tag(""), err)
		c.keychain.report.Note(fmt.Sprintf("%s; trying again in %s (%d of %d)", text, wait.Round(time.Second), try, p.tries))
	}
	err = p.do(ctx, isUnsteady, func() error {
		t, err = transport.NewWithContext(ctx, repo.Registry, auth, agent, scopes)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Repository{&http.Client{Transport: t}, repo, p}, nil
}

// fresh is a transport that opens each request's body again before it sends the request.
// Otherwise, when go-containerregistry repeats a request with a new token, it would send
// only the unread rest of the body.
type fresh struct{ inner http.RoundTripper }

func (f fresh) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.GetBody == nil {
		return f.inner.RoundTrip(req)
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	if err := req.Body.Close(); err != nil {
		return nil, errors.Join(err, body.Close())
	}
	again := req.Clone(req.Context())
	again.Body = body
	return f.inner.RoundTrip(again)
}

// A request describes an HTTP request to a registry, which may be sent several times.
type request struct {
	method string
	url    *url.URL
	header http.Header
	// open returns the request's body, of size bytes. It is called for each try. A nil open
	// means that the request has no body.
	open func() (io.ReadCloser, error)
	size int64
}

func urlOf(repo name.Repository, path string) *url.URL {
	return &url.URL{Scheme: repo.Scheme(), Host: repo.RegistryStr(), Path: "/v2/" + repo.RepositoryStr() + "/" + path}
}

// do sends a request and returns the response, whatever its status code is. The caller must
// close the response's body.
func (b *Repository) do(ctx context.Context, r request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), nil)
	if err != nil {
		return nil, err
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if r.open != nil {
		req.GetBody, req.ContentLength = r.open, r.size
		if req.Body, err = r.open(); err != nil {
			return nil, err
		}
	}
	return b.client.Do(req)
}

// send sends a request, and discards the body of the response. It returns an error if
// status does not contain the response's status code.
func (b *Repository) send(ctx context.Context, r request, status ...int) (*http.Response, error) {
	resp, err := b.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer discard(resp)
	return resp, checkStatus(resp, status...)
}

// get fetches the URL from and returns the body of the response, of at most oci.MaxManifest
// bytes. It returns an error if status does not contain the response's status code.
func (b *Repository) get(ctx context.Context, from *url.URL, accept string, status ...int) ([]byte, *http.Response, error) {
	r := request{method: http.MethodGet, url: from}
	if accept != "" {
		r.header = http.Header{"Accept": {accept}}
	}
	resp, err := b.do(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer discard(resp)
	if err := checkStatus(resp, status...); err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, oci.MaxManifest+1))
	if err == nil && len(raw) > oci.MaxManifest {
		err = errSize
	}
	return raw, resp, err
}

// errSize is the error of a manifest or list of more than oci.MaxManifest bytes.
var errSize = errors.New("the response is too large")

// discard reads up to 64 KiB of the response's body, so that the connection can be reused,
// and closes it.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

// retry calls try until it succeeds, its error is not temporary, or all tries are used up.
func (b *Repository) retry(ctx context.Context, try func() error) error {
	return b.policy.do(ctx, isTemporary, try)
}

// manifestTypes is the Accept header of requests for manifests.
var manifestTypes = strings.Join([]string{
	string(types.OCIImageIndex), string(types.OCIManifestSchema1),
	string(types.DockerManifestList), string(types.DockerManifestSchema2),
}, ", ")

// head sends a HEAD request for a path of a repository. It returns an error unless the
// status code is 200 or in status.
func (b *Repository) head(ctx context.Context, repo name.Repository, path string, status ...int) (resp *http.Response, err error) {
	r := request{method: http.MethodHead, url: urlOf(repo, path), header: http.Header{"Accept": {manifestTypes}}}
	err = b.retry(ctx, func() error {
		resp, err = b.send(ctx, r, append(status, http.StatusOK)...)
		return err
	})
	return resp, err
}

// A Manifest is a manifest with exactly the bytes that the registry returned.
type Manifest struct {
	Digest v1.Hash
	// MediaType is the media type in the registry's response.
	MediaType types.MediaType
	Raw       []byte
}

// Manifest returns the manifest at a tag or digest, of at most 4 MiB. It verifies the digest
// that was requested. For a tag, it verifies the digest in the response's header, if there
// is one (OCI distribution spec, "Pulling manifests"). It tries again after a mismatch.
func (b *Repository) Manifest(ctx context.Context, reference string) (m Manifest, err error) {
	again := func(err error) bool { return isTemporary(err) || errors.As(err, new(*oci.MismatchError)) }
	err = b.policy.do(ctx, again, func() error {
		m, err = b.getManifest(ctx, reference)
		return err
	})
	return m, err
}

func (b *Repository) getManifest(ctx context.Context, reference string) (m Manifest, err error) {
	raw, resp, err := b.get(ctx, urlOf(b.repo, "manifests/"+reference), manifestTypes+", */*", http.StatusOK)
	if err != nil {
		return m, err
	}
	m.Raw, m.MediaType = raw, mediaTypeOf(resp)
	want, err := v1.NewHash(reference)
	// An error means that reference is a tag, not a digest.
	if err != nil {
		want, _ = v1.NewHash(resp.Header.Get("Docker-Content-Digest"))
	}
	m.Digest = oci.Sum(cmp.Or(want.Algorithm, "sha256"), raw)
	if want != (v1.Hash{}) && m.Digest != want {
		return m, &oci.MismatchError{Digest: want, Sum: m.Digest.Hex}
	}
	return m, nil
}

// NotFound reports whether err says that a registry returned 404.
func NotFound(err error) bool {
	status, ok := errors.AsType[*transport.Error](err)
	return ok && status.StatusCode == http.StatusNotFound
}

// open returns the bytes of a blob as the registry sends them, without verifying them.
// start is the offset of the first byte: from, or 0 if the registry does not support HTTP
// ranges (RFC 9110), which the OCI distribution spec does not require.
func (b *Repository) open(ctx context.Context, desc v1.Descriptor, from int64) (blob io.ReadCloser, start int64, err error) {
	r := request{method: http.MethodGet, url: urlOf(b.repo, "blobs/"+desc.Digest.String()), header: http.Header{"Accept-Encoding": {"identity"}}}
	if from > 0 {
		r.header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, desc.Size-1))
	}
	resp, err := b.do(ctx, r)
	if err == nil && from > 0 && resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		discard(resp)
		r.header.Del("Range")
		resp, err = b.do(ctx, r)
	}
	if err != nil {
		return nil, 0, err
	}
	if resp.StatusCode == http.StatusPartialContent {
		start = from
		err = checkPart(resp, from)
	} else {
		err = checkStatus(resp, http.StatusOK)
	}
	if err != nil {
		discard(resp)
		return nil, 0, err
	}
	return resp.Body, start, nil
}

// checkPart returns an error if a response does not contain the range that was requested.
func checkPart(resp *http.Response, from int64) error {
	var first, last int64
	got := resp.Header.Get("Content-Range")
	n, _ := fmt.Sscanf(got, "bytes %d-%d/", &first, &last)
	if n != 2 || from == 0 || first != from {
		return fmt.Errorf("the registry sent the wrong part of a blob: Content-Range is %q", got)
	}
	return nil
}

// Stream returns the bytes of a blob from offset from to desc.Size. The first Read sends
// the first request. If the connection breaks or the registry is overloaded, Read sends a
// new request for the missing bytes. The count of tries restarts after each further MiB.
// Read fails if the registry sends fewer or more bytes than desc.Size, or when ctx is done.
// The caller must verify the digest, and pass errors to Client.Explain.
func (b *Repository) Stream(ctx context.Context, desc v1.Descriptor, from int64) io.ReadCloser {
	return &stream{ctx: ctx, repo: b, desc: desc, at: from, attempts: attempts{best: from}}
}

type stream struct {
	ctx  context.Context
	repo *Repository
	desc v1.Descriptor
	// at is the offset of the next byte. body is the open response at that offset, or nil.
	at   int64
	body io.ReadCloser
	attempts
	// failed is the error of the last read. It is reset before the next try.
	failed error
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		switch {
		case s.ctx.Err() != nil:
			return 0, context.Cause(s.ctx)
		case s.failed != nil && !isTemporary(s.failed):
			return 0, s.failed
		case s.failed != nil:
			if err := s.next(s.ctx, s.repo.policy, s.at, s.failed); err != nil {
				return 0, err
			}
		}
		s.failed = nil
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

// read reads from the current response. It returns io.EOF only at the end of the blob.
func (s *stream) read(p []byte) (int, error) {
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
		return n, errors.Join(&shortError{s.desc, s.at}, s.Close())
	case err != nil && err != io.EOF:
		return n, errors.Join(err, s.Close())
	}
	return n, err
}

// open requests the rest of the blob. If a registry without ranges sends the whole blob
// again, open skips the bytes that were already read.
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

func (s *stream) Close() error {
	body := s.body
	s.body = nil
	if body == nil {
		return nil
	}
	return body.Close()
}

// A shortError says that the registry sent fewer bytes of a blob than its descriptor says.
type shortError struct {
	desc v1.Descriptor
	at   int64
}

func (e *shortError) Error() string {
	return fmt.Sprintf("blob %s ended after %d of %d bytes", e.desc.Digest, e.at, e.desc.Size)
}

// Unwrap returns io.ErrUnexpectedEOF, so that isTemporary returns true for a shortError.
func (e *shortError) Unwrap() error { return io.ErrUnexpectedEOF }
