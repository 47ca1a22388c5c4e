package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// large is uploaded with a PATCH request. tiny is uploaded in the closing PUT request.
var large, tiny = noise(5 << 20), noise(1000)

func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(data)
	return data
}

func blobOf(t *testing.T, data []byte) remote.Blob {
	t.Helper()
	h, size, err := v1.SHA256(bytes.NewReader(data))
	e2e.NoError(t, err)
	return remote.Blob{
		Descriptor: v1.Descriptor{Digest: h, Size: size},
		Open:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

func repository(t *testing.T, host, path string) name.Repository {
	t.Helper()
	return e2e.Must(name.NewRepository(host + "/" + path))(t)
}

// upload uploads b to the repository gold/image of the registry at host, as a push does.
func upload(t *testing.T, c *remote.Client, host string, b remote.Blob) (remote.Upload, error) {
	t.Helper()
	repo := repository(t, host, "gold/image")
	up, err := uploadTo(t.Context(), c, repo, b)
	return up, c.Explain(repo.Tag("v1"), err)
}

func uploadTo(ctx context.Context, c *remote.Client, repo name.Repository, b remote.Blob, neighbors ...name.Repository) (remote.Upload, error) {
	u, err := c.Uploader(ctx, repo, neighbors...)
	if err != nil {
		return remote.Upload{}, err
	}
	found, err := u.Find(ctx, b.Descriptor)
	if err != nil || found.Exists {
		return remote.Upload{}, err
	}
	return u.Upload(ctx, b, found)
}

// checkStored checks that the registry at host has a blob with the content want.
func checkStored(t *testing.T, host string, want []byte) {
	t.Helper()
	resp := e2e.Must(http.Get("http://" + host + "/v2/gold/image/blobs/" + blobOf(t, want).Digest.String()))(t)
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the registry has %d other bytes (%s, %v)", len(got), resp.Status, err)
	}
}

// cut returns a fault that passes the first n bytes of the request's body to h
// and then breaks the connection.
func cut(h http.Handler, n int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		part := r.Clone(r.Context())
		part.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, n), iotest.ErrReader(io.ErrUnexpectedEOF)))
		h.ServeHTTP(httptest.NewRecorder(), part)
		remotetest.Reset(w, r)
	}
}

func answerRange(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Path)
		w.Header().Set("Range", text)
		w.WriteHeader(http.StatusNoContent)
	}
}

