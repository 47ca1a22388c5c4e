package signature_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
)

func TestCertify(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(a *remotetest.Authority, token *signature.Token)
		want   string
	}{
		"Issued":  {"an authority issues a certificate for a valid token", func(*remotetest.Authority, *signature.Token) {}, ""},
		"Expired": {"the authority refuses an expired token", func(a *remotetest.Authority, token *signature.Token) { token.Raw = a.Token(subject, -time.Hour) }, `400 Bad Request: "the token is expired"`},
		"Proof":   {"the key must sign the subject of the token", func(_ *remotetest.Authority, token *signature.Token) { token.Subject = "https://example.org" }, `400 Bad Request: "the proof of possession is wrong"`},
		"Other":   {"a certificate for another key is an error", func(a *remotetest.Authority, _ *signature.Token) { a.Other = true }, "the certificate is for another key"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := remotetest.ServeAuthority(t)
			token := e2e.Must(signature.ParseToken(a.Token(subject, time.Hour) + "\n"))(t)
			tc.change(a, &token)
			u := e2e.Must(signature.ParseServerURL(a.URL))(t)
			key, err := signature.Authority{Server: signature.Server{URL: u}}.Certify(t.Context(), token)
			switch {
			case tc.want == "" && (err != nil || !strings.HasPrefix(string(key.Certificate()), "-----BEGIN CERTIFICATE-----\n")):
				t.Errorf("%s: the error is %v", tc.reason, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), token.Raw)):
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestParseToken(t *testing.T) {
	cases := map[string]struct{ reason, token, subject, want string }{
		"Subject":    {"the subject is the identity", "e30.eyJzdWIiOiJ4In0.e30", "x", ""},
		"Email":      {"a verified email address has priority", "e30.eyJzdWIiOiJ4IiwiZW1haWwiOiJtZUBleGFtcGxlLm9yZyIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlfQ.e30", "me@example.org", ""},
		"Unverified": {"an email address that is not verified is an error", "e30.eyJzdWIiOiJ4IiwiZW1haWwiOiJtZUBleGFtcGxlLm9yZyJ9.e30", "", `the email address of the token, "me@example.org", is not verified`},
		"Parts":      {"a token has three parts", "e30.e30", "", "expected a JSON Web Token"},
		"Claims":     {"the claims are JSON", "e30.eA.e30", "", "expected a JSON Web Token with claims in JSON"},
		"Nobody":     {"a token without an identity is an error", "e30.e30.e30", "", "the token has neither a subject nor an email address"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			token, err := signature.ParseToken(tc.token)
			if token.Subject != tc.subject || (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("%s: got %q, error %v", tc.reason, token.Subject, err)
			}
		})
	}
}

// Ambient prefers SIGSTORE_ID_TOKEN, and requests a token in GitHub Actions.
func TestAmbient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.URL.Query().Get("audience") != "sigstore" || r.URL.Query().Get("v") != "1" {
			http.Error(w, "denied", http.StatusForbidden)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"value": "github"})
	}))
	t.Cleanup(server.Close)
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   string
		found  bool
		err    string
	}{
		"None":   {"outside of a CI system there is no token", nil, "", false, ""},
		"GitLab": {"the variable has the token", map[string]string{"SIGSTORE_ID_TOKEN": "gitlab"}, "gitlab", true, ""},
		"GitHub": {"the token is requested for the audience", map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": server.URL + "?v=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "s3cret"}, "github", true, ""},
		"Plain": {
			"the credentials are not sent over plain HTTP",
			map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": "http://ci.invalid/token", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "s3cret"},
			"", true,
			`getting an identity token from GitHub Actions: ACTIONS_ID_TOKEN_REQUEST_URL has the scheme "http", expected https, because the request has a secret`,
		},
		"Denied": {
			"a refused request is an error without the credentials",
			map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": server.URL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "hunter2"},
			"", true,
			`getting an identity token from GitHub Actions: the server responded with 403 Forbidden: "denied"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, found, err := signature.Ambient(t.Context(), func(key string) string { return tc.env[key] }, nil)
			if got != tc.want || found != tc.found || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("%s: got %q, %t, error %v", tc.reason, got, found, err)
			}
		})
	}
}

// The message of a server is cut in an error. An error must not contain the part of a secret
// that is left.
func TestErrorsWithoutSecrets(t *testing.T) {
	secret := strings.Repeat("s3cret.", 50)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "denied: "+strings.Repeat("x", 100)+secret, http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	u := e2e.Must(signature.ParseServerURL(server.URL))(t)
	_, certify := signature.Authority{Server: signature.Server{URL: u}}.Certify(t.Context(), signature.Token{Raw: secret, Subject: "x"})
	env := map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": server.URL, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": secret}
	_, _, ambient := signature.Ambient(t.Context(), func(key string) string { return env[key] }, nil)
	for _, err := range []error{certify, ambient} {
		if err == nil || !strings.Contains(err.Error(), "403 Forbidden: \"denied: x") || strings.Contains(err.Error(), "s3") {
			t.Errorf("the error is %v", err)
		}
	}
}
