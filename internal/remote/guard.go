package remote

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
)

// guarded refuses requests to addresses to which a registry must not redirect, and
// credentials for another server. It remembers the credentials that it sends. It sees every
// request, including those of go-containerregistry's login, which adds the credentials
// above it.
type guarded struct {
	inner http.RoundTripper
	sent  *secrets
	// plain means that all registries use plain HTTP.
	plain bool
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.plain && isPing(req) {
		// The requests after a successful ping have its scheme.
		plain := req.Clone(req.Context())
		plain.URL.Scheme = "http"
		req = plain
	}
	if err := g.check(req); err != nil {
		return nil, err
	}
	g.sent.add(credentialsIn(req))
	resp, err := g.inner.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK && (isTokenRequest(req) || req.URL.Query().Has("service")) {
		err = withoutRefreshToken(resp)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// isPing recognizes the request by which go-containerregistry determines the scheme of a
// registry (OCI distribution spec, "Determining Support").
func isPing(req *http.Request) bool {
	return req.Method == http.MethodGet && req.URL.Path == "/v2/" && req.Response == nil
}

func (g guarded) check(req *http.Request) error {
	if req.Response != nil { // a redirect
		from := req.Response.Request.URL
		if err := checkTarget(from, req.URL); err != nil {
			return err
		}
		if from.Host != req.URL.Host && isTokenRequest(req) {
			return &targetError{fmt.Errorf("the token server %q redirects to %q, which must not have the credentials", from.Host, req.URL.Host)}
		}
	}
	if req.URL.Scheme == "http" && !g.plain && !isLocal(req.URL.Host) && (req.Header.Get("Authorization") != "" || isTokenRequest(req)) {
		return &targetError{fmt.Errorf("the registry asks to send the credentials to %q in plain HTTP", req.URL.Host)}
	}
	return nil
}

// isTokenRequest recognizes a form with credentials: Docker's "Authenticate with
// the registry using OAuth2".
func isTokenRequest(req *http.Request) bool {
	return req.Header.Get("Content-Type") == "application/x-www-form-urlencoded"
}

// isLocal reports whether a host may use plain HTTP without PlainHTTP.
func isLocal(host string) bool {
	r, err := name.NewRegistry(host)
	return err == nil && r.Scheme() == "http"
}

// checkRedirects limits the number of redirects.
func checkRedirects(_ *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return &targetError{errors.New("the registry redirects without end")}
	}
	return nil
}

// checkTarget returns an error if a registry must not redirect from one address to
// another: from HTTPS to HTTP, or to a literal private address of another host. Any host
// name is allowed: it gets no credentials, and its content is verified by digest.
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

// A targetError is the error of a request that must not be sent to its address.
type targetError struct{ error }

func isPrivate(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified())
}
