package remote

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const (
	// maxForm limits how much of a request's form is searched. A token request is
	// far smaller.
	maxForm = 64 << 10
	// maxSecrets is the number of credentials that are remembered, the latest ones.
	maxSecrets = 256
)

// secrets are the credentials that were sent, which a server may repeat.
type secrets struct {
	mu    sync.Mutex
	known []string
}

// in reports whether a text contains one of them, in upper or lower case, or escaped as
// in a URL.
func (s *secrets) in(text string) bool {
	text = strings.ToLower(text)
	holds := func(secret string) bool { return strings.Contains(text, strings.ToLower(secret)) }
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.known, func(secret string) bool {
		return holds(secret) || holds(url.QueryEscape(secret)) || holds(url.PathEscape(secret))
	})
}

func (s *secrets) add(all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range all {
		if secret != "" && !slices.Contains(s.known, secret) {
			s.known = append(s.known, secret)
		}
	}
	s.known = s.known[max(0, len(s.known)-maxSecrets):]
}

// noted remembers the credentials that go through it.
type noted struct {
	inner http.RoundTripper
	sent  *secrets
}

// RoundTrip implements http.RoundTripper.
func (n noted) RoundTrip(req *http.Request) (*http.Response, error) {
	n.sent.add(credentialsIn(req))
	return n.inner.RoundTrip(req)
}

// credentialsIn returns the credentials in req: of its Authorization header, and
// of the form that asks for a token.
func credentialsIn(req *http.Request) []string {
	_, header, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	all := []string{header, unpack(header)}
	if req.GetBody == nil || !isTokenRequest(req) {
		return all
	}
	body, err := req.GetBody()
	if err != nil {
		return all
	}
	defer func() { _ = body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(body, maxForm))
	form, _ := url.ParseQuery(string(text))
	return slices.Concat(all, form["refresh_token"], form["password"])
}

// unpack returns the password of a Basic authorization, base64 of
// "USER:PASSWORD", or "".
func unpack(basic string) string {
	decoded, _ := base64.StdEncoding.DecodeString(basic)
	_, password, _ := strings.Cut(string(decoded), ":")
	return password
}
