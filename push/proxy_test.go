package push_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing/iotest"

	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// faultProxy is a proxy that injects faults into some requests, chosen by a seed.
type faultProxy struct {
	// Next is the registry behind its authentication.
	Next http.Handler
	// Direct is the registry without authentication.
	Direct http.Handler
	// Storage is another host of the same registry without authentication,
	// as http://HOST:PORT: some uploads and blobs are redirected to it.
	Storage string
	// Tokens is the token server of the registry, or nil.
	Tokens *tokenServer
	// Rate is the share of requests with a fault.
	Rate float64
	// RetryAfter is the Retry-After header of a busy registry, if not "".
	RetryAfter string
	// Slow is how many requests may wait until the client times out.
	Slow int
	// Fate is the permanent fault from request FateAt on: "full",
	// "readonly", "shut", "forbidden", or "".
	Fate   string
	FateAt int

	mu    sync.Mutex
	rand  *rand.Rand
	seen  int
	done  map[string]int
	next  chan struct{} // closed by the next request
	end   chan struct{}
	under sync.WaitGroup
}

// Begin sets the seed. The proxy serves requests after Begin and until End.
func (c *faultProxy) Begin(seed uint64) {
	c.rand, c.done = rand.New(rand.NewPCG(seed, 1)), map[string]int{}
	c.next, c.end = make(chan struct{}), make(chan struct{})
}

// End releases all waiting requests and returns the number of faults of each
// kind after they have ended. Later requests are not served.
func (c *faultProxy) End() map[string]int {
	c.mu.Lock()
	close(c.end)
	c.mu.Unlock()
	c.under.Wait()
	return c.done
}

// enter counts a request as served, unless End was called.
func (c *faultProxy) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.end:
		return false
	default:
		c.under.Add(1)
		return true
	}
}

// ServeHTTP implements http.Handler.
func (c *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !c.enter() {
		remotetest.Reset(w, r)
		return
	}
	defer c.under.Done()
	kind, n, next := c.choose(r)
	switch kind {
	case "":
		c.Next.ServeHTTP(w, r)
	case "delay":
		c.delay(w, r, next)
	default:
		c.harm(kind, n, w, r)
	}
}

// choose returns the fault of a request, a random number for it, and the
// channel that the next request closes.
func (c *faultProxy) choose(r *http.Request) (kind string, n int64, next chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
	c.seen++
	harms := c.harms(r)
	n = c.rand.Int64N(1 << 20)
	hit := c.rand.Float64() < c.Rate
	switch {
	case c.Fate != "" && c.seen >= c.FateAt && c.fits(r):
		kind = c.Fate
	case hit:
		kind = harms[c.rand.IntN(len(harms))]
	}
	switch kind {
	case "delay", "stall":
		c.Slow--
	case "token":
		if !c.Tokens.Expire() {
			kind = ""
		}
	}
	if kind != "" {
		c.done[kind]++
	}
	return kind, n, c.next
}

// fits reports whether the proxy's fate applies to a request: most apply only to writes.
func (c *faultProxy) fits(r *http.Request) bool {
	return c.Fate == "shut" || r.Method != http.MethodGet && r.Method != http.MethodHead
}

// harms returns the faults that are possible for a request.
func (c *faultProxy) harms(r *http.Request) []string {
	all := []string{"drop", "busy", "late", "truncate"}
	upload, blob := strings.Contains(r.URL.Path, "/blobs/uploads/"), strings.Contains(r.URL.Path, "/blobs/")
	if c.Slow > 0 {
		all = append(all, "stall", "delay")
	}
	if c.Tokens != nil {
		all = append(all, "token")
	}
	switch {
	case r.Method == http.MethodHead && blob:
		all = append(all, "absent", "present", "redirect")
	case r.Method == http.MethodHead:
		all = append(all, "absent", "present")
	case r.Method == http.MethodPost && upload:
		all = append(all, "elsewhere")
	case r.Method == http.MethodPatch:
		all = append(all, "cut", "cut", "expire")
	case r.Method == http.MethodGet && upload: // a client asks only after a fault, so this is rare
		all = append(all, "lie", "lie", "lie", "lie", "expire")
	case r.Method == http.MethodPut && upload:
		all = append(all, "cut", "expire")
	}
	return all
}

