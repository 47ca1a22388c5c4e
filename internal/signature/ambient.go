package signature

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// audience is the audience that Fulcio requires of tokens.
const audience = "sigstore"

// Ambient returns a token from the CI system that runs the process, or false if there is
// none. It reads the variable SIGSTORE_ID_TOKEN, which GitLab sets (id_tokens of a job),
// or requests a token from GitHub Actions, where the job needs the permission id-token:
// write. getenv returns the value of an environment variable.
func Ambient(ctx context.Context, getenv func(string) string, transport http.RoundTripper) (string, bool, error) {
	if token := getenv("SIGSTORE_ID_TOKEN"); token != "" {
		return token, true, nil
	}
	from, bearer := getenv("ACTIONS_ID_TOKEN_REQUEST_URL"), getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	if from == "" || bearer == "" {
		return "", false, nil
	}
	token, err := github(ctx, from, bearer, transport)
	if err != nil {
		return "", true, fmt.Errorf("getting an identity token from GitHub Actions: %w", err)
	}
	return token, true, nil
}

func github(ctx context.Context, from, bearer string, transport http.RoundTripper) (string, error) {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return "", errors.New("ACTIONS_ID_TOKEN_REQUEST_URL is not a URL")
	}
	if local := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback(); u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return "", fmt.Errorf("ACTIONS_ID_TOKEN_REQUEST_URL has the scheme %q, expected https, because the request has a secret", u.Scheme)
	}
	query := u.Query()
	query.Set("audience", audience)
	u.RawQuery = query.Encode()
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return "", errors.New("ACTIONS_ID_TOKEN_REQUEST_URL is not a URL")
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := Server{URL: u, Transport: transport}.Do(ctx, req, http.StatusOK)
	if err != nil {
		return "", withoutSecret(err, bearer)
	}
	var got struct{ Value string }
	if err := json.Unmarshal(resp.Body, &got); err != nil || got.Value == "" {
		return "", errors.New("the response has no token")
	}
	return got.Value, nil
}
