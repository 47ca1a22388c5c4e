package remotetest

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Downloads is a proxy to a registry that does harm to what is read of it, by a
// seed. It leaves requests that write alone.
type Downloads struct {
	next    http.Handler
	storage string
	rate    float64

	mu   sync.Mutex
	rand *rand.Rand
	done map[string]int
}

// NewDownloads returns a proxy to next, which harms that share of the requests,
// and sends some that are for blobs to the host storage. A client that is not to
// wait for long for what stalls needs a short IdleTimeout.
func NewDownloads(next http.Handler, seed uint64, rate float64, storage string) *Downloads {
	return &Downloads{next: next, storage: storage, rate: rate, rand: rand.New(rand.NewPCG(seed, 2)), done: map[string]int{}}
}

// Done returns how often each kind of harm was done until now.
func (d *Downloads) Done() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.done)
}

// ServeHTTP implements http.Handler.
func (d *Downloads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		d.next.ServeHTTP(w, r)
		return
	}
	blob := strings.Contains(r.URL.Path, "/blobs/")
	d.mu.Lock()
	kind, n := "", d.rand.Uint64()
	switch dice := d.rand.Float64(); {
	case dice < d.rate/40: // A flipped bit spoils all that was read before.
		kind = "flip"
	case dice < d.rate/20:
		kind = "stall"
	case dice < d.rate:
		kind = []string{"drop", "busy", "truncate", "short"}[n%4]
	case blob && dice > 1-d.rate:
		kind = []string{"elsewhere", "whole"}[n%2]
	}
	if kind != "" {
		d.done[kind]++
	}
	d.mu.Unlock()
	d.harm(kind, n, w, r)
}

func (d *Downloads) harm(kind string, n uint64, w http.ResponseWriter, r *http.Request) {
	switch kind {
	case "drop":
		Reset(w, r)
	case "busy":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader([]int{429, 500, 502, 503}[n%4])
	case "elsewhere":
		http.Redirect(w, r, "http://"+d.storage+r.URL.Path, http.StatusTemporaryRedirect)
	case "whole": // It knows no parts.
		r = r.Clone(r.Context())
		r.Header.Del("Range")
		d.next.ServeHTTP(w, r)
	case "":
		d.next.ServeHTTP(w, r)
	default:
		d.spoil(kind, n, w, r)
	}
}

// spoil changes what is answered.
func (d *Downloads) spoil(kind string, n uint64, w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	d.next.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	part := body[:n%uint64(len(body)+1)]
	maps.Copy(w.Header(), answer.Header())
	switch {
	case kind == "flip" && len(body) > 0:
		body[n%uint64(len(body))] ^= 1
		part = body
	case kind == "short": // and says that this is all
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(part)
	switch kind {
	case "truncate":
		panic(http.ErrAbortHandler)
	case "stall":
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}
