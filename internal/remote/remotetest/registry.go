package remotetest

import (
	"crypto/subtle"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	memory "github.com/google/go-containerregistry/pkg/registry"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
)

// Handler returns an empty registry that keeps everything in memory. It supports neither
// partial uploads nor HTTP ranges.
func Handler() http.Handler {
	return memory.New(memory.Logger(log.New(io.Discard, "", 0)))
}

// Embedded returns an empty registry like `xfn registry serve`. It keeps partial
// uploads, so that clients can resume them.
func Embedded(t testing.TB) http.Handler {
	t.Helper()
	return e2e.Open(registry.Open(t.TempDir()))(t)
}

// Serve serves h over plain HTTP until the test ends, and returns HOST:PORT.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	return serve(t, h, (*httptest.Server).Start)
}

// ServeTLS is like Serve, but uses TLS and a certificate that clients do not trust.
func ServeTLS(t testing.TB, h http.Handler) string {
	t.Helper()
	return serve(t, h, (*httptest.Server).StartTLS)
}

func serve(t testing.TB, h http.Handler, start func(*httptest.Server)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(s)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// Nobody is an address (HOST:PORT) of this machine at which no server listens. Another test can get a
// port that was free a moment ago, but only a server with privileges can listen here.
const Nobody = "127.0.0.1:1"

// BasicAuth returns a handler that requires HTTP basic authentication and then calls h.
func BasicAuth(h http.Handler, user, password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		if u != user || subtle.ConstantTimeCompare([]byte(p), []byte(password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Faults returns a handler that passes the first n requests whose "METHOD PATH" matches a regular
// expression to fault, and all other requests to h.
func Faults(h http.Handler, n int, pattern string, fault http.HandlerFunc) http.Handler {
	matches := regexp.MustCompile(pattern).MatchString
	var seen atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if matches(r.Method+" "+r.URL.Path) && seen.Add(1) <= int64(n) {
			fault(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Status returns a fault that responds with this status code and no body.
func Status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// Reset is a fault that reads one byte of the request's body, then breaks the connection.
func Reset(w http.ResponseWriter, r *http.Request) {
	_, _ = r.Body.Read(make([]byte, 1))
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Stranger returns h as another host, which must not get credentials.
func Stranger(t testing.TB, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e2e.Equal(t, r.Method+" "+r.URL.Path+" has credentials", "", r.Header.Get("Authorization")+r.Header.Get("Cookie"))
		h.ServeHTTP(w, r)
	})
}

// Requests is a handler that records the requests that it passes on.
type Requests struct {
	next http.Handler
	mu   sync.Mutex
	all  []request
}

type request struct{ line, ranges string }

// Record returns a handler that records requests and passes them to h.
func Record(h http.Handler) *Requests { return &Requests{next: h} }

// ServeHTTP implements http.Handler.
func (q *Requests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	q.all = append(q.all, request{r.Method + " " + r.URL.Path, r.Header.Get("Range")})
	q.mu.Unlock()
	q.next.ServeHTTP(w, r)
}

// Clear removes the recorded requests.
func (q *Requests) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = nil
}

// Find returns the recorded requests that match a regular expression, each as "METHOD PATH".
func (q *Requests) Find(pattern string) []string {
	return q.collect(pattern, func(r request) string { return r.line })
}

// Ranges returns the header Range of the requests of Find.
func (q *Requests) Ranges(pattern string) []string {
	return q.collect(pattern, func(r request) string { return r.ranges })
}

func (q *Requests) collect(pattern string, part func(request) string) (found []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	matches := regexp.MustCompile(pattern).MatchString
	for _, r := range q.all {
		if matches(r.line) {
			found = append(found, part(r))
		}
	}
	return found
}

// Writes matches the requests of Requests.Find that may change a registry.
const Writes = "^(POST|PUT|PATCH|DELETE) "
