package remote

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// maxForm bounds how much of a request's form is searched. A token request is
// far smaller.
const maxForm = 64 << 10

// repeatsSecret reports whether text, which a server sent, holds a credential:
// one that is configured for the registry of ref, or one that req was sent
// with. If the configured ones cannot be read, it is taken to.
func (c *Client) repeatsSecret(text string, ref name.Reference, req *http.Request) bool {
	configured, err := c.secrets(ref)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(append(configured, sent(req)...), func(secret string) bool {
		return secret != "" && (strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret)))
	})
}

// Credentials returns what is known to log in to the registry of ref with. The
// zero value is nothing.
func (c *Client) Credentials(ref name.Reference) (authn.AuthConfig, error) {
	auth, err := c.keychain.Resolve(ref.Context())
	if err != nil {
		return authn.AuthConfig{}, err
	}
	a, err := auth.Authorization()
	if err != nil {
		return authn.AuthConfig{}, &keychainError{fmt.Errorf("reading the credentials for registry %q: %w", ref.Context().RegistryStr(), err)}
	}
	return *a, nil
}

func (c *Client) secrets(ref name.Reference) ([]string, error) {
	a, err := c.Credentials(ref)
	if err != nil {
		return nil, err
	}
	packed := base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + a.Password))
	return []string{a.Password, a.IdentityToken, a.RegistryToken, packed, a.Auth, unpack(a.Auth)}, nil
}

// sent returns the credentials in req: of its Authorization header, and of the
// form that asks for a token.
func sent(req *http.Request) []string {
	if req == nil {
		return nil
	}
	_, header, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	all := []string{header, unpack(header)}
	if req.GetBody == nil || req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
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
