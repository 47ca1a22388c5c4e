package remote_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

func TestExplainServers(t *testing.T) {
	cases := map[string]struct {
		reason      string
		host        func(*testing.T) string
		skip, plain bool
		err, hint   string
	}{
		"Unreachable": {
			reason: "the error names the host and the cause",
			host:   func(*testing.T) string { return remotetest.Nobody },
			err:    "cannot be reached", hint: "check the address",
		},
		"SelfSigned": {
			reason: "if HTTPS and HTTP fail, the certificate is the cause",
			host:   func(t *testing.T) string { return remotetest.ServeTLS(t, remotetest.Handler()) },
			err:    "certificate of registry", hint: "{insecure-skip-tls-verify}",
		},
		"SelfSignedSkipped": {
			reason: "certificates are not verified if that is disabled",
			host:   func(t *testing.T) string { return remotetest.ServeTLS(t, remotetest.Handler()) },
			skip:   true,
		},
		"SkipOnHTTP": {reason: "plain HTTP needs no certificate", host: func(t *testing.T) string { return remotetest.Serve(t, remotetest.Handler()) }, skip: true},
		"LocalhostName": {
			reason: "localhost is a loopback address",
			host: func(t *testing.T) string {
				_, port, err := net.SplitHostPort(remotetest.ServeTLS(t, remotetest.Handler()))
				e2e.NoError(t, err)
				return "localhost:" + port
			},
			skip: true,
		},
		"ReadOnly": {
			reason: "the error contains the registry's message",
			host: func(t *testing.T) string {
				return remotetest.Serve(t, remotetest.Faults(remotetest.Handler(), 99, "^POST ",
					func(w http.ResponseWriter, _ *http.Request) {
						w.WriteHeader(http.StatusMethodNotAllowed)
						_, _ = io.WriteString(w, `{"errors":[{"code":"UNSUPPORTED","message":"read only"}]}`)
					}))
			},
			err: `answered 405 Method Not Allowed (UNSUPPORTED: read only)`,
		},
		"NotARegistry": {
			reason: "a web server that is not a registry has no API",
			host:   func(t *testing.T) string { return remotetest.Serve(t, http.NotFoundHandler()) },
			err:    `is not a registry: GET /v2/ returns 404 Not Found`, hint: "check the host and the port",
		},
		"RedirectLoop": {
			reason: "the redirects of the first request are the cause, and not that HTTPS fails, too",
			host: func(t *testing.T) string {
				return remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
				}))
			},
			err: "redirects more than 8 times",
		},
		"PlainHTTP": {
			reason: "a server that closes plain connections may require HTTPS",
			host: func(t *testing.T) string {
				return remotetest.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
			},
			plain: true,
			err:   "closed the connection early", hint: "leave out {plain-http}",
		},
		"AlwaysOK": {
			reason: "a server that returns 200 for an upload is not a registry",
			host: func(t *testing.T) string {
				return remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodHead {
						w.WriteHeader(http.StatusNotFound)
					}
				}))
			},
			err: "answered 200 OK", hint: "is not a registry",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			host := tc.host(t)
			_, err := push(t, fast(remote.Options{InsecureSkipTLSVerify: tc.skip, PlainHTTP: tc.plain}), host)
			checkError(t, tc.reason, err, tc.err, tc.hint)
			if err != nil && !strings.Contains(err.Error(), host) {
				t.Errorf("the error does not name the registry: %v", err)
			}
		})
	}
}

