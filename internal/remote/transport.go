package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A guarded is a transport that refuses redirects to forbidden addresses, and requests that
// would send credentials in plain HTTP or to another server. It remembers the credentials
// that it sends. It also changes the ping and the token responses of go-containerregistry's
// login.
type guarded struct {
	inner http.RoundTripper
	sent  *secrets
	// plain means that all registries use plain HTTP.
	plain bool
}

func (g guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.plain && req.Method == http.MethodGet && req.URL.Path == "/v2/" && req.Response == nil {
		// With this request, go-containerregistry determines whether the registry uses HTTPS or
		// HTTP (OCI distribution spec, "Determining Support"). With PlainHTTP it must be HTTP.
		plain := req.Clone(req.Context())
		plain.URL.Scheme = "http"
		req = plain
	}
	if err := g.check(req); err != nil {
		return nil, err
	}
	g.sent.add(credentialsIn(req))
	resp, err := g.inner.RoundTrip(req)
	if query := req.URL.Query(); err == nil && resp.StatusCode == http.StatusOK && (isTokenRequest(req) || query.Has("service")) {
		err = checkToken(req.URL.Host, resp, isTokenRequest(req) || query.Has("scope"))
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (g guarded) check(req *http.Request) error {
	redirects := 0
	for r := req.Response; r != nil; r = r.Request.Response {
		if redirects++; redirects > maxRedirects {
			return &targetError{fmt.Errorf("registry %q redirects more than %d times", req.URL.Host, maxRedirects)}
		}
	}
	if req.Response != nil { // the request follows a redirect
		from := req.Response.Request.URL
		if err := checkTarget(from, req.URL); err != nil {
			return err
		}
		if from.Host != req.URL.Host && isTokenRequest(req) {
			return &targetError{fmt.Errorf("the token server %q redirects to %q, which must not receive the credentials", from.Host, req.URL.Host)}
		}
	}
	if req.URL.Scheme == "http" && !g.plain && !IsLocal(req.URL.Host) && (req.Header.Get("Authorization") != "" || isTokenRequest(req)) {
		return &targetError{fmt.Errorf("the registry asks to send the credentials to %q in plain HTTP", req.URL.Host)}
	}
	return nil
}

// isTokenRequest reports whether a request sends credentials in a form to get a token, as in
// Docker's "Authenticate with the registry using OAuth2".
func isTokenRequest(req *http.Request) bool {
	return req.Header.Get("Content-Type") == "application/x-www-form-urlencoded"
}

// IsLocal reports whether plain HTTP is allowed for a host even if Options.PlainHTTP is
// false.
func IsLocal(host string) bool {
	r, err := name.NewRegistry(host)
	return err == nil && r.Scheme() == "http"
}

// maxRedirects is less than the limit of http.Client, whose error has no type.
const maxRedirects = 8

// checkTarget returns an error if a registry may not redirect from one URL to another. It
// may not redirect to another scheme, from HTTPS to HTTP, or to the private IP address of another host. It may
// redirect to any host name: the host gets no credentials, and content is verified by
// digest.
func checkTarget(from, to *url.URL) error {
	switch {
	case to.Scheme != "https" && to.Scheme != "http":
		return &targetError{fmt.Errorf("the registry redirects to a URL of scheme %q, expected https", to.Scheme)}
	case from.Scheme == "https" && to.Scheme != "https":
		return &targetError{fmt.Errorf("the registry redirects from https to %q", to.Scheme)}
	case to.Hostname() != from.Hostname() && isPrivate(to.Hostname()):
		return &targetError{fmt.Errorf("the registry redirects to the private address %q", to.Hostname())}
	default:
		return nil
	}
}

// A targetError says that a request was not sent, because its address is forbidden, or that a
// token server sent no token.
type targetError struct{ error }

func isPrivate(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified())
}

const (
	// maxToken limits the bytes that are read of the request for a token, and of its response.
	// go-containerregistry has the same limit.
	maxToken = 64 << 10
	// maxSecrets limits the number of credentials that are remembered. The latest ones are
	// kept.
	maxSecrets = 256
)

// secrets are the credentials that were sent to servers. A message of a server that
// contains one of them must not be shown.
type secrets struct {
	mu    sync.Mutex
	known []string
}

// in reports whether a text contains a remembered credential, in upper or lower case, or
// escaped as in a URL.
func (s *secrets) in(text string) bool {
	text = strings.ToLower(text)
	holds := func(secret string) bool { return strings.Contains(text, strings.ToLower(secret)) }
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.known, func(secret string) bool {
		return holds(secret) || holds(url.QueryEscape(secret)) || holds(url.PathEscape(secret))
	})
}

