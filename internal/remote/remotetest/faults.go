package remotetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Downloads is a proxy to a registry. It injects faults, chosen by a seed, into responses to
// reads. It forwards writes unchanged.
type Downloads struct {
	next    http.Handler
	storage string
	rate    float64

	mu   sync.Mutex
	rand *rand.Rand
	done map[string]int
}

// NewDownloads returns a proxy to next. rate is the share of read requests that get a
// fault, from 0 to 1. Some requests for blobs are redirected to the host storage. Some
// responses stall, so clients need a short IdleTimeout.
func NewDownloads(next http.Handler, seed uint64, rate float64, storage string) *Downloads {
	return &Downloads{next: next, storage: storage, rate: rate, rand: rand.New(rand.NewPCG(seed, 2)), done: map[string]int{}}
}

// Done returns how many faults were injected so far, by kind.
func (d *Downloads) Done() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.done)
}

// ServeHTTP implements http.Handler.
func (d *Downloads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, n := "", uint64(0)
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		kind, n = d.choose(strings.Contains(r.URL.Path, "/blobs/"))
	}
	switch kind {
	case "":
		d.next.ServeHTTP(w, r)
	case "drop":
		Reset(w, r)
	case "busy":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader([]int{429, 500, 502, 503}[n%4])
	case "elsewhere":
		http.Redirect(w, r, "http://"+d.storage+r.URL.Path, http.StatusTemporaryRedirect)
	case "whole": // without a Range header, next sends the whole blob
		r = r.Clone(r.Context())
		r.Header.Del("Range")
		d.next.ServeHTTP(w, r)
	default:
		d.corrupt(kind, n, w, r)
	}
}

// choose returns the kind of the next fault, and a random number for its details. The kind
// is "" for no fault. blob is true if the request is for a blob.
func (d *Downloads) choose(blob bool) (kind string, n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n = d.rand.Uint64()
	switch dice := d.rand.Float64(); {
	// A flipped bit is rare, because clients must fetch all bytes up to it again.
	case dice < d.rate/40:
		kind = "flip"
	case dice < d.rate/20:
		kind = "stall"
	case dice < d.rate:
		kind = []string{"drop", "busy", "truncate", "short"}[n%4]
	case blob && dice > 1-d.rate:
		kind = []string{"elsewhere", "whole"}[n%2]
	default:
		return "", n
	}
	d.done[kind]++
	return kind, n
}

// corrupt forwards the request to d.next and damages the body of the response: it flips a
// bit, cuts the body off, or stalls.
func (d *Downloads) corrupt(kind string, n uint64, w http.ResponseWriter, r *http.Request) {
	code, body := replay(d.next, w, r)
	part := body[:n%uint64(len(body)+1)]
	switch {
	case kind == "flip" && len(body) > 0:
		body[n%uint64(len(body))] ^= 1
		part = body
	case kind == "short": // without the header, the server sends the length of part
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(code)
	_, _ = w.Write(part)
	switch kind {
	case "truncate":
		panic(http.ErrAbortHandler)
	case "stall":
		if r.Method == http.MethodHead || len(part) == len(body) {
			return // A client that has the whole response keeps the connection, so the request would never end.
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// replay sets the header of the response of h, and returns its status code and its body.
func replay(h http.Handler, w http.ResponseWriter, r *http.Request) (code int, body []byte) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	return answer.Code, answer.Body.Bytes()
}

// Seeds calls run in parallel subtests, once for each seed. The number of seeds is the
// environment variable XFN_SEEDS; its default is 40, which takes seconds. run returns the
// number of injected faults by kind, and the error of the code under test. With 100 seeds
// or more, each of kinds must be injected, and some runs must fail, but at most two
// thirds: on a busy machine, more runs exceed the idle timeout.
func Seeds(t *testing.T, kinds []string, run func(t *testing.T, seed uint64) (faults map[string]int, err error)) {
	t.Helper()
	seeds, err := strconv.ParseUint(cmp.Or(os.Getenv("XFN_SEEDS"), "40"), 10, 64)
	if err != nil {
		t.Fatalf("reading XFN_SEEDS: %v", err)
	}
	var mu sync.Mutex
	all, failed := map[string]int{}, uint64(0)
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				faults, err := run(t, seed)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
				}
				for kind, n := range faults {
					all[kind] += n
				}
			})
		}
	})
	t.Logf("%d of %d failed, after %v", failed, seeds, all)
	if seeds < 100 {
		return
	}
	for _, kind := range kinds {
		if all[kind] == 0 {
			t.Errorf("no fault of kind %q was injected", kind)
		}
	}
	if failed == 0 || failed > seeds*2/3 {
		t.Errorf("%d of %d failed, expected some and at most two thirds", failed, seeds)
	}
}

// Changed returns a fault that responds with the changed content of h, always from its beginning.
func Changed(h http.Handler, change func([]byte) []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		code, body := replay(h, w, r)
		body = change(body)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}
}

// Flip changes a bit.
func Flip(b []byte) []byte {
	b[len(b)/2] ^= 1
	return b
}

// Flipped returns a fault that responds with the content of h, with one changed bit.
func Flipped(h http.Handler) http.HandlerFunc { return Changed(h, Flip) }

// Cut returns a fault that breaks the connection after half of the content of h.
func Cut(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		code, body := replay(h, w, r)
		w.WriteHeader(code)
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	}
}
