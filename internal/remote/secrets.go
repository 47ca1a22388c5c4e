package remote

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const (
	// maxToken limits how much is read of a request for a token, and of its response,
	// as in go-containerregistry.
	maxToken = 64 << 10
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

// credentialsIn returns the credentials in req: of its Authorization header, and
// of the form that requests a token.
func credentialsIn(req *http.Request) []string {
	_, header, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	decoded, _ := base64.StdEncoding.DecodeString(header)
	_, password, _ := strings.Cut(string(decoded), ":") // of "Basic base64(USER:PASSWORD)"
	all := []string{header, password}
	if req.GetBody == nil || !isTokenRequest(req) {
		return all
	}
	body, err := req.GetBody()
	if err != nil {
		return all
	}
	defer func() { _ = body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(body, maxToken))
	form, _ := url.ParseQuery(string(text))
	return slices.Concat(all, form["refresh_token"], form["password"])
}

// withoutRefreshToken removes the next identity token from a response of a token server.
// The user's token stays valid (Docker's "Authenticate with the registry using OAuth2"),
// and go-containerregistry v0.22.1 replaces it without a lock, while other requests read it.
func withoutRefreshToken(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxToken+1))
	if err != nil {
		return errors.Join(err, resp.Body.Close())
	}
	var answer map[string]json.RawMessage
	_ = json.Unmarshal(text, &answer) // A response that is not JSON has no token.
	if _, ok := answer["refresh_token"]; ok {
		delete(answer, "refresh_token")
		if text, err = json.Marshal(answer); err != nil {
			return errors.Join(err, resp.Body.Close())
		}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
	return nil
}
