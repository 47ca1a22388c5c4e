package remote_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
)

// A trickle is a transport whose responses have n bytes, of which one Read returns size
// after a pause.
type trickle struct {
	n, size int
	pause   time.Duration
}

func (t trickle) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&t)}, nil
}

func (t *trickle) Read(p []byte) (int, error) {
	time.Sleep(t.pause)
	n := min(t.n, t.size, len(p))
	if t.n -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A silence is a transport that connects for this time to a server that reads requests and never
// answers.
type silence time.Duration

func (s silence) RoundTrip(req *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(req.Context())
	trace.GetConn(req.URL.Host)
	select {
	case <-time.After(time.Duration(s)):
		trace.GotConn(httptrace.GotConnInfo{})
	case <-req.Context().Done():
	}
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// A silent host is reported once, and a request to it ends.
func TestSilence(t *testing.T) {
	t.Parallel()
	const host, note = "https://registry.example.org", `"registry.example.org" has not responded for 5s; the request fails after `
	cases := map[string]struct {
		reason, method, url    string
		idle, dial, want, took time.Duration
		note                   string
	}{
		"Ping":     {"a registry may have to start before it answers a ping", http.MethodGet, host + "/v2/", 0, 0, time.Minute, time.Minute, note + "1m0s"},
		"Read":     {"a registry answers a request to read soon", http.MethodHead, host + "/v2/a/manifests/b", 0, 0, time.Minute, time.Minute, note + "1m0s"},
		"Write":    {"a registry may hash and move a blob before it answers", http.MethodPut, host + "/v2/a/blobs/uploads/b", 0, 0, 5 * time.Minute, 5 * time.Minute, note + "5m0s"},
		"Longer":   {"a longer idle timeout gives requests more time", http.MethodGet, host + "/v2/a/manifests/b", 20 * time.Minute, 0, 4 * time.Minute, 4 * time.Minute, note + "4m0s"},
		"Cold":     {"a longer idle timeout gives pings more time", http.MethodGet, host + "/v2/", 20 * time.Minute, 0, 4 * time.Minute, 4 * time.Minute, note + "4m0s"},
		"Shorter":  {"no request is longer silent than the idle timeout", http.MethodGet, host + "/v2/", 10 * time.Second, 0, 10 * time.Second, 10 * time.Second, note + "10s"},
		"Dial":     {"a connection has its own timeouts", http.MethodGet, host + "/v2/", 10 * time.Second, 25 * time.Second, 10 * time.Second, 35 * time.Second, note + "40s"},
		"DeadDial": {"a proxy that does not answer is silent", http.MethodGet, host + "/v2/", 10 * time.Second, time.Hour, 40 * time.Second, 40 * time.Second, note + "40s"},
		"Secret":   {"a host with a credential in its name is not named", http.MethodGet, "https://" + password + ".example.org/v2/", 0, 0, time.Minute, time.Minute, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var notes []string
				report := func(e progress.Event) {
					mu.Lock()
					defer mu.Unlock()
					notes = append(notes, e.Text)
				}
				c := remote.New(remote.Options{Transport: silence(tc.dial), IdleTimeout: tc.idle, Progress: report})
				for range 2 {
					req, err := http.NewRequestWithContext(t.Context(), tc.method, tc.url, nil)
					e2e.NoError(t, err)
					req.SetBasicAuth(user, password)
					began := time.Now()
					_, err = c.RoundTrip(req)
					if want := fmt.Sprintf("no data arrived for %s", tc.want); err == nil || err.Error() != want || time.Since(began) != tc.took {
						t.Errorf("%s: got %v after %s, want %s after %s", tc.reason, err, time.Since(began), want, tc.took)
					}
				}
				var want []string
				if tc.note != "" {
					want = []string{tc.note}
				}
				mu.Lock()
				defer mu.Unlock()
				e2e.Equal(t, tc.reason, want, notes)
			})
		})
	}
}

func TestMinRate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		minRate int64
		serve   trickle
		read    int64
		slow    bool
	}{
		"Default":  {"a response of 10 bytes per second ends after 30 seconds", 0, trickle{1 << 20, 10, time.Second}, 300, true},
		"Stalled":  {"a response that stalls often is too slow", 0, trickle{1 << 20, 10, 4 * time.Minute}, 20, true},
		"Late":     {"a response may begin late", 0, trickle{100, 100, 35 * time.Second}, 100, false},
		"Fast":     {"a response of 1000 bytes per second is fast enough", 0, trickle{100_000, 1000, time.Second}, 100_000, false},
		"Short":    {"a short response may be slow", 0, trickle{100, 10, time.Second}, 100, false},
		"Higher":   {"the limit can be higher", 2000, trickle{100_000, 1000, time.Second}, 30_000, true},
		"Disabled": {"without a limit, a response may last for hours", -1, trickle{10_000, 1, time.Second}, 10_000, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := remote.New(remote.Options{Transport: tc.serve, MinRate: tc.minRate})
				req := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://registry.example.org/v2/a/blobs/b", nil))(t)
				resp := e2e.Must(c.RoundTrip(req))(t)
				defer resp.Body.Close()
				got, err := io.Copy(io.Discard, resp.Body)
				var timeout net.Error
				if slow := errors.As(err, &timeout) && timeout.Timeout(); slow != tc.slow || got != tc.read {
					t.Errorf("%s: got %d bytes and error %v, want %d", tc.reason, got, err, tc.read)
				}
			})
		})
	}
}
