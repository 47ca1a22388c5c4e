package remote_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// An otherHost is a server to which a registry redirects. It records all
// requests that it receives.
type otherHost struct {
	mu     sync.Mutex
	heard  strings.Builder
	asked  int
	answer http.Handler
}

func (s *otherHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked++
	fmt.Fprintf(&s.heard, "%s %s\n%v\n%s\n", r.Method, r.URL, r.Header, body)
	s.mu.Unlock()
	if s.answer != nil {
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s.answer.ServeHTTP(w, r)
	}
}

// serve starts the server and returns localhost:PORT. It does not return the IP
// address, because clients refuse redirects to private addresses.
func (s *otherHost) serve(t *testing.T, serve func(testing.TB, http.Handler) string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(serve(t, s))
	e2e.NoError(t, err)
	return "localhost:" + port
}

// logins has one credential of each kind: a password, an identity token and a
// registry token.
var logins = map[string]authn.AuthConfig{
	"password": {Username: user, Password: password},
	"identity": {IdentityToken: password},
	"token":    {RegistryToken: password},
}

func checkHeard(t *testing.T, s *otherHost) {
	t.Helper()
	for _, secret := range []string{password, "Z29sZDpzM2NyZXQ", "opensesame", "Cookie", "Authorization"} {
		if strings.Contains(s.heard.String(), secret) {
			t.Errorf("the other host received %q:\n%s", secret, s.heard.String())
		}
	}
}

// guardedRegistry returns a registry that requires a login with the given
// challenge, Basic or Bearer. It passes authenticated requests to next.
func guardedRegistry(challenge, realm string, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session="+password)
		switch {
		case r.URL.Path == "/token":
			_, _ = io.WriteString(w, `{"token":"opensesame"}`)
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`%s realm=%q,service="x"`, challenge, strings.ReplaceAll(realm, "{host}", r.Host)))
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v2/":
		default:
			next.ServeHTTP(w, r)
		}
	}
}

// After a redirect, requests to the other host contain no credentials.
func TestRedirectsCarryNoCredentials(t *testing.T) {
	get := func(t *testing.T, c *remote.Client, repo name.Repository) error {
		return get(t.Context(), c, repo.Tag("v1"))
	}
	read := func(t *testing.T, c *remote.Client, repo name.Repository) error {
		b, err := c.Repository(t.Context(), repo)
		if err != nil {
			return err
		}
		blob := v1.Descriptor{Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}, Size: 1}
		_, err = io.ReadAll(b.Stream(t.Context(), blob, 0))
		return err
	}
	write := func(t *testing.T, c *remote.Client, repo name.Repository) error {
		_, err := uploadTo(t.Context(), c, repo, blobOf(t, tiny))
		return err
	}
	cases := map[string]struct {
		reason string
		do     func(*testing.T, *remote.Client, name.Repository) error
		status int
	}{
		"Manifest": {"a manifest on another host is fetched", get, http.StatusTemporaryRedirect},
		"Blob":     {"a blob on another host is fetched", read, http.StatusFound},
		"Location": {"an upload may continue on another host", write, http.StatusAccepted},
		"Upload":   {"an upload may start on another host", write, http.StatusTemporaryRedirect},
	}
	for name, tc := range cases {
		for kind, login := range logins {
			for _, challenge := range []string{"Basic", "Bearer"} {
				t.Run(name+"/"+challenge+"/"+kind, func(t *testing.T) {
					other := &otherHost{answer: remotetest.Embedded(t)}
					address := other.serve(t, remotetest.Serve)
					host := remotetest.Serve(t, guardedRegistry(challenge, "http://{host}/token", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.Method == http.MethodHead {
							w.WriteHeader(http.StatusNotFound)
							return
						}
						w.Header().Set("Location", "http://"+address+r.URL.Path)
						w.WriteHeader(tc.status)
					})))
					c := fast(remote.Options{Keychain: keys{authn.FromConfig(login)}})
					// The error is ignored: the other host may not have the content.
					_ = tc.do(t, c, repository(t, host, "gold/image"))
					if other.asked == 0 && (challenge == "Bearer" || kind != "identity") {
						t.Errorf("%s: the other host received no request", tc.reason)
					}
					checkHeard(t, other)
				})
			}
		}
	}
}

