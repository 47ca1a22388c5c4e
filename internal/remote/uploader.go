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

// notThere are the statuses of responses about content that is absent or must not be
// read.
var notThere = []int{http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden}

// ManifestAt returns the digest of the manifest at a tag or digest, or the zero value if
// the registry does not return one: some refuse to show a repository that does not
// exist yet.
func (u *Uploader) ManifestAt(ctx context.Context, reference string) (h v1.Hash, err error) {
	resp, err := u.head(ctx, u.repo, "manifests/"+reference, notThere...)
	if err == nil && resp.StatusCode == http.StatusOK {
		h, _ = v1.NewHash(resp.Header.Get("Docker-Content-Digest"))
	}
	return h, err
}

// PutManifest puts a manifest at reference, a tag or its own digest. The content that it
// names must exist.
func (u *Uploader) PutManifest(ctx context.Context, reference string, mediaType types.MediaType, raw []byte) error {
	put := request{method: http.MethodPut, url: urlOf(u.repo, "manifests/"+reference), header: http.Header{"Content-Type": {string(mediaType)}}}
	put.size = int64(len(raw))
	put.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return u.retry(ctx, func() error {
		_, err := u.send(ctx, put, http.StatusCreated, http.StatusOK, http.StatusAccepted)
		return err
	})
}

// LacksBlob reports whether a manifest was refused because one of its blobs is
// missing (OCI distribution spec, "Error Codes").
func LacksBlob(err error) bool {
	status, ok := errors.AsType[*transport.Error](err)
	return ok && slices.ContainsFunc(status.Errors, func(d transport.Diagnostic) bool {
		return d.Code == transport.ManifestBlobUnknownErrorCode || d.Code == transport.BlobUnknownErrorCode
	})
}

// Refused reports whether the registry refused a request. After other errors the
// request may have succeeded and its response may be lost. That includes a status
// for an overloaded registry, which may be the response to a later try.
func Refused(err error) bool {
	status, ok := errors.AsType[*transport.Error](err)
	return ok && status.StatusCode < http.StatusInternalServerError && !isBusy(status.StatusCode)
}

// Found reports where a blob was found.
type Found struct {
	// Exists is true if the repository has it.
	Exists bool
	// At is a neighbor from which it can be mounted, or the zero value.
	At name.Repository
}

// Find reports whether a blob is in the repository or in a neighbor.
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
	// A blob of another size is another blob.
	return resp.StatusCode == http.StatusOK && (resp.ContentLength < 0 || resp.ContentLength == desc.Size), nil
}

// location returns where the upload continues: a path, or a URL that may be on
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