func TestUpload(t *testing.T) {
	const patch, put, post = "^PATCH ", "^PUT .*/blobs/", "^POST "
	const head, get = "^HEAD .*/blobs/", "^GET .*/blobs/"
	type faults = func(s http.Handler) http.Handler
	one := func(n int, match string, fault http.HandlerFunc) faults {
		return func(s http.Handler) http.Handler { return remotetest.Faults(s, n, match, fault) }
	}
	// broken breaks the connection of the first PATCH request after 3 MiB, and
	// passes the first n requests that match to fault.
	broken := func(n int, match string, fault http.HandlerFunc) faults {
		return func(s http.Handler) http.Handler {
			return remotetest.Faults(remotetest.Faults(s, 1, patch, cut(s, 3<<20)), n, match, fault)
		}
	}
	cases := map[string]struct {
		reason string
		data   []byte
		faults faults
		// patches is the expected number of PATCH requests; -1 means any number.
		// posts is the expected number of POST requests.
		patches, posts int
		again          bool
		err            string
	}{
		"Large":        {"a large blob is streamed", large, one(0, patch, nil), 1, 1, false, ""},
		"Tiny":         {"a small blob is sent in one request", tiny, one(0, patch, nil), 0, 1, false, ""},
		"Resumed":      {"an upload resumes after the received bytes", large, func(s http.Handler) http.Handler { return remotetest.Faults(s, 1, patch, cut(s, 3<<20)) }, 2, 1, false, ""},
		"Progress":     {"tries with progress are not counted", large, func(s http.Handler) http.Handler { return remotetest.Faults(s, 4, patch, cut(s, 1<<20)) }, 5, 1, false, ""},
		"NoProgress":   {"tries without progress are counted", large, func(s http.Handler) http.Handler { return remotetest.Faults(s, 4, patch, cut(s, 1)) }, -1, 3, true, "registry"},
		"LiesMore":     {"an offset beyond the end is ignored", large, broken(1, get, answerRange("0-9999999999")), 2, 2, true, ""},
		"LiesNegative": {"a negative offset is ignored", large, broken(1, get, answerRange("0--5")), 2, 2, true, ""},
		"LiesGarbage":  {"an invalid range is ignored", large, broken(1, get, answerRange("all of it")), 2, 2, true, ""},
		"LiesALittle":  {"an offset that the registry refuses restarts the upload", large, broken(1, get, answerRange("0-2000000")), 3, 2, true, ""},
		"LiesAll":      {"a wrong offset at the end restarts the upload", large, broken(1, get, answerRange("0-5242879")), 2, 2, true, ""},
		"StatusBusy":   {"an overloaded registry is asked again for the offset", large, broken(1, get, remotetest.Status(503)), 2, 1, false, ""},
		"StatusAbsent": {"a registry without resumption gets the blob again", large, broken(1, get, remotetest.Status(405)), 2, 2, true, ""},
		"Expired": {"an expired session is replaced", large, func(s http.Handler) http.Handler {
			return remotetest.Faults(s, 1, put, func(w http.ResponseWriter, r *http.Request) {
				expire := httptest.NewRequest(http.MethodDelete, r.URL.Path, nil)
				s.ServeHTTP(httptest.NewRecorder(), expire)
				s.ServeHTTP(w, r)
			})
		}, 2, 2, true, ""},
		"AnswerLost": {"a blob whose response is lost is not sent again", large, func(s http.Handler) http.Handler { return remotetest.Faults(s, 1, put, cut(s, 0)) }, 1, 1, false, ""},
		"PostBusy":   {"the start of an upload is tried again", large, one(2, post, remotetest.Status(429)), 1, 3, false, ""},
		"PostReset":  {"the start of an upload is tried again after a broken connection", tiny, one(2, post, remotetest.Reset), 0, 3, false, ""},
		"PostNever":  {"the number of tries is limited", large, one(99, post, remotetest.Status(500)), 0, 3, false, "answered 500"},
		"PostDenied": {"an upload that is refused is not tried again", large, one(99, post, remotetest.Status(403)), 0, 1, false, "denied access"},
		"TooLarge":   {"a blob that is too large is not tried again", large, one(99, patch, remotetest.Status(413)), 1, 1, false, "answered 413"},
		"Nowhere":    {"a response without a location is an error", large, one(99, post, remotetest.Status(202)), 0, 1, false, "returned no upload location"},
		"Private": {"a location at a private address is refused", large, one(99, post, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://169.254.169.254/latest")
			w.WriteHeader(http.StatusAccepted)
		}), 0, 1, false, `the private address "169.254.169.254"`},
		"HeadOther":  {"a blob of another size is uploaded", large, one(1, head, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "5") }), 1, 1, false, ""},
		"HeadDenied": {"a blob can be pushed without the permission to read", large, one(9, head, remotetest.Status(403)), 1, 1, false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stored := remotetest.Embedded(t)
			requests := remotetest.Record(tc.faults(stored))
			host := remotetest.Serve(t, requests)
			up, err := upload(t, fast(remote.Options{}), host, blobOf(t, tc.data))
			checkError(t, tc.reason, err, tc.err, "")
			patches, posts := len(requests.Find(patch)), len(requests.Find(post))
			if tc.patches >= 0 && patches != tc.patches || posts != tc.posts {
				t.Errorf("%s: %d streams in %d sessions, want %d in %d", tc.reason, patches, posts, tc.patches, tc.posts)
			}
			if err != nil {
				return
			}
			checkStored(t, remotetest.Serve(t, stored), tc.data)
			if tc.again && up.Again == 0 {
				t.Errorf("%s: no bytes are reported as sent again", tc.reason)
			}
		})
	}
}