func (c *faultProxy) harm(kind string, n int64, w http.ResponseWriter, r *http.Request) {
	switch kind {
	case "drop": // before the registry gets the request
		remotetest.Reset(w, r)
	case "late": // after the registry served the request
		c.Next.ServeHTTP(httptest.NewRecorder(), r)
		remotetest.Reset(w, r)
	case "cut": // in the middle of the request
		part := r.Clone(r.Context())
		part.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, n), iotest.ErrReader(io.ErrUnexpectedEOF)))
		c.Next.ServeHTTP(httptest.NewRecorder(), part)
		remotetest.Reset(w, r)
	case "truncate":
		c.truncate(n, w, r)
	case "stall":
		c.stall(n, w, r)
	case "expire":
		c.Direct.ServeHTTP(httptest.NewRecorder(), direct(http.MethodDelete, r))
		c.Next.ServeHTTP(w, r)
	case "elsewhere":
		c.elsewhere(w, r)
	case "token": // choose has revoked all tokens.
		c.Next.ServeHTTP(w, r)
	case "full", "readonly", "forbidden", "shut":
		c.fail(kind, w, r)
	default:
		c.lie(kind, n, w, r)
	}
}

// lie responds with false information.
func (c *faultProxy) lie(kind string, n int64, w http.ResponseWriter, r *http.Request) {
	code := http.StatusOK
	switch kind {
	case "busy":
		if c.RetryAfter != "" {
			w.Header().Set("Retry-After", c.RetryAfter)
		}
		code = []int{429, 500, 502, 503}[n%4]
	case "lie":
		w.Header().Set("Range", fmt.Sprintf("0-%d", n*4))
		code = http.StatusNoContent
	case "absent":
		code = http.StatusNotFound
	case "present":
		w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
	case "redirect":
		w.Header().Set("Location", c.Storage+r.URL.RequestURI())
		code = http.StatusTemporaryRedirect
	}
	w.WriteHeader(code)
}

// fail responds as a registry in a permanent fault.
func (c *faultProxy) fail(fate string, w http.ResponseWriter, r *http.Request) {
	code, text := 0, ""
	switch fate {
	case "full":
		code, text = http.StatusInsufficientStorage, "no space left on device"
	case "readonly":
		code, text = http.StatusMethodNotAllowed, "the registry is read-only"
	case "forbidden": // Repeat the request's credentials, which no error of the client may contain.
		code, text = http.StatusForbidden, "not with "+r.Header.Get("Authorization")
	case "shut":
		if c.Tokens != nil {
			c.Tokens.Shut()
			c.Next.ServeHTTP(w, r)
			return
		}
		code, text = http.StatusUnauthorized, "not any more"
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":%q}]}`, text)
}

// delay serves a request only after the next one arrived, which may be a retry
// of a client that timed out.
func (c *faultProxy) delay(w http.ResponseWriter, r *http.Request, next chan struct{}) {
	select {
	case <-next:
		c.Next.ServeHTTP(w, r)
	case <-r.Context().Done():
	case <-c.end:
	}
}

// stall reads a part of a request and then blocks.
func (c *faultProxy) stall(n int64, w http.ResponseWriter, r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, n)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	<-c.end
	_ = conn.Close()
}

// truncate sends at most n bytes of a response.
func (c *faultProxy) truncate(n int64, w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	c.Next.ServeHTTP(answer, r)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var pad, whole bytes.Buffer
	if answer.Code != http.StatusNoContent {
		pad.WriteString(strings.Repeat(" ", 100))
	}
	resp := answer.Result()
	resp.ContentLength, resp.Request = int64(answer.Body.Len()+pad.Len()), r
	resp.Body = io.NopCloser(io.MultiReader(resp.Body, &pad))
	_ = resp.Write(&whole)
	_, _ = conn.Write(whole.Bytes()[:n%int64(whole.Len()-1)])
	_ = conn.Close()
}

// elsewhere redirects an upload to another host.
func (c *faultProxy) elsewhere(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	c.Next.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	if at, err := url.Parse(answer.Header().Get("Location")); err == nil && answer.Code == http.StatusAccepted {
		w.Header().Set("Location", c.Storage+at.RequestURI())
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// direct returns a request to the same path as r.
func direct(method string, r *http.Request) *http.Request {
	same := httptest.NewRequest(method, r.URL.RequestURI(), nil)
	same.Host = r.Host
	return same
}
