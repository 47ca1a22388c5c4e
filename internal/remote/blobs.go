package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// A Repository reads the tags, manifests and blobs of a repository. It is safe for
// concurrent use.
type Repository struct {
	client *http.Client
	repo   name.Repository
	policy policy
	// temporary reports after which errors to try again.
	temporary func(error) bool
}

// Repository returns a Repository, after asking its registry how to log in. Its
// errors are for Explain.
func (c *Client) Repository(ctx context.Context, repo name.Repository) (*Repository, error) {
	return c.repository(ctx, repo, unsteady, repo.Scope(transport.PullScope))
}

func (c *Client) repository(ctx context.Context, repo name.Repository, temporary func(error) bool, scopes ...string) (*Repository, error) {
	auth, err := authn.Resolve(ctx, c.keychain, repo)
	if err != nil {
		return nil, err
	}
	t, err := c.login(ctx, repo, auth, scopes)
	if err != nil {
		return nil, err
	}
	return &Repository{&http.Client{Transport: t, CheckRedirect: checkRedirect}, repo, c.policy, temporary}, nil
}

func (c *Client) login(ctx context.Context, repo name.Repository, auth authn.Authenticator, scopes []string) (t http.RoundTripper, err error) {
	agent := transport.NewUserAgent(fresh{c.transport}, c.userAgent)
	return t, c.policy.do(ctx, unsteady, func() error {
		t, err = transport.NewWithContext(ctx, repo.Registry, auth, agent, scopes)
		return err
	})
}

// retry calls try, and again after a temporary error.
func (b *Repository) retry(ctx context.Context, try func() error) error {
	return b.policy.do(ctx, b.temporary, try)
}

// open returns the bytes of a blob as the registry sends them: nothing is verified.
// They start at byte from, or at 0 if the registry does not support ranges (RFC
// 9110, "Range Requests"; the OCI distribution spec leaves that to it).
func (b *Repository) open(ctx context.Context, desc v1.Descriptor, from int64) (blob io.ReadCloser, start int64, err error) {
	resp, err := b.get(ctx, desc, from)
	if err != nil {
		return nil, 0, err
	}
	if from > 0 && resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		discard(resp)
		if resp, err = b.get(ctx, desc, 0); err != nil {
			return nil, 0, err
		}
	}
	if resp.StatusCode == http.StatusPartialContent {
		err = checkPart(resp, from)
		start = from
	} else {
		err = wanted(resp, http.StatusOK)
	}
	if err != nil {
		discard(resp)
		return nil, 0, err
	}
	return resp.Body, start, nil
}

func (b *Repository) get(ctx context.Context, desc v1.Descriptor, from int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, urlOf(b.repo, "blobs/"+desc.Digest.String()).String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, desc.Size-1))
	}
	return b.client.Do(req)
}

// wanted makes an answer of another status an error, which knows how long the
// registry asks to wait.
func wanted(resp *http.Response, status ...int) error {
	if err := transport.CheckError(resp, status...); err != nil {
		return &retryAfterError{err, retryAfter(resp.Header)}
	}
	return nil
}

// checkPart makes sure that an answer is the part that was asked for.
func checkPart(resp *http.Response, from int64) error {
	var first, last int64
	n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/", &first, &last)
	if n != 2 || from == 0 || first != from {
		return fmt.Errorf("the registry sent another part of a blob than was asked for: %q", resp.Header.Get("Content-Range"))
	}
	return nil
}

// checkRedirect follows a registry to where its blobs are stored, but not for
// ever.
func checkRedirect(_ *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return &targetError{errors.New("the registry redirects without end")}
	}
	return nil
}

// checkTarget says whether to go where a registry points, which may be
// anywhere: but not to an address that stands there as one that only this
// machine or its network has, and not from a connection that is private to one
// that is not. A name may lead anywhere: it is asked without credentials, and
// what it answers is believed by its digest.
func checkTarget(from, to *url.URL) error {
	switch {
	case from.Scheme == "https" && to.Scheme != "https":
		return &targetError{fmt.Errorf("the registry redirects from https to %q", to.Scheme)}
	case to.Hostname() != from.Hostname() && isPrivate(to.Hostname()):
		return &targetError{fmt.Errorf("the registry redirects to the private address %q", to.Hostname())}
	default:
		return nil
	}
}

// A targetError is that of an address where nothing is sent to.
type targetError struct{ error }

func isPrivate(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified())
}
