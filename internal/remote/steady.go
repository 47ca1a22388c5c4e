package remote

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// maxToken limits how much of a token server's response is read. go-containerregistry has
// the same limit.
const maxToken = 64 << 10

// steady removes the next identity token from the responses of token servers. The user's
// token stays valid (Docker's "Authenticate with the registry using OAuth2"), and
// go-containerregistry v0.22.1 replaces it without a lock, while other requests read it.
type steady struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s steady) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.inner.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK || !isTokenRequest(req) && !req.URL.Query().Has("service") {
		return resp, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxToken+1))
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	var answer map[string]json.RawMessage
	_ = json.Unmarshal(text, &answer) // A response that is not JSON has no token.
	if _, ok := answer["refresh_token"]; ok {
		delete(answer, "refresh_token")
		if text, err = json.Marshal(answer); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
	return resp, nil
}
