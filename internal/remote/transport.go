package remote

import (
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
)

// From returns the Client that sends requests by rt: rt itself if it is a Client,
// which keeps its keychain, or else a new one. rt and keychain may be nil.
func From(rt http.RoundTripper, keychain authn.Keychain) *Client {
	if c, ok := rt.(*Client); ok {
		return c
	}
	return New(Options{Keychain: keychain, Transport: rt})
}

// RoundTrip implements http.RoundTripper. It sends a request with the timeouts and
// retries of c, and without credentials. Packages whose options are a transport
// and a keychain get a Client as the transport.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.transport.RoundTrip(req)
}
