package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An Uploader writes blobs and manifests to a repository: OCI distribution
// spec, "Push". Its errors are for Explain. It is safe for concurrent use.
type Uploader struct {
	*Repository
	neighbors []name.Repository
}

// Uploader returns the Uploader of repo, after logging in with the right to
// push. Blobs may be mounted from neighbors, repositories of the same registry.
// Neighbors that may not be read are ignored.
func (c *Client) Uploader(ctx context.Context, repo name.Repository, neighbors ...name.Repository) (*Uploader, error) {
	scopes := []string{repo.Scope(transport.PushScope)}
	for _, n := range neighbors {
		scopes = append(scopes, n.Scope(transport.PullScope))
	}
	r, err := c.repository(ctx, repo, temporary, scopes...)
	if len(neighbors) > 0 && errors.As(err, new(*transport.Error)) {
		neighbors = nil
		r, err = c.repository(ctx, repo, temporary, scopes[0])
	}
	if err != nil {
		return nil, err
	}
	return &Uploader{r, neighbors}, nil
}

// fresh sends each body from its start: go-containerregistry repeats a request
// with a new token, and would send only the rest of the body.
type fresh struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
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

// unsteady reports whether to try again with a registry that may never have
// responded.
func unsteady(err error) bool { return lost(err) || isBusy(err) }

// isBusy reports whether a registry responded that it is overloaded.
func isBusy(err error) bool {
	var status *transport.Error
	return errors.As(err, &status) && busy(status.StatusCode)
}

// temporary reports whether to try again with a registry that has responded before:
// if it refuses connections now, it is being restarted.
func temporary(err error) bool {
	var (
		status *transport.Error
		target *targetError
		cert   *tls.CertificateVerificationError
		sent   *url.Error
	)
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &target), errors.As(err, &cert):
		return false
	case errors.As(err, &status):
		return busy(status.StatusCode)
	default:
		return errors.As(err, &sent)
	}
}

// manifestTypes are those that are asked for.
var manifestTypes = strings.Join([]string{
	string(types.OCIImageIndex), string(types.OCIManifestSchema1),
	string(types.DockerManifestList), string(types.DockerManifestSchema2),
}, ", ")

// ManifestAt returns the digest of what is at reference, a tag or a digest, or
// none if the registry does not say: some refuse to show a repository that does
// not exist yet.
func (u *Uploader) ManifestAt(ctx context.Context, reference string) (h v1.Hash, err error) {
	answer, err := u.head(ctx, u.repo, "manifests/"+reference, notThere...)
	if err == nil && answer.StatusCode == http.StatusOK {
		h, _ = v1.NewHash(answer.Header.Get("Docker-Content-Digest"))
	}
	return h, err
}

// PutManifest puts a manifest at reference, a tag or its own digest. All that it
// points at has to be there.
func (u *Uploader) PutManifest(ctx context.Context, reference string, mediaType types.MediaType, raw []byte) error {
	put := request{
		method: http.MethodPut, url: urlOf(u.repo, "manifests/"+reference),
		header: http.Header{"Content-Type": {string(mediaType)}}, body: bytesBody(raw),
	}
	return u.retry(ctx, func() error {
		_, err := u.send(ctx, put, http.StatusCreated, http.StatusOK, http.StatusAccepted)
		return err
	})
}

// LacksBlob reports whether a manifest was refused because one of its blobs is
// missing (OCI distribution spec, "Error Codes").
func LacksBlob(err error) bool {
	var status *transport.Error
	return errors.As(err, &status) && slices.ContainsFunc(status.Errors, func(d transport.Diagnostic) bool {
		return d.Code == transport.ManifestBlobUnknownErrorCode || d.Code == transport.BlobUnknownErrorCode
	})
}

// Refused reports whether the registry refused a request. After other errors the
// request may have succeeded and its response may be lost. That includes a status
// for an overloaded registry, which may be the response to a later try.
func Refused(err error) bool {
	var status *transport.Error
	return errors.As(err, &status) && status.StatusCode < http.StatusInternalServerError && !busy(status.StatusCode)
}

// notThere are the statuses of responses about content that is absent or must not be
// read.
var notThere = []int{http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden}

// Find reports whether a blob is in the repository or in a neighbor.
func (u *Uploader) Find(ctx context.Context, desc v1.Descriptor) (Found, error) {
	there, err := u.has(ctx, u.repo, desc)
	if there || err != nil {
		return Found{There: there}, err
	}
	for _, n := range u.neighbors {
		if there, err := u.has(ctx, n, desc); there || err != nil {
			return Found{At: n}, err
		}
	}
	return Found{}, nil
}

// Found reports where a blob was found.
type Found struct {
	// There is true if the repository has it.
	There bool
	// At is a neighbor that has it, or the zero value.
	At name.Repository
}

// Mountable reports whether the blob can be mounted.
func (f Found) Mountable() bool { return f.At != name.Repository{} }

func (u *Uploader) has(ctx context.Context, repo name.Repository, desc v1.Descriptor) (bool, error) {
	answer, err := u.head(ctx, repo, "blobs/"+desc.Digest.String(), notThere...)
	if err != nil {
		return false, err
	}
	// A blob of another size is another blob.
	return answer.StatusCode == http.StatusOK && (answer.ContentLength < 0 || answer.ContentLength == desc.Size), nil
}

func urlOf(repo name.Repository, path string) *url.URL {
	return &url.URL{Scheme: repo.Scheme(), Host: repo.RegistryStr(), Path: "/v2/" + repo.RepositoryStr() + "/" + path}
}

// A request is one to a registry. Its body can be sent more than once.
type request struct {
	method string
	url    *url.URL
	header http.Header
	body   body
}

// send returns the answer to r, whose body was read and closed. A status other
// than those wanted is an error.
func (b *Repository) send(ctx context.Context, r request, want int, or ...int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), nil)
	if err != nil {
		return nil, err
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if r.body.open != nil {
		req.GetBody, req.ContentLength = r.body.open, r.body.size
		if req.Body, err = r.body.open(); err != nil {
			return nil, err
		}
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer discard(resp)
	return resp, wanted(resp, append(or, want)...)
}

// A body is what is sent with a request; without open there is none.
type body struct {
	open func() (io.ReadCloser, error)
	size int64
}

func bytesBody(b []byte) body {
	return body{func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }, int64(len(b))}
}

// location is where the answer says to go on: a path, or a URL that may be on
// another host. A registry behind a proxy may not know its own scheme.
func (u *Uploader) location(resp *http.Response) (*url.URL, error) {
	at := resp.Header.Get("Location")
	if at == "" {
		return nil, errors.New("the registry does not say where to upload to")
	}
	base := resp.Request.URL
	to, err := base.Parse(at)
	if err != nil {
		return nil, errors.New("the registry returned an upload location that is not a URL")
	}
	if to.Host == u.repo.RegistryStr() {
		to.Scheme = base.Scheme
	}
	if err := checkTarget(base, to); err != nil {
		return nil, fmt.Errorf("starting an upload: %w", err)
	}
	return to, nil
}
