package remote_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// answers are HTTP responses of a hostile registry. The registry replaces {header} with the
// Authorization header that it received, and {password} with the user's password.
var answers = map[string]string{
	"Body":         "HTTP/1.1 400 Bad Request\r\nContent-Length: 1000\r\n\r\n{\"errors\":[{\"code\":\"DENIED\",\"message\":\"{header}\"}]}",
	"Code":         "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n{\"errors\":[{\"code\":\"{password}\"}]}",
	"Detail":       "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n{\"errors\":[{\"code\":\"DENIED\",\"detail\":\"{password}\"}]}",
	"Text":         "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n{header} is wrong",
	"Reason":       "HTTP/1.1 500 {header}\r\nConnection: close\r\n\r\n",
	"Protocol":     "{header}\r\n\r\n",
	"Status":       "HTTP/1.1 {password}\r\n\r\n",
	"Header":       "HTTP/1.1 200 OK\r\n{header}\r\n\r\n",
	"Length":       "HTTP/1.1 200 OK\r\nContent-Length: {password}\r\n\r\n",
	"Encoding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: {password}\r\n\r\n",
	"Scheme":       "HTTP/1.1 307 Temporary Redirect\r\nLocation: {password}://localhost/\r\nConnection: close\r\n\r\n",
	"Host":         "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{password}.invalid/\r\nConnection: close\r\n\r\n",
	"Upper":        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://S3CRET.invalid/\r\nConnection: close\r\n\r\n",
	"NoURL":        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://[{password}/%zz\r\nConnection: close\r\n\r\n",
	"UserInfo":     "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{password}:{password}@localhost:1/{password}?{password}\r\nConnection: close\r\n\r\n",
	"Challenge":    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"http://{password}.invalid/{password}\",service=\"{password}\",error_description=\"{header}\"\r\nConnection: close\r\n\r\n",
	"Range":        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {password}\r\nConnection: close\r\n\r\n",
	"MediaType":    "HTTP/1.1 200 OK\r\nContent-Type: {password}\r\nDocker-Content-Digest: {password}\r\nConnection: close\r\n\r\n{password}",
	"RetryAfter":   "HTTP/1.1 429 Too Many Requests\r\nRetry-After: {password}\r\nConnection: close\r\n\r\n{password}",
	"Continuation": "HTTP/1.1 100 {password}\r\nX\r\n\r\n",
}

// hostile returns a registry that requires a login and sends answer to every authenticated
// request. If atToken is true, its token server sends answer, too, instead of a token.
func hostile(challenge, answer string, atToken bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		switch {
		case header == "" && r.URL.Path != "/token":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`%s realm="http://%s/token",service="x"`, challenge, r.Host))
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/token" && !atToken:
			fmt.Fprintf(w, `{"token":%q}`, password)
		default:
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			defer func() { _ = conn.Close() }()
			_, _ = strings.NewReplacer("{header}", header, "{password}", password).WriteString(conn, answer)
		}
	}
}

// If a registry's response repeats the credentials that it received, no error
// and no progress event contains them.
func TestNoCanary(t *testing.T) {
	blob := v1.Descriptor{Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}, Size: 10}
	does := map[string]func(*testing.T, *remote.Client, name.Repository) error{
		"get": func(t *testing.T, c *remote.Client, repo name.Repository) error {
			return get(t.Context(), c, repo.Tag("v1"))
		},
		"head": func(t *testing.T, c *remote.Client, repo name.Repository) error {
			u, err := c.Uploader(t.Context(), repo)
			if err == nil {
				_, err = u.ManifestAt(t.Context(), "v1")
			}
			return err
		},
		"open": func(t *testing.T, c *remote.Client, repo name.Repository) error {
			b, err := c.Repository(t.Context(), repo)
			if err != nil {
				return err
			}
			_, err = b.Stream(t.Context(), blob, 5).Read(make([]byte, 1))
			return err
		},
		"upload": func(t *testing.T, c *remote.Client, repo name.Repository) error {
			_, err := uploadTo(t.Context(), c, repo, blobOf(t, tiny))
			return err
		},
	}
	for kind, answer := range answers {
		for _, challenge := range []string{"Basic", "Bearer", "Token"} {
			for doing, do := range does {
				t.Run(kind+"/"+challenge+"/"+doing, func(t *testing.T) {
					var got recorder
					host := remotetest.Serve(t, hostile(strings.Replace(challenge, "Token", "Bearer", 1), answer, challenge == "Token"))
					login := authn.AuthConfig{Username: user, Password: password}
					c := fast(remote.Options{Keychain: keys{&credentials.Credential{Authenticator: authn.FromConfig(login), Source: "a file"}}, Progress: got.record})
					repo := repository(t, host, "gold/image")
					if err := c.Explain(repo.Tag("v1"), do(t, c, repo)); err != nil {
						got.lines = append(got.lines, err.Error(), string(hint.Of(err)))
					}
					all := strings.ToLower(strings.Join(got.lines, "\n"))
					if len(all) == 0 || strings.Contains(all, password) || strings.Contains(all, "z29sz") {
						t.Errorf("a credential is shown, or nothing:\n%s", all)
					}
				})
			}
		}
	}
}

// recorder records progress events.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (s *recorder) record(e progress.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, e.Text)
}

// A pause of seconds is reported with the error before it.
func TestPausesAreReported(t *testing.T) {
	host := remotetest.Serve(t, remotetest.Faults(remotetest.Handler(), 1, "^POST ", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	var got recorder
	c := remote.New(remote.Options{Progress: got.record, Sleep: func(context.Context, time.Duration) error { return nil }})
	e2e.Must(push(t, c, host))(t)
	want := fmt.Sprintf("registry %q answered 503 Service Unavailable; trying again in 7s (2 of 3)", host)
	if !slices.Contains(got.lines, want) {
		t.Errorf("got %q, want %q", got.lines, want)
	}
}

// The source of credentials is reported once for each registry.
func TestSourcesAreReported(t *testing.T) {
	one := remotetest.Serve(t, remotetest.Handler())
	two := remotetest.Serve(t, remotetest.BasicAuth(remotetest.Handler(), user, password))
	o := configured(t, auths(two, auth{"username": user, "password": password}))
	var got recorder
	o.Progress = got.record
	c := fast(o)
	for _, host := range []string{one, two, one, two} {
		e2e.Must(push(t, c, host))(t)
	}
	e2e.Equal(t, "the source of credentials is reported once for each registry", []string{one + ": no credentials", two + ": credentials of ~/config.json"}, got.lines)
}