// A token server receives the credentials even if it is on another host. A host
// to which the token server redirects does not receive them. A token server on
// another machine must use HTTPS.
func TestTokenServers(t *testing.T) {
	redirect := func(to string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
	}
	for kind, login := range logins {
		if kind == "token" {
			continue // A registry token is sent to the registry without a token server.
		}
		login := remote.Options{Keychain: keys{authn.FromConfig(login)}}
		pull := func(t *testing.T, o remote.Options, host string) error {
			c := fast(o)
			ref := repository(t, host, "gold/image").Tag("v1")
			err := get(t.Context(), c, ref)
			return c.Explain(ref, err)
		}
		t.Run("Redirect/"+kind, func(t *testing.T) {
			other := &otherHost{}
			server := &otherHost{answer: redirect("http://" + other.serve(t, remotetest.Serve) + "/token")}
			host := remotetest.Serve(t, guardedRegistry("Bearer", "http://"+server.serve(t, remotetest.Serve)+"/token", http.NotFoundHandler()))
			if err := pull(t, login, host); err == nil || server.asked == 0 {
				t.Errorf("got %v after %d requests", err, server.asked)
			}
			checkHeard(t, other)
		})
		t.Run("Downgrade/"+kind, func(t *testing.T) {
			other := &otherHost{}
			host := remotetest.ServeTLS(t, guardedRegistry("Bearer", "http://"+other.serve(t, remotetest.Serve)+"/token", http.NotFoundHandler()))
			o := login
			o.InsecureSkipTLSVerify = true
			checkError(t, "an HTTPS registry with an HTTP token server is an error", pull(t, o, host), "https", "")
			e2e.Equal(t, "the token server gets no requests", 0, other.asked)
		})
		t.Run("Plain/"+kind, func(t *testing.T) {
			host := remotetest.Serve(t, guardedRegistry("Bearer", "http://auth.example.org/token", http.NotFoundHandler()))
			checkError(t, "an HTTP token server on another machine is an error", pull(t, login, host), `asks to send the credentials to "auth.example.org" in plain HTTP`, "")
		})
	}
}

// A redirect from HTTPS to plain HTTP is refused.
func TestNoDowngrade(t *testing.T) {
	other := &otherHost{}
	address := other.serve(t, remotetest.Serve)
	host := remotetest.ServeTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			http.Redirect(w, r, "http://"+address+r.URL.Path, http.StatusFound)
		}
	}))
	c := fast(remote.Options{InsecureSkipTLSVerify: true})
	ref := repository(t, host, "gold/image").Tag("v1")
	err := get(t.Context(), c, ref)
	checkError(t, "a redirect from HTTPS to plain HTTP is an error", c.Explain(ref, err), `the registry redirects from https to "http"`, "")
	e2e.Equal(t, "the other host gets no requests", 0, other.asked)
}

// A redirect to a URL that is not of HTTP is refused at the first try.
func TestRedirectToScheme(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"file:///etc/passwd", "unix:/run/docker.sock", "ftp://example.org/a"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v2/" {
					asked.Add(1)
					w.Header().Set("Location", to)
					w.WriteHeader(http.StatusTemporaryRedirect)
				}
			}))
			c, ref := fast(remote.Options{}), repository(t, host, "gold/image").Tag("v1")
			scheme, _, _ := strings.Cut(to, ":")
			checkError(t, "a redirect to another scheme is an error", c.Explain(ref, get(t.Context(), c, ref)), fmt.Sprintf("the registry redirects to a URL of scheme %q", scheme), "")
			e2e.Equal(t, "the request is sent once", int64(1), asked.Load())
		})
	}
}

// With Options.PlainHTTP the client starts no TLS handshake, and a server that
// requires TLS is an error with a hint.
func TestPlainHTTP(t *testing.T) {
	plain := remote.Options{PlainHTTP: true}
	server := httptest.NewUnstartedServer(remotetest.Handler())
	counted := &hellos{Listener: server.Listener}
	server.Listener = counted
	server.Start()
	defer server.Close()
	host := server.Listener.Addr().String()
	if _, err := push(t, fast(plain), host); err != nil || counted.tls != 0 {
		t.Errorf("got %v after %d TLS handshakes", err, counted.tls)
	}
	if _, err := push(t, fast(remote.Options{}), host); err != nil || counted.tls == 0 {
		t.Errorf("without the option, got %v after %d TLS handshakes", err, counted.tls)
	}
	_, err := push(t, fast(plain), remotetest.ServeTLS(t, remotetest.Handler()))
	checkError(t, "a server with TLS is an error", err, `" requires HTTPS, but the request used plain HTTP`, "leave out {plain-http}")
}

// A certificate that is not trusted stays so: the server gets one request by HTTPS and one by HTTP,
// which it cannot read.
func TestCertificateIsNotRetried(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	l := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	var accepted atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			_ = tls.Server(c, server.TLS).HandshakeContext(t.Context())
			_ = c.Close()
		}
	}()
	_, err := push(t, fast(remote.Options{}), l.Addr().String())
	checkError(t, "a certificate by an unknown authority is an error", err, "cannot be trusted", "{ca-file}")
	if got := accepted.Load(); got > 2 {
		t.Errorf("got %d connections, want at most 2", got)
	}
}

// hellos counts connections that begin with TLS.
type hellos struct {
	net.Listener
	mu  sync.Mutex
	tls int
}

func (h *hellos) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	return &hello{Conn: c, of: h}, err
}

type hello struct {
	net.Conn
	of   *hellos
	seen bool
}

func (h *hello) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	const handshake = 22 // content type of a TLS record (RFC 8446, "Record Layer")
	if n > 0 && !h.seen && p[0] == handshake {
		h.of.mu.Lock()
		h.of.tls++
		h.of.mu.Unlock()
	}
	h.seen = h.seen || n > 0
	return n, err
}
