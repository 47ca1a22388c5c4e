package push_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
)

func TestErrors(t *testing.T) {
	wrong := remote.New(remote.Options{Keychain: keychain{"gold", "hunter2"}})
	right := remote.New(remote.Options{Keychain: keychain{"gold", "s3cret"}})
	auth := func(t *testing.T) string {
		return remotetest.Serve(t, remotetest.BasicAuth(remotetest.Handler(), "gold", "s3cret"))
	}
	token := func(t *testing.T) string {
		return remotetest.Serve(t, newTokenServer(remotetest.Handler(), "gold", "s3cret"))
	}
	cert := remotetest.NewCertificate(t)
	signed := func(t *testing.T) string { return cert.Serve(t, remotetest.Handler()) }
	cases := map[string]struct {
		reason    string
		host      func(*testing.T) string
		client    http.RoundTripper
		err, hint string
	}{
		"AuthRight":   {"credentials give access", auth, right, "", ""},
		"AuthWrong":   {"a wrong password is refused", auth, wrong, "refused the credentials", "docker login"},
		"AuthNone":    {"a push without credentials is refused", auth, remote.New(remote.Options{Keychain: authn.NewMultiKeychain()}), "asks for credentials", "docker login"},
		"TokenRight":  {"credentials get a token", token, right, "", ""},
		"TokenWrong":  {"a wrong password gets no token", token, wrong, "refused the credentials", "docker login"},
		"TokenNone":   {"a token requires credentials", token, remote.New(remote.Options{Keychain: authn.NewMultiKeychain()}), "asks for credentials", "docker login"},
		"TLS":         {"a certificate by a known CA is trusted", signed, remote.New(remote.Options{RootCAs: roots(t, cert)}), "", ""},
		"OtherCA":     {"a certificate by an unknown CA is refused", signed, remote.New(remote.Options{RootCAs: roots(t, remotetest.NewCertificate(t))}), "cannot be trusted", "{insecure-skip-tls-verify}"},
		"ReadOnly":    {"a read-only registry refuses a push", func(t *testing.T) string { return remotetest.Distribution{ReadOnly: true}.Start(t) }, nil, "answered 405 Method Not Allowed", ""},
		"Unreachable": {"an error names a registry that cannot be reached", func(*testing.T) string { return remotetest.Nobody }, nil, "cannot be reached", "check the address"},
		"SelfSigned":  {"a self-signed certificate is refused", func(t *testing.T) string { return remotetest.ServeTLS(t, remotetest.Handler()) }, nil, "cannot be trusted", "{insecure-skip-tls-verify}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ref := parse(t, tc.host(t))
			_, err := push.Artifact(t.Context(), ref, multi(t), push.Options{Transport: tc.client})
			if tc.err == "" {
				e2e.WantError(t, tc.reason, err, "")
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), `pushing "`+ref.Name()+`": `) || !strings.Contains(err.Error(), tc.err) || !strings.Contains(string(hint.Of(err)), tc.hint) {
				t.Errorf("%s: got %v (hint: %s)", tc.reason, err, hint.Of(err))
			}
		})
	}
}

// TestFirstPush uses a token server that grants only push access to a
// repository that does not exist yet.
func TestFirstPush(t *testing.T) {
	for reason, refusal := range map[string]http.HandlerFunc{
		"a read token without access":                    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"token":"none"}`) },
		"the token server refuses a read token with 401": remotetest.Status(http.StatusUnauthorized),
		"the token server refuses a read token with 403": remotetest.Status(http.StatusForbidden),
	} {
		ref := parse(t, remotetest.Serve(t, tokens(remotetest.Handler(), refusal)))
		o := push.Options{Transport: remote.New(remote.Options{Keychain: keychain{"gold", "s3cret"}})}
		for _, when := range []string{"first", "second"} {
			e2e.WantError(t, fmt.Sprintf("%s, %s push", reason, when), e2e.Err(push.Artifact(t.Context(), ref, single(t), o)), "")
		}
	}
}

// tokens requires a token with push access and issues one for that scope. It
// responds to requests for other scopes with refusal.
func tokens(inner http.Handler, refusal http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token" && !strings.Contains(r.FormValue("scope"), "push"):
			refusal(w, r)
		case r.URL.Path == "/token":
			_, _ = io.WriteString(w, `{"token":"all"}`)
		case r.Header.Get("Authorization") != "Bearer all":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			inner.ServeHTTP(w, r)
		}
	}
}

type keychain struct{ user, password string }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: k.user, Password: k.password}, nil
}
