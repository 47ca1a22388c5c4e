package remotetest_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// outcome is a testing.TB that records how the test ended.
type outcome struct {
	testing.TB
	end string
}

func (o *outcome) Helper() {}

func (o *outcome) Skipf(string, ...any) { o.stop("skip") }

func (o *outcome) Fatal(...any) { o.stop("fail") }

func (o *outcome) Fatalf(string, ...any) { o.stop("fail") }

func (o *outcome) stop(end string) {
	o.end = end
	runtime.Goexit()
}

func TestRequired(t *testing.T) {
	cases := map[string]struct{ reason, program, require, want string }{
		"Absent":        {"a test is skipped if its service is missing", "", "", "skip"},
		"OtherRequired": {"a test is skipped if XFN_REQUIRE contains only another service", "", "docker,python", "skip"},
		"Required":      {"a missing service in XFN_REQUIRE fails the test", "", "docker,registry", "fail"},
		"NoProgram":     {"a configured program must exist", "none/docker-registry", "", "fail"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", "")
			t.Setenv("XFN_TEST_DOCKER_REGISTRY", tc.program)
			t.Setenv("XFN_REQUIRE", tc.require)
			o := &outcome{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				o.end = remotetest.Registry(o)
			}()
			e2e.Receive(t, done)
			e2e.Equal(t, tc.reason, tc.want, o.end)
		})
	}
}

// The registry that Distribution.Start starts has the properties that the
// fields of the Distribution configure.
func TestDistribution(t *testing.T) {
	cert := remotetest.NewCertificate(t)
	pem := []byte(e2e.ReadFile(t, cert.CA))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	cases := map[string]struct {
		reason         string
		distribution   remotetest.Distribution
		scheme, method string
		login          bool
		want           int
	}{
		"Plain":    {"no credentials are required", remotetest.Distribution{}, "http", http.MethodPost, false, http.StatusAccepted},
		"Nobody":   {"a request without credentials is refused", remotetest.Distribution{User: "gold", Password: "s3cret"}, "http", http.MethodPost, false, http.StatusUnauthorized},
		"User":     {"a request with credentials is accepted", remotetest.Distribution{User: "gold", Password: "s3cret"}, "http", http.MethodPost, true, http.StatusAccepted},
		"TLS":      {"TLS is verified by the CA of the certificate", remotetest.Distribution{Certificate: cert}, "https", http.MethodPost, false, http.StatusAccepted},
		"ReadOnly": {"a read-only registry refuses writes", remotetest.Distribution{ReadOnly: true}, "http", http.MethodPost, false, http.StatusMethodNotAllowed},
		"Deletes":  {"a missing manifest cannot be deleted", remotetest.Distribution{Deletes: true}, "http", http.MethodDelete, false, http.StatusNotFound},
		"Keeps":    {"deletion is disabled by default", remotetest.Distribution{}, "http", http.MethodDelete, false, http.StatusMethodNotAllowed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := "/v2/a/blobs/uploads/"
			if tc.method == http.MethodDelete {
				path = "/v2/a/manifests/sha256:" + strings.Repeat("0", 64)
			}
			req := e2e.Must(http.NewRequestWithContext(t.Context(), tc.method, tc.scheme+"://"+tc.distribution.Start(t)+path, nil))(t)
			if tc.login {
				req.SetBasicAuth("gold", "s3cret")
			}
			client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
			defer client.CloseIdleConnections()
			resp := e2e.Must(client.Do(req))(t)
			_ = resp.Body.Close()
			e2e.Equal(t, tc.reason, tc.want, resp.StatusCode)
		})
	}
}
