package remotetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Strict refuses manifests that point at what h does not have, as registries
// do (OCI distribution spec, "Error Codes").
func Strict(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		repository, _, found := strings.Cut(r.URL.Path, "/manifests/")
		if r.Method != http.MethodPut || !found {
			h.ServeHTTP(w, r)
			return
		}
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return // The connection broke.
		}
		for _, path := range pointedAt(raw) {
			head := httptest.NewRequest(http.MethodHead, repository+path, nil)
			answer := httptest.NewRecorder()
			if h.ServeHTTP(answer, head); answer.Code != http.StatusOK {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"errors":[{"code":"MANIFEST_BLOB_UNKNOWN","message":"blob unknown to registry"}]}`)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		h.ServeHTTP(w, r)
	})
}

func pointedAt(manifest []byte) (paths []string) {
	type desc struct{ Digest string }
	var m struct {
		Config            desc
		Layers, Manifests []desc
	}
	if json.Unmarshal(manifest, &m) != nil {
		return nil
	}
	for _, d := range append(m.Layers, m.Config) {
		if d.Digest != "" {
			paths = append(paths, "/blobs/"+d.Digest)
		}
	}
	for _, d := range m.Manifests {
		paths = append(paths, "/manifests/"+d.Digest)
	}
	return paths
}

// Chaos is a proxy to a registry that does harm to some requests, by a seed.
type Chaos struct {
	next    http.Handler
	expire  func()
	storage string
	rate    float64

	mu   sync.Mutex
	rand *rand.Rand
	// Done counts the harm by its kind.
	Done map[string]int
}

// NewChaos returns a proxy to next, which harms that share of the requests. It
// calls expire to end upload sessions, and sends some uploads to the host
// storage, which must have the same sessions.
func NewChaos(next http.Handler, seed uint64, rate float64, expire func(), storage string) *Chaos {
	return &Chaos{next: next, expire: expire, storage: storage, rate: rate, rand: rand.New(rand.NewPCG(seed, 1)), Done: map[string]int{}}
}

// ServeHTTP implements http.Handler.
func (c *Chaos) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harms := c.harms(r)
	c.mu.Lock()
	kind, n := "", c.rand.Int64N(1<<20)
	if c.rand.Float64() < c.rate {
		kind = harms[c.rand.IntN(len(harms))]
		c.Done[kind]++
	}
	c.mu.Unlock()
	c.harm(kind, n, w, r)
}

// harms are what can happen to a request.
func (c *Chaos) harms(r *http.Request) []string {
	all := []string{"drop", "busy", "late", "truncate"}
	upload := strings.Contains(r.URL.Path, "/blobs/uploads/")
	switch {
	case r.Method == http.MethodHead:
		all = append(all, "absent", "present")
	case r.Method == http.MethodPost && upload:
		all = append(all, "elsewhere")
	case r.Method == http.MethodPatch:
		all = append(all, "cut", "cut", "expire")
	case r.Method == http.MethodGet && upload:
		all = append(all, "lie", "expire")
	case r.Method == http.MethodPut && upload:
		all = append(all, "cut", "expire")
	}
	return all
}

func (c *Chaos) harm(kind string, n int64, w http.ResponseWriter, r *http.Request) {
	switch kind {
	case "drop": // before anything is done
		Reset(w, r)
	case "late": // after all is done
		c.next.ServeHTTP(httptest.NewRecorder(), r)
		Reset(w, r)
	case "busy":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader([]int{429, 500, 502, 503}[n%4])
	case "truncate":
		c.truncate(w, r)
	case "cut":
		part := r.Clone(r.Context())
		part.Body = io.NopCloser(io.LimitReader(r.Body, n))
		if r.Method == http.MethodPatch {
			c.next.ServeHTTP(httptest.NewRecorder(), part)
		}
		Reset(w, r)
	case "expire":
		c.expire()
		c.next.ServeHTTP(w, r)
	case "lie":
		w.Header().Set("Range", fmt.Sprintf("0-%d", n*4))
		w.WriteHeader(http.StatusNoContent)
	case "absent":
		w.WriteHeader(http.StatusNotFound)
	case "present":
		w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
	case "elsewhere":
		answer := httptest.NewRecorder()
		c.next.ServeHTTP(answer, r)
		copyHeader(w, answer)
		if at := answer.Header().Get("Location"); strings.HasPrefix(at, "/") {
			w.Header().Set("Location", "http://"+c.storage+at)
		}
		w.WriteHeader(answer.Code)
	default:
		c.next.ServeHTTP(w, r)
	}
}

// truncate ends an answer in its middle.
func (c *Chaos) truncate(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	c.next.ServeHTTP(answer, r)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	text := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 1000\r\nLocat", answer.Code, http.StatusText(answer.Code))
	_, _ = io.WriteString(conn, text)
	_ = conn.Close()
}

func copyHeader(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
}