func (s *secrets) add(all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range all {
		if secret != "" && !slices.Contains(s.known, secret) {
			s.known = append(s.known, secret)
		}
	}
	s.known = s.known[max(0, len(s.known)-maxSecrets):]
}

// credentialsIn returns the credentials in a request: in its Authorization header, and in
// the form of a token request.
func credentialsIn(req *http.Request) []string {
	_, header, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	decoded, _ := base64.StdEncoding.DecodeString(header)
	_, password, _ := strings.Cut(string(decoded), ":") // from "Basic base64(USER:PASSWORD)"
	all := []string{header, password}
	if req.GetBody == nil || !isTokenRequest(req) {
		return all
	}
	body, err := req.GetBody()
	if err != nil {
		return all
	}
	defer func() { _ = body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(body, maxToken))
	form, _ := url.ParseQuery(string(text))
	return slices.Concat(all, form["refresh_token"], form["password"])
}

// checkToken returns an error, and closes the body, if a token is needed and the response of the token
// server host has none. The errors of go-containerregistry do not name the server.
//
// checkToken also removes the new identity token from the response, so that go-containerregistry
// keeps the user's token, which stays valid (Docker's "Authenticate with the registry using
// OAuth2"). go-containerregistry v0.22.1 would replace it without a lock while other requests read it.
func checkToken(host string, resp *http.Response, needed bool) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxToken+1))
	var answer struct {
		Token       string
		AccessToken string `json:"access_token"`
	}
	switch malformed := json.Unmarshal(text, &answer) != nil; {
	case err != nil || !needed:
	case len(text) > maxToken:
		err = &targetError{fmt.Errorf("the token server %q sent more than %d KiB", host, maxToken>>10)}
	case malformed || answer.Token+answer.AccessToken == "":
		err = &targetError{fmt.Errorf("the token server %q sent no token", host)}
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields) // A response that is not JSON contains no refresh_token.
	if _, ok := fields["refresh_token"]; ok && err == nil {
		delete(fields, "refresh_token")
		text, err = json.Marshal(fields)
	}
	if err != nil {
		return errors.Join(err, resp.Body.Close())
	}
	resp.Body = oci.ReadCloser{Reader: io.MultiReader(bytes.NewReader(text), resp.Body), Closer: resp.Body}
	return nil
}

// A watched is a transport with an idle timeout: a request fails if the registry neither
// reads the request nor sends a response for that time. The timer stops while this process
// produces the request's body or handles the response's body. A response fails if it is
// slower than minRate, in bytes per second. A negative minRate means no limit.
type watched struct {
	inner   http.RoundTripper
	timeout time.Duration
	minRate int64
	// connect is how much longer than other data a new connection may need.
	connect time.Duration
	// report receives one note for each silent host, unless its name contains one of the credentials
	// in sent.
	report progress.Func
	silent *sync.Map
	sent   *secrets
}

// maxAnswer limits the time until a registry answers a request that only reads, unless the idle
// timeout is much longer. A registry that must start first, as on a platform that scales to
// zero, needs it for a ping, too.
const maxAnswer = time.Minute

// limit returns how long the registry may be silent before it answers. Before it answers a request
// that writes, it may have to hash and move a large blob.
func (t watched) limit(req *http.Request) time.Duration {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return t.timeout
	}
	return max(min(t.timeout, maxAnswer), t.timeout/5)
}

