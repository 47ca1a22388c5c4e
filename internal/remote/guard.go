package remote

import (
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
)

// guarded sends nothing to where a registry must not point to, and credentials
// to nobody but who they are for. It sees every request, those of
// go-containerregistry's own login too, which adds the credentials above it.
type guarded struct {
	inner http.RoundTripper
	// plain says that registries are spoken to in plain HTTP, whoever listens.
	plain bool
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.plain && isPing(req) {
		// The scheme of the ping that is answered is that of all that follows.
		plain := req.Clone(req.Context())
		plain.URL.Scheme = "http"
		req = plain
	}
	if err := g.check(req); err != nil {
		return nil, err
	}
	return g.inner.RoundTrip(req)
}

// isPing recognises the request by which go-containerregistry finds out how a
// registry is spoken to (OCI distribution spec, "Determining Support").
func isPing(req *http.Request) bool {
	return req.Method == http.MethodGet && req.URL.Path == "/v2/" && req.Response == nil
}

func (g guarded) check(req *http.Request) error {
	if req.Response != nil { // It follows a redirect.
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

// isTokenRequest recognises a form with credentials: Docker's "Authenticate with
// the registry using OAuth2".
func isTokenRequest(req *http.Request) bool {
	return req.Header.Get("Content-Type") == "application/x-www-form-urlencoded"
}

// isLocal says whether plain HTTP is used with a host in any case.
func isLocal(host string) bool {
	r, err := name.NewRegistry(host)
	return err == nil && r.Scheme() == "http"
}