// Blob.Progress reports each byte once, even if it is sent again.
func TestUploadProgress(t *testing.T) {
	s := remotetest.Embedded(t)
	host := remotetest.Serve(t, remotetest.Faults(s, 1, "^PATCH ", remotetest.Reset))
	b := blobOf(t, large)
	var told atomic.Int64
	b.Progress = func(n int64) { told.Add(n) }
	if _, err := upload(t, fast(remote.Options{}), host, b); err != nil || told.Load() != b.Size {
		t.Errorf("%d bytes of %d were reported: %v", told.Load(), b.Size, err)
	}
}

// An error of reading the local file is not retried, and not reported as an error of
// the registry.
func TestUploadLocalError(t *testing.T) {
	for _, data := range [][]byte{tiny, large} {
		requests := remotetest.Record(remotetest.Embedded(t))
		host := remotetest.Serve(t, requests)
		b := blobOf(t, data)
		broken := errors.New("the disk is gone")
		b.Open = func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(data[:len(data)/2]), unreadable{broken})), nil
		}
		if _, err := upload(t, fast(remote.Options{}), host, b); !errors.Is(err, broken) || len(requests.Find("^POST ")) != 1 {
			t.Errorf("got %v after the requests %q", err, requests.Find(""))
		}
	}
}

type unreadable struct{ error }

func (f unreadable) Read([]byte) (int, error) { return 0, f.error }

// A blob of another repository is mounted instead of sent, if the registry supports it.
func TestMount(t *testing.T) {
	for reason, want := range map[string]remote.Upload{
		"mounted":     {Mounted: true},
		"not mounted": {},
	} {
		var mounts, bytesSent atomic.Int64
		stored := remotetest.Embedded(t)
		b := blobOf(t, large)
		host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				if strings.HasPrefix(r.URL.Path, "/v2/gold/base/") {
					w.Header().Set("Content-Length", fmt.Sprint(b.Size))
					return
				}
				w.WriteHeader(http.StatusNotFound)
				return
			}
			if q := r.URL.Query(); q.Has("mount") {
				mounts.Add(1)
				e2e.Equal(t, "the request names the blob to mount", b.Digest.String(), q.Get("mount"))
				e2e.Equal(t, "the request names the repository to mount from", "gold/base", q.Get("from"))
				if want.Mounted {
					w.WriteHeader(http.StatusCreated)
					return
				}
				r.URL.RawQuery = ""
			}
			bytesSent.Add(max(r.ContentLength, 0))
			stored.ServeHTTP(w, r)
		}))
		repo := repository(t, host, "gold/image")
		up, err := uploadTo(t.Context(), fast(remote.Options{}), repo, b, repository(t, host, "gold/absent"), repository(t, host, "gold/base"))
		if err != nil || up != want || mounts.Load() != 1 || (bytesSent.Load() == 0) != want.Mounted {
			t.Errorf("%s: got %+v, %v after %d mounts and %d bytes", reason, up, err, mounts.Load(), bytesSent.Load())
		}
	}
}

// Requests of an upload that continues on another host contain no credentials.
func TestUploadElsewhere(t *testing.T) {
	sessions := remotetest.Embedded(t)
	storage := remotetest.Serve(t, remotetest.Stranger(t, sessions))
	host := remotetest.Serve(t, remotetest.BasicAuth(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			rec := httptest.NewRecorder()
			sessions.ServeHTTP(rec, r)
			w.Header().Set("Location", "http://"+storage+rec.Header().Get("Location")+"?state=a%2Fb")
			w.WriteHeader(rec.Code)
			return
		}
		sessions.ServeHTTP(w, r)
	}), user, password))
	c := fast(remote.Options{Keychain: keys{&authn.Basic{Username: user, Password: password}}})
	for _, data := range [][]byte{tiny, large} {
		e2e.NoError(t, e2e.Err(upload(t, c, host, blobOf(t, data))))
		checkStored(t, storage, data)
	}
}