// If a registry, a proxy or a token server repeats a credential that it
// received, the error of Client.Explain does not contain the credential.
func TestExplainEcho(t *testing.T) {
	login := map[string]string{"username": user, "password": password}
	whoever := func(string, *http.Request) bool { return true }
	cases := map[string]struct {
		reason      string
		auth        map[string]string
		challenge   string
		refuse      func(path string, r *http.Request) bool
		says, shown string
	}{
		"Nothing":        {"a message without a secret is in the error", login, "Basic", whoever, "no", " (DENIED: no)"},
		"BasicHeader":    {"the whole header is not repeated", login, "Basic", whoever, "{header}", ""},
		"BasicPassword":  {"the password of the header is not repeated", login, "Basic", whoever, "it is " + password, ""},
		"AtTheLimit":     {"a secret at the limit of the text is not repeated", login, "Basic", whoever, strings.Repeat("x", 487) + password, ""},
		"BearerHeader":   {"a token is not repeated", login, "Bearer", notToken, "{header}", ""},
		"BearerPassword": {"the password of a token is not repeated", login, "Bearer", notToken, "it is " + password, ""},
		"BearerPacked":   {"the encoded password is not repeated", login, "Bearer", notToken, "Z29sZDpzM2NyZXQ=", ""},
		"TokenServer":    {"the password in the response of a token server is not repeated", login, "Bearer", isToken, "it is " + password, ""},
		"IdentityToken":  {"an identity token is not repeated", map[string]string{"identitytoken": "hunter2"}, "Bearer", isToken, "{refresh_token}", ""},
		"Escaped":        {"an escaped identity token is not repeated", map[string]string{"identitytoken": "hunter2+/"}, "Bearer", isToken, "hunter2%2B%2F", ""},
		"RegistryToken":  {"a registry token is not repeated", map[string]string{"registrytoken": "hunter2"}, "Bearer", notToken, "it is hunter2", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			host := remotetest.Serve(t, echo(tc.challenge, tc.refuse, tc.says))
			ref, err := remote.ParseTag(host+"/a:v1", "")
			e2e.NoError(t, err)
			c := fast(configured(t, auths(host, tc.auth)))
			err = get(t.Context(), c, ref)
			err = c.Explain(ref, err)
			e2e.Equal(t, tc.reason, fmt.Sprintf("registry %q answered 400 Bad Request%s", host, tc.shown), fmt.Sprint(err))
			checkNoSecret(t, err)
		})
	}
}

func isToken(path string, _ *http.Request) bool  { return path == "/token" }
func notToken(path string, _ *http.Request) bool { return path != "/token" }

// echo returns a registry that requires credentials with the given challenge. If refuse
// returns true, the registry responds with status 400 and the message says. It replaces
// {header} and {refresh_token} in says with the received values.
func echo(challenge string, refuse func(string, *http.Request) bool, says string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		switch {
		case r.URL.Path != "/v2/" && (r.URL.Path == "/token" || header != "") && refuse(r.URL.Path, r):
			w.WriteHeader(http.StatusBadRequest)
			said := strings.NewReplacer("{header}", header, "{refresh_token}", r.FormValue("refresh_token")).Replace(says)
			_, _ = fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":%q}]}`, said)
		case r.URL.Path == "/token":
			_, _ = io.WriteString(w, `{"token":"opensesame","refresh_token":"hunter2"}`)
		default:
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`%s realm="http://%s/token",service="x"`, challenge, r.Host))
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}

