package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An Uploader writes blobs and manifests to a repository (OCI distribution spec, "Push").
// Callers must pass its errors to Client.Explain. It is safe for concurrent use.
type Uploader struct {
	*Repository
	neighbors []name.Repository
}

// Uploader logs in to the registry with permission to push to repo and to read neighbors.
// The registry may mount blobs from neighbors, which are repositories of the same registry.
// If the registry refuses that login, Uploader logs in for repo only and does not use
// neighbors.
func (c *Client) Uploader(ctx context.Context, repo name.Repository, neighbors ...name.Repository) (*Uploader, error) {
	scopes := []string{repo.Scope(transport.PushScope)}
	for _, n := range neighbors {
		scopes = append(scopes, n.Scope(transport.PullScope))
	}
	r, err := c.repository(ctx, repo, scopes...)
	if len(neighbors) > 0 && errors.As(err, new(*transport.Error)) {
		neighbors = nil
		r, err = c.repository(ctx, repo, scopes[0])
	}
	if err != nil {
		return nil, err
	}
	return &Uploader{r, neighbors}, nil
}

// notThere are the status codes of responses for content that does not exist or may not be
// read.
var notThere = []int{http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden}

// ManifestAt returns the digest of the manifest at a tag or digest. It returns the zero
// value if the registry returns no digest: it may deny access to a repository that does not
// exist yet.
func (u *Uploader) ManifestAt(ctx context.Context, reference string) (h v1.Hash, err error) {
	resp, err := u.head(ctx, u.repo, "manifests/"+reference, notThere...)
	if err == nil && resp.StatusCode == http.StatusOK {
		h, _ = v1.NewHash(resp.Header.Get("Docker-Content-Digest"))
	}
	return h, err
}

// PutManifest writes a manifest. reference is a tag or the manifest's digest. All blobs and
// manifests that raw refers to must exist.
func (u *Uploader) PutManifest(ctx context.Context, reference string, mediaType types.MediaType, raw []byte) error {
	put := request{method: http.MethodPut, url: urlOf(u.repo, "manifests/"+reference), header: http.Header{"Content-Type": {string(mediaType)}}}
	put.size = int64(len(raw))
	put.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return u.retry(ctx, func() error {
		_, err := u.send(ctx, put, http.StatusCreated, http.StatusOK, http.StatusAccepted)
		return err
	})
}

// LacksBlob reports whether err says that the registry refused a manifest because one of its
// blobs is missing (OCI distribution spec, "Error Codes").
func LacksBlob(err error) bool {
	status, ok := errors.AsType[*transport.Error](err)
	return ok && slices.ContainsFunc(status.Errors, func(d transport.Diagnostic) bool {
		return d.Code == transport.ManifestBlobUnknownErrorCode || d.Code == transport.BlobUnknownErrorCode
	})
}

// Refused reports whether err proves that the registry did not execute a request. After any
// other error, the registry may have executed the request although its response was lost. A
// status of an overloaded registry proves nothing, because it may be the response to a
// later try.
func Refused(err error) bool {
	status, ok := errors.AsType[*transport.Error](err)
	return ok && status.StatusCode < http.StatusInternalServerError && !isBusy(status.StatusCode)
}

// Found is where Find found a blob.
type Found struct {
	// Exists is true if the repository has the blob.
	Exists bool
	// At is a repository of the same registry that has the blob, one of the Uploader's
	// neighbors, or the zero value.
	At name.Repository
}

// Find looks for a blob in the repository, then in the Uploader's neighbors.
func (u *Uploader) Find(ctx context.Context, desc v1.Descriptor) (Found, error) {
	exists, err := u.has(ctx, u.repo, desc)
	if exists || err != nil {
		return Found{Exists: exists}, err
	}
	for _, n := range u.neighbors {
		if exists, err := u.has(ctx, n, desc); exists || err != nil {
			return Found{At: n}, err
		}
	}
	return Found{}, nil
}

func (u *Uploader) has(ctx context.Context, repo name.Repository, desc v1.Descriptor) (bool, error) {
	resp, err := u.head(ctx, repo, "blobs/"+desc.Digest.String(), notThere...)
	if err != nil {
		return false, err
	}
	// A blob with another size is not the blob that desc describes.
	return resp.StatusCode == http.StatusOK && (resp.ContentLength < 0 || resp.ContentLength == desc.Size), nil
}

// location returns the URL at which the upload continues. The registry sends a path or a
// URL, which may be on another host. If the host is the registry, location keeps the scheme
// of the request, because a registry behind a proxy may send the wrong scheme.
func (u *Uploader) location(resp *http.Response) (*url.URL, error) {
	at := resp.Header.Get("Location")
	if at == "" {
		return nil, errors.New("the registry returned no upload location")
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
