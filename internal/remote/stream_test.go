package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// blobsOf logs in to the repository gold/image of the registry at host.
func blobsOf(t *testing.T, host string) (*remote.Client, *remote.Repository, name.Repository) {
	t.Helper()
	repo := e2e.Must(name.NewRepository(host + "/gold/image"))(t)
	c := fast(remote.Options{})
	return c, e2e.Must(c.Repository(t.Context(), repo))(t), repo
}

func descOf(t *testing.T, content []byte) v1.Descriptor {
	t.Helper()
	h, size, err := v1.SHA256(bytes.NewReader(content))
	e2e.NoError(t, err)
	return v1.Descriptor{Digest: h, Size: size}
}

// steps returns a handler that passes consecutive requests for a blob to the handlers in
// all, and repeats the last one. It appends the Range header of each request to asked.
func steps(asked *[]string, all ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		step := all[min(len(*asked), len(all)-1)]
		*asked = append(*asked, r.Header.Get("Range"))
		step(w, r)
	}
}

// first returns a handler that sends n bytes of blob from the requested offset. Then it
// breaks the connection if breaks is true, and otherwise ends the response.
func first(n int, breaks bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var from int
		if k, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); k == 1 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(blob)-1, len(blob)))
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(blob[from : from+n])
		_ = http.NewResponseController(w).Flush()
		if breaks {
			panic(http.ErrAbortHandler)
		}
	}
}

func TestStream(t *testing.T) {
	whole := http.HandlerFunc(serveBlob)
	noParts := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(blob) }
	cases := map[string]struct {
		reason string
		serve  []http.HandlerFunc
		from   int64
		asked  []string
		err    string
	}{
		"Whole":   {reason: "a blob is read from its start", serve: []http.HandlerFunc{whole}, asked: []string{""}},
		"From":    {reason: "a blob is read from an offset", serve: []http.HandlerFunc{whole}, from: 10, asked: []string{"bytes=10-999"}},
		"End":     {reason: "an offset at the end needs no request", serve: []http.HandlerFunc{whole}, from: 1000},
		"Broken":  {reason: "a broken connection is resumed", serve: []http.HandlerFunc{first(300, true), first(300, true), whole}, asked: []string{"", "bytes=300-999", "bytes=600-999"}},
		"Short":   {reason: "a truncated response is resumed", serve: []http.HandlerFunc{first(300, false), whole}, asked: []string{"", "bytes=300-999"}},
		"NoParts": {reason: "a registry without ranges sends the whole blob", serve: []http.HandlerFunc{first(300, true), noParts}, asked: []string{"", "bytes=300-999"}},
		"Busy":    {reason: "a request to an overloaded registry is retried", serve: []http.HandlerFunc{first(300, true), remotetest.Status(503), whole}, asked: []string{"", "bytes=300-999", "bytes=300-999"}},
		"Spent":   {reason: "tries with little progress are limited", serve: []http.HandlerFunc{first(10, true)}, asked: []string{"", "bytes=10-999", "bytes=20-999"}, err: "closed the connection early"},
		"Down":    {reason: "tries with an overloaded registry are limited", serve: []http.HandlerFunc{first(300, true), remotetest.Status(503)}, asked: []string{"", "bytes=300-999", "bytes=300-999"}, err: "answered 503"},
		"Gone":    {reason: "a missing blob is requested once", serve: []http.HandlerFunc{first(300, true), remotetest.Status(404)}, asked: []string{"", "bytes=300-999"}, err: "lacks a blob"},
		"TooLong": {reason: "a blob that is too long is an error", serve: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(append(bytes.Clone(blob), 'x')) }}, asked: []string{""}, err: "longer than the 1000 bytes"},
		"BadParts": {reason: "a wrong range is an error", serve: []http.HandlerFunc{first(300, true), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-999/1000")
			w.WriteHeader(http.StatusPartialContent)
		}}, asked: []string{"", "bytes=300-999"}, err: "the wrong part"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			var asked []string
			c, b, repo := blobsOf(t, remotetest.Serve(t, steps(&asked, tc.serve...)))
			rc := b.Stream(t.Context(), descOf(t, blob), tc.from)
			got, err := io.ReadAll(rc)
			e2e.NoError(t, rc.Close())
			checkError(t, tc.reason, c.Explain(repo.Tag("v1"), err), tc.err, "")
			if err == nil && !bytes.Equal(got, blob[tc.from:]) {
				t.Errorf("%s: got %d bytes", tc.reason, len(got))
			}
			e2e.Equal(t, tc.reason+": ranges", tc.asked, asked)
		})
	}
}

