package remote_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

var blob = bytes.Repeat([]byte("0123456789"), 100)

// serveBlob sends blob as the content of any path except /v2/. It supports HTTP ranges.
func serveBlob(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v2/" {
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(blob))
}

func openBlob(t *testing.T, o remote.Options, host string, content []byte, from int64) ([]byte, error) {
	t.Helper()
	repo := e2e.Must(name.NewRepository(host + "/gold/image"))(t)
	o.UserAgent = "xfn/v0.1.0"
	c := fast(o)
	b, err := c.Repository(t.Context(), repo)
	if err != nil {
		return nil, c.Explain(repo.Tag("v1"), err)
	}
	h, size, err := v1.SHA256(bytes.NewReader(content))
	e2e.NoError(t, err)
	rc := b.Stream(t.Context(), v1.Descriptor{Digest: h, Size: size}, from)
	defer func() { _ = rc.Close() }()
	data, err := io.ReadAll(rc)
	return data, c.Explain(repo.Tag("v1"), err)
}

func TestBlobs(t *testing.T) {
	answer := func(status int, contentRange, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") == "" {
				serveBlob(w, r)
				return
			}
			if contentRange != "" {
				w.Header().Set("Content-Range", contentRange)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	var tries atomic.Int64
	cases := map[string]struct {
		reason string
		serve  http.HandlerFunc
		from   int64
		err    string
	}{
		"Whole":     {reason: "a blob is read from its start", serve: serveBlob},
		"Part":      {reason: "a blob is read from an offset", serve: serveBlob, from: 300},
		"NoParts":   {reason: "a registry need not support ranges", serve: answer(200, "", string(blob)), from: 300},
		"Refused":   {reason: "a registry that returns 416 gets a request without a range", serve: answer(416, "", ""), from: 300},
		"OtherPart": {reason: "a wrong range is an error", serve: answer(206, "bytes 200-999/1000", "x"), from: 300, err: "the wrong part of a blob"},
		"NoRange":   {reason: "a response 206 without a range is an error", serve: answer(206, "", "x"), from: 300, err: "the wrong part of a blob"},
		"Denied":    {reason: "a missing permission is an error", serve: answer(403, "", ""), from: 300, err: "denied access"},
		"Gone":      {reason: "a missing blob is an error", serve: answer(404, "", ""), from: 300, err: "lacks a blob"},
		"Busy": {reason: "a request to an overloaded registry is retried", from: 300, serve: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v2/" && tries.Add(1) < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			serveBlob(w, r)
		}},
		"Loop": {reason: "the number of redirects is limited", err: "redirects more than 8 times", serve: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				return
			}
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}},
		"Private": {reason: "a redirect to a private address is an error", err: `the private address "169.254.169.254"`, serve: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				return
			}
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := openBlob(t, remote.Options{}, remotetest.Serve(t, tc.serve), blob, tc.from)
			checkError(t, tc.reason, err, tc.err, "")
			if err == nil && !bytes.Equal(got, blob[tc.from:]) {
				t.Errorf("%s: got %d bytes, want those from %d", tc.reason, len(got), tc.from)
			}
		})
	}
}

// A redirect to another host keeps the user agent and removes the credentials.
func TestBlobsRedirected(t *testing.T) {
	var heard atomic.Value
	storage := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard.Store(fmt.Sprintf("%q %q %s", r.Header.Get("Authorization"), r.Header.Get("Range"), strings.Fields(r.UserAgent())[0]))
		serveBlob(w, r)
	}))
	host := remotetest.Serve(t, remotetest.BasicAuth(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			http.Redirect(w, r, "http://"+storage+"/stored?signature=x", http.StatusTemporaryRedirect)
		}
	}), user, password))
	e2e.Equal(t, "a blob after a redirect has the requested bytes", blob[300:], e2e.Must(openBlob(t, configured(t, auths(host, auth{"username": user, "password": password})), host, blob, 300))(t))
	if want := `"" "bytes=300-999" xfn/v0.1.0`; heard.Load() != want {
		t.Errorf("the storage received %v, want %s", heard.Load(), want)
	}
}

// A blob is returned unchanged although its URL has the query parameter
// "service", as the URL of a token server has.
func TestBlobOfService(t *testing.T) {
	const config = `{ "rootfs": {}, "architecture": "amd64" }`
	host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
		case r.URL.Query().Has("service"):
			_, _ = io.WriteString(w, config)
		default:
			http.Redirect(w, r, "/stored?service=storage", http.StatusTemporaryRedirect)
		}
	}))
	e2e.Equal(t, "a blob whose URL has the parameter of token servers is unchanged", config, string(e2e.Must(openBlob(t, remote.Options{}, host, []byte(config), 0))(t)))
}