// A token that expires during an upload is renewed.
func TestUploadTokenExpires(t *testing.T) {
	inner := remotetest.Embedded(t)
	var tokens, uses atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			uses.Store(0)
			fmt.Fprintf(w, `{"token":"t%d"}`, tokens.Add(1))
			return
		}
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer t%d", tokens.Load()) || uses.Add(1) > 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	host := remotetest.Serve(t, h)
	c := fast(remote.Options{Keychain: keys{&authn.Basic{Username: user, Password: password}}})
	for _, data := range [][]byte{tiny, large} {
		e2e.NoError(t, e2e.Err(upload(t, c, host, blobOf(t, data))))
	}
	if tokens.Load() < 4 {
		t.Errorf("%d tokens were used", tokens.Load())
	}
}

// Pauses between tries grow and have a jitter. The pause that the registry asks
// for is used up to a limit.
func TestPauses(t *testing.T) {
	cases := map[string]struct {
		reason, retryAfter string
		tries              int
		low, high          []time.Duration
	}{
		"Backoff":    {"each pause is about three times as long", "", 5, []time.Duration{750, 2250, 6750, 20250}, []time.Duration{1250, 3750, 11250, 33750}},
		"Bounded":    {"pauses are limited", "", 7, []time.Duration{750, 2250, 6750, 20250, 22500, 22500}, []time.Duration{1250, 3750, 11250, 33750, 37500, 37500}},
		"RetryAfter": {"a registry may ask for a longer pause", "20", 2, []time.Duration{20000}, []time.Duration{20000}},
		"TooLong":    {"the pause that a registry asks for is limited", "86400", 2, []time.Duration{60000}, []time.Duration{60000}},
		"Date":       {"a date in the past is ignored", "Mon, 02 Jan 2006 15:04:05 GMT", 2, []time.Duration{750}, []time.Duration{1250}},
		"Garbage":    {"an invalid Retry-After is ignored", "soon", 2, []time.Duration{750}, []time.Duration{1250}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var waits []time.Duration
			c := remote.New(remote.Options{Tries: tc.tries, Sleep: func(_ context.Context, d time.Duration) error {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, d)
				return nil
			}})
			busy := func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tc.retryAfter)
				w.WriteHeader(http.StatusTooManyRequests)
			}
			host := remotetest.Serve(t, remotetest.Faults(remotetest.Handler(), 99, "^POST ", busy))
			if _, err := upload(t, c, host, blobOf(t, tiny)); err == nil {
				t.Fatal("the upload succeeded")
			}
			if len(waits) != len(tc.low) {
				t.Fatalf("%s: waited %v", tc.reason, waits)
			}
			for i, d := range waits {
				if d < tc.low[i]*time.Millisecond || d > tc.high[i]*time.Millisecond {
					t.Errorf("%s: pause %d took %s", tc.reason, i, d)
				}
			}
		})
	}
}

// A registry that neither reads nor responds causes a timeout. The first request is a ping by HTTPS,
// which fails, and by HTTP.
func TestIdle(t *testing.T) {
	for method, data := range map[string][]byte{http.MethodPatch: noise(64 << 20), http.MethodPost: tiny, http.MethodGet: tiny} {
		given := make(chan struct{})
		host := remotetest.Serve(t, remotetest.Faults(remotetest.Embedded(t), 99, "^"+method, func(http.ResponseWriter, *http.Request) {
			<-given
		}))
		c := remote.New(remote.Options{Tries: 1, IdleTimeout: 500 * time.Millisecond})
		_, err := upload(t, c, host, blobOf(t, data))
		close(given)
		checkError(t, "a registry that does not respond is an error: "+method, err, "does not answer: no data arrived for 500ms", "or give it more time with {idle-timeout}")
	}
}