func TestStreamCancelled(t *testing.T) {
	_, b, _ := blobsOf(t, remotetest.Serve(t, http.HandlerFunc(serveBlob)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rc := b.Stream(ctx, descOf(t, blob), 0)
	e2e.ErrorIs(t, "reading with a canceled context is an error", e2e.Err(io.ReadAll(rc)), context.Canceled)
}

func TestManifest(t *testing.T) {
	raw := []byte(`{"schemaVersion":2}`)
	digest := descOf(t, raw).Digest
	other := "sha256:" + strings.Repeat("0", 64)
	sum512 := "sha512:" + strings.Repeat("0", 128)
	say := func(body []byte, header string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				return
			}
			w.Header().Set("Content-Type", "application/x-any; charset=utf-8")
			if header != "" {
				w.Header().Set("Docker-Content-Digest", header)
			}
			_, _ = w.Write(body)
		}
	}
	cases := map[string]struct {
		reason, at string
		serve      http.HandlerFunc
		err        string
	}{
		"Tag":        {"a tag has the digest that the registry returns", "v1", say(raw, digest.String()), ""},
		"NoHeader":   {"a tag without a digest header is accepted", "v1", say(raw, ""), ""},
		"Digest":     {"a manifest matches its digest", digest.String(), say(raw, ""), ""},
		"Other":      {"a manifest with another digest is an error", other, say(raw, other), "other content than its digest says"},
		"OtherSum":   {"a SHA-512 digest is verified", sum512, say(raw, ""), "other content than its digest says: its SHA-512 sum is"},
		"HeaderLies": {"a tag's manifest must match the digest header", "v1", say(raw, other), "other content than its digest says"},
		"Large":      {"a manifest is limited to 4 MiB", "v1", say(make([]byte, 4<<20+1), ""), "more than 4 MiB"},
		"FlipsOnce":  {"a manifest with another digest is requested again", digest.String(), flaky(1, say([]byte(`{"schemaVersion":3}`), ""), say(raw, "")), ""},
		"CutsOnce":   {"a manifest that is cut off is requested again", digest.String(), flaky(1, cutShort(raw), say(raw, "")), ""},
		"CutsAlways": {"the number of tries is limited", digest.String(), flaky(99, cutShort(raw), say(raw, "")), "closed the connection early"},
		"Missing":    {"a missing manifest is an error", "v1", flaky(99, remotetest.Status(404), say(raw, "")), "has no"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			c, b, repo := blobsOf(t, remotetest.Serve(t, tc.serve))
			got, err := b.Manifest(t.Context(), tc.at)
			checkError(t, tc.reason, c.Explain(repo.Tag("v1"), err), tc.err, "")
			e2e.Equal(t, tc.reason+": NotFound", title == "Missing", remote.NotFound(err))
			if err == nil && (got.Digest != digest || !bytes.Equal(got.Raw, raw) || got.MediaType != "application/x-any") {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

// flaky returns a handler that passes the first n requests to fault and later
// ones to then. It does not count requests of the login.
func flaky(n int, fault, then http.HandlerFunc) http.HandlerFunc {
	return remotetest.Faults(then, n, " /v2/.", fault).ServeHTTP
}

func cutShort(raw []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
		_, _ = w.Write(raw[:len(raw)/2])
		panic(http.ErrAbortHandler)
	}
}
