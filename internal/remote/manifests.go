package remote

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
)

// A Manifest is the very bytes of one, as a registry has them.
type Manifest struct {
	Digest v1.Hash
	// MediaType is what the registry says it is.
	MediaType types.MediaType
	Raw       []byte
}

// Manifest returns what is at reference, a tag or a digest, of at most 4 MiB. It
// has the digest that was asked for, or else the one that the registry says
// (OCI distribution spec, "Pulling manifests"); an answer that breaks off, or has
// another, is asked for again. Errors are for Explain; NotFound knows that of a
// reference at which nothing is.
func (b *Repository) Manifest(ctx context.Context, reference string) (m Manifest, err error) {
	again := func(err error) bool { return b.temporary(err) || errors.As(err, new(*oci.MismatchError)) }
	err = b.policy.do(ctx, again, func() error {
		m, err = getManifest(ctx, b.client, b.repo, reference)
		return err
	})
	return m, err
}

// NotFound says whether a registry answered that it has not what was asked for.
func NotFound(err error) bool {
	var status *transport.Error
	return errors.As(err, &status) && status.StatusCode == http.StatusNotFound
}

func getManifest(ctx context.Context, client *http.Client, repo name.Repository, reference string) (m Manifest, err error) {
	header := http.Header{"Accept": {manifestTypes + ", */*"}}
	raw, resp, err := getDocument(ctx, client, urlOf(repo, "manifests/"+reference), header, http.StatusOK)
	if err != nil {
		return m, err
	}
	m.Raw, m.MediaType = raw, types.MediaType(mediaTypeOf(resp))
	want, err := v1.NewHash(reference)
	if err != nil { // It is a tag.
		want, err = v1.NewHash(resp.Header.Get("Docker-Content-Digest"))
	}
	if err != nil {
		m.Digest, _, err = v1.SHA256(bytes.NewReader(raw))
		return m, err
	}
	if m.Digest, err = digestOf(raw, want.Algorithm); err == nil && m.Digest != want {
		err = &oci.MismatchError{Digest: want, Sum: m.Digest.Hex}
	}
	return m, err
}

func digestOf(raw []byte, algorithm string) (v1.Hash, error) {
	sum, err := v1.Hasher(algorithm)
	if err != nil {
		return v1.Hash{}, err
	}
	sum.Write(raw)
	return v1.Hash{Algorithm: algorithm, Hex: hex.EncodeToString(sum.Sum(nil))}, nil
}

// HasManifest reports whether something is at a tag or digest. Errors are for
// Explain.
func (b *Repository) HasManifest(ctx context.Context, reference string) (bool, error) {
	answer, err := b.head(ctx, b.repo, "manifests/"+reference, http.StatusNotFound)
	return err == nil && answer.StatusCode == http.StatusOK, err
}

// head asks for what is at a path of a repository. The answer has the status OK, or
// one of missing.
func (b *Repository) head(ctx context.Context, repo name.Repository, path string, missing ...int) (answer *http.Response, err error) {
	err = b.retry(ctx, func() error {
		answer, err = b.send(ctx, request{method: http.MethodHead, url: urlOf(repo, path), header: http.Header{"Accept": {manifestTypes}}}, http.StatusOK, missing...)
		return err
	})
	return answer, err
}

// getDocument reads an answer of at most 4 MiB whole. A status other than those
// wanted is an error.
func getDocument(ctx context.Context, client *http.Client, from *url.URL, header http.Header, want ...int) ([]byte, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	if header != nil {
		req.Header = header
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer discard(resp)
	if err := wanted(resp, want...); err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(&boundedBody{resp.Body, oci.MaxManifest})
	return raw, resp, err
}
