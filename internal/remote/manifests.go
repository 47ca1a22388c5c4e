package remote

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
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
func (b *Blobs) Manifest(ctx context.Context, reference string) (m Manifest, err error) {
	again := func(err error) bool { return unsteady(err) || errors.As(err, new(*digestError)) }
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
		err = &digestError{want, m.Digest}
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

// A digestError is that of a manifest which is another than it should be.
type digestError struct{ want, got v1.Hash }

func (e *digestError) Error() string {
	return fmt.Sprintf("manifest %s has other content than its digest says: it is %s", e.want, e.got)
}

// getDocument reads an answer of at most 4 MiB whole. A status other than those
// wanted is an error.
func getDocument(ctx context.Context, client *http.Client, from *url.URL, header http.Header, want ...int) ([]byte, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer discard(resp)
	if err := wanted(resp, want...); err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(&boundedBody{resp.Body, MaxManifest})
	return raw, resp, err
}