func TestExplain(t *testing.T) {
	ref := name.MustParseReference("r.example/a:v1")
	get := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://r.example/v2/?token=" + password, Err: err}
	}
	cases := map[string]struct {
		reason     string
		err        error
		want, hint string
	}{
		"UnknownHost": {
			"a host that DNS does not have is unknown",
			get(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "r.example", IsNotFound: true}}),
			`registry "r.example" is not known: no such host`, "spelling",
		},
		"DNSFailed": {
			"an error of the resolver does not mean that the host is unknown",
			get(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "r.example"}}),
			`registry "r.example" cannot be reached: lookup r.example: server misbehaving`, "check the address",
		},
		"Handshake": {
			"a certificate by an unknown authority is an error",
			get(&tls.CertificateVerificationError{Err: errors.New("x509: certificate signed by unknown authority")}),
			`the certificate of registry "r.example" cannot be trusted: x509: certificate signed by unknown authority`, "CA",
		},
		"Proxy": {
			"a proxy that refuses connections is not the registry",
			get(&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "p.example", IsNotFound: true}}}),
			`the proxy for registry "r.example" cannot be reached: dial tcp: lookup p.example: no such host`, "HTTPS_PROXY",
		},
		"Busy":        {"an overloaded registry may answer later", &transport.Error{StatusCode: 503}, `registry "r.example" answered 503 Service Unavailable`, "again later"},
		"PlainHTTP":   {"a public registry must support TLS", get(http.ErrSchemeMismatch), `registry "r.example" uses plain HTTP, which is allowed only for loopback and private addresses`, "{plain-http}"},
		"Broken":      {"a broken connection is not an unreachable registry", get(&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}), `the connection to registry "r.example" broke: connection reset by peer`, ""},
		"Half":        {"an invalid response header is a malformed response", get(fmt.Errorf("x: %w", textproto.ProtocolError("malformed MIME header"))), `registry "r.example" sent a malformed response: malformed MIME header`, ""},
		"EOF":         {"a closed connection is an error", get(io.EOF), `registry "r.example" closed the connection early`, ""},
		"Cancelled":   {"a cancellation is returned unchanged", get(context.Canceled), "context canceled", ""},
		"URL":         {"the URL of a token request is not shown", get(errors.New("strange")), `the request to registry "r.example" failed: strange`, ""},
		"Token":       {"the response of a token server is not shown", errors.New("no token in bearer response:\n{\"refresh_token\":\"" + password + "\"}"), "no token in bearer response", ""},
		"Query":       {"queries of URLs are removed", errors.New("HEAD https://cdn.example/b?sig=" + password + ": no size"), "HEAD https://cdn.example/b no size", ""},
		"Local":       {"an error that is not about the registry keeps its text", &fs.PathError{Op: "open", Path: "a.xpkg", Err: fs.ErrNotExist}, "open a.xpkg: file does not exist", ""},
		"Control":     {"an error shows no control characters", errors.New("a\x1b[2Jb"), "a [2Jb", ""},
		"Long":        {"a long error is truncated", errors.New(strings.Repeat("x", 9999)), strings.Repeat("x", 500) + "…", ""},
		"NotFound":    {"a missing tag is an error", &transport.Error{StatusCode: 404}, `registry "r.example" has no "a:v1"`, "the spelling of the repository and the tag"},
		"NoTags":      {"a list of tags is of a repository, not of a tag", &transport.Error{StatusCode: 404, Request: httptest.NewRequest(http.MethodGet, "https://r.example/v2/a/tags/list", nil)}, `registry "r.example" has no repository "a"`, "the spelling of the repository"},
		"Forbidden":   {"a missing permission is an error", &transport.Error{StatusCode: 403, Errors: []transport.Diagnostic{{Code: "DENIED", Message: "no"}}}, `registry "r.example" denied access (DENIED: no)`, "docker login r.example"},
		"OtherStatus": {"error codes of the registry are shown", &transport.Error{StatusCode: 507}, `registry "r.example" answered 507 Insufficient Storage`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := remote.New(remote.Options{})
			got := c.Explain(ref, tc.err)
			e2e.Equal(t, tc.reason, tc.want, fmt.Sprint(got))
			e2e.Has(t, tc.reason, string(hint.Of(got)), tc.hint)
			e2e.Equal(t, tc.reason, tc.hint == "", hint.Of(got) == "")
			e2e.ErrorIs(t, tc.reason+": the cause is not in the chain", got, tc.err)
			e2e.Equal(t, tc.reason+": the explained error changed", tc.want, c.Explain(ref, fmt.Errorf("reading: %w", got)).Error())
			checkNoSecret(t, got)
		})
	}
}

// A manifest above the size limit is an error, because the client reads the
// whole manifest into memory.
func TestManifestSize(t *testing.T) {
	host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/manifests/") {
			_, _ = io.WriteString(w, strings.Repeat(" ", 4<<20+1))
		}
	}))
	ref, err := remote.ParseTag(host+"/a:v1", "")
	e2e.NoError(t, err)
	c := fast(remote.Options{})
	err = get(t.Context(), c, ref)
	checkError(t, "the error contains the limit", c.Explain(ref, err), "sent a manifest or list of more than 4 MiB", "")
}

// Callers advise other images for errors of a registry. They do not help against a full disk.
func TestExplained(t *testing.T) {
	ref := name.MustParseReference("r.example/a:v1")
	full := &fs.PathError{Op: "write", Path: "blob", Err: syscall.ENOSPC}
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Status":  {"the answer of a registry is about the registry", &transport.Error{StatusCode: 404}, true},
		"Refused": {"a refused connection is about the registry", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true},
		"Full":    {"a full disk is not about the registry", full, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := remote.New(remote.Options{}).Explain(ref, tc.err)
			e2e.Equal(t, tc.reason, tc.want, remote.Explained(fmt.Errorf("pulling: %w", err)))
		})
	}
}

func TestExplainNil(t *testing.T) {
	e2e.WantError(t, "nil is not an error", remote.New(remote.Options{}).Explain(name.MustParseReference("r.example/a:v1"), nil), "")
}