// timers returns functions that start and stop the time in which a host must send data. start is
// called already.
func (t watched) timers(host string, limit time.Duration, cancel context.CancelCauseFunc) (start, stop func()) {
	report := progress.Func(func(e progress.Event) {
		if _, told := t.silent.LoadOrStore(host, true); !told && !t.sent.in(host) {
			t.report.Send(e)
		}
	})
	return report.Await(strconv.Quote(host), limit, func() { cancel(idleTimeoutError(limit)) })
}

func (t watched) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	limit := t.limit(req)
	start, stop := t.timers(req.URL.Host, limit, cancel)
	// A new connection has its own timeouts, but not for the answer of a proxy.
	connect, connected := t.timers(req.URL.Host, limit+t.connect, cancel)
	connected()
	var answered atomic.Bool
	req = req.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { stop(); connect() },
		GotConn: func(httptrace.GotConnInfo) { connected(); start() },
	}))
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &watchedBody{req.Body, ctx, stop, func() {
			if !answered.Load() {
				start()
			}
		}, func() {}}
	}
	resp, err := t.inner.RoundTrip(req)
	answered.Store(true)
	stop()
	connected()
	if err != nil {
		err = causeOf(ctx, err)
		cancel(nil)
		return nil, err
	}
	wait, done := t.timers(req.URL.Host, t.timeout, cancel)
	done()
	resp.Body = &watchedBody{&ratedBody{ReadCloser: resp.Body, minRate: t.minRate}, ctx, wait, done, func() { cancel(nil) }}
	return resp, nil
}

// causeOf returns the idleTimeoutError if an idle timeout canceled ctx. Otherwise it
// returns err.
func causeOf(ctx context.Context, err error) error {
	if s, ok := context.Cause(ctx).(idleTimeoutError); ok {
		return s
	}
	return err
}

// An idleTimeoutError is the error of a request to a registry that was silent for this time. It
// implements net.Error.
type idleTimeoutError time.Duration

func (e idleTimeoutError) Error() string {
	return fmt.Sprintf("no data arrived for %s", time.Duration(e))
}
func (idleTimeoutError) Timeout() bool   { return true }
func (idleTimeoutError) Temporary() bool { return true }

// A watchedBody calls functions before and after each Read, and when it is closed.
type watchedBody struct {
	io.ReadCloser
	ctx                   context.Context
	before, after, closed func()
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.before()
	n, err := b.ReadCloser.Read(p)
	b.after()
	if err != nil && err != io.EOF {
		err = causeOf(b.ctx, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

// rateWindow is the time over which the rate of a response is measured.
const rateWindow = 30 * time.Second

// A ratedBody returns a slowError if fewer than minRate bytes per second arrive while Read
// waits for them. One Read that waits for a whole rateWindow is allowed, because the
// response may be fast afterwards. The next slow window is then an error.
type ratedBody struct {
	io.ReadCloser
	minRate int64
	waited  time.Duration
	arrived int64
	stalled bool // The last window was one slow Read.
}

func (b *ratedBody) Read(p []byte) (int, error) {
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	took := time.Since(began)
	b.waited += took
	b.arrived += int64(n)
	if err != nil || b.waited < rateWindow {
		return n, err
	}
	slow := b.arrived < b.minRate*int64(rateWindow/time.Second)
	if slow && (took < rateWindow || b.stalled) {
		return n, slowError(b.minRate)
	}
	b.waited, b.arrived, b.stalled = 0, 0, slow
	return n, nil
}

// A slowError says that a response was slower than this number of bytes per second. It
// implements net.Error.
type slowError int64

func (e slowError) Error() string {
	return fmt.Sprintf("fewer than %d bytes per second arrived over %s", int64(e), rateWindow)
}
func (slowError) Timeout() bool   { return true }
func (slowError) Temporary() bool { return true }
