package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// Options are the options of a Client. The zero value works.
type Options struct {
	// Keychain finds credentials. Nil means anonymous access.
	Keychain authn.Keychain
	// Transport sends the requests. Nil means one with the settings of TLS and
	// ConnectTimeout.
	Transport http.RoundTripper
	// Progress receives the source of the credentials of each registry. It may be nil.
	Progress progress.Func
	// UserAgent names this program to the registry: "xfn/v0.1.0".
	UserAgent string
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// RootCAs verify certificates. Nil means those of the machine.
	RootCAs *x509.CertPool
	// PlainHTTP uses HTTP for all registries, and TLS only where one of them
	// redirects to it. Otherwise HTTPS is required, except at loopback and private
	// addresses: there HTTP is tried after HTTPS.
	PlainHTTP bool
	// Tries is how often a request, or the upload of a blob, is tried when the
	// registry is overloaded or the connection breaks. Zero means 3.
	Tries int
	// RetryWait is the pause before the second try. Each further pause is three
	// times as long, up to half a minute, with a jitter of a quarter. A registry may
	// ask for up to a minute (RFC 9110, "Retry-After"). Zero means a second.
	RetryWait time.Duration
	// ConnectTimeout limits the TCP connection and, again, the TLS handshake. Zero
	// means 10 seconds.
	ConnectTimeout time.Duration
	// IdleTimeout limits the time in which a registry neither reads a request nor
	// responds. Zero means 5 minutes: a registry hashes and moves a large blob before
	// it responds.
	IdleTimeout time.Duration
	// Sleep waits for d, or until ctx is done. Nil means proc.Sleep.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Client sends requests to registries. It reuses connections, and is safe for
// concurrent use.
type Client struct {
	keychain  *keychain
	sent      *secrets
	transport http.RoundTripper
	policy    policy
	userAgent string
}

// New returns a Client for o.
func New(o Options) *Client {
	if o.Keychain == nil {
		o.Keychain = authn.NewMultiKeychain()
	}
	if o.Sleep == nil {
		o.Sleep = proc.Sleep
	}
	if o.Transport == nil {
		o.Transport = newTransport(o)
	}
	sent := &secrets{}
	wire := watched{o.Transport, cmp.Or(o.IdleTimeout, 5*time.Minute)}
	return &Client{
		keychain:  newKeychain(o.Keychain, o.Progress),
		sent:      sent,
		transport: guarded{wire, sent, o.PlainHTTP},
		policy:    policy{cmp.Or(o.Tries, defaultTries), cmp.Or(o.RetryWait, time.Second), o.Sleep},
		userAgent: o.UserAgent,
	}
}

// From returns rt if it is a Client, which keeps its keychain, or else a new Client
// that sends requests by rt. rt and keychain may be nil.
func From(rt http.RoundTripper, keychain authn.Keychain) *Client {
	if c, ok := rt.(*Client); ok {
		return c
	}
	return New(Options{Keychain: keychain, Transport: rt})
}

// As returns a Client with these credentials for every registry, or none for the zero
// value. It shares c's connections.
func (c *Client) As(auth authn.AuthConfig) *Client {
	as := *c
	as.keychain = newKeychain(fixed(auth), nil)
	return &as
}

// RoundTrip implements http.RoundTripper, for packages whose options are a transport and a
// keychain. It sends a request with the timeouts of c, and without credentials.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.transport.RoundTrip(req)
}

func newTransport(o Options) http.RoundTripper {
	connect := cmp.Or(o.ConnectTimeout, 10*time.Second)
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: o.InsecureSkipTLSVerify, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:   connect,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   50,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       256 << 10, // The default of 4 KiB costs many system calls.
	}
}

// A keychain resolves credentials by another one. It reports once for each registry
// where they come from, remembers that for errors, and marks the other's errors.
type keychain struct {
	inner  authn.Keychain
	report progress.Func

	mu sync.Mutex
	// reported has the reported lines, and sources the source for each target.
	reported map[string]bool
	sources  map[string]string
}

// The sources of credentials that have no name.
const (
	anonymous = "anonymous"
	unnamed   = ""
)

// maxKnown limits the memory of a keychain in a long-running process.
const maxKnown = 1000

func newKeychain(inner authn.Keychain, report progress.Func) *keychain {
	return &keychain{inner: inner, report: report, reported: map[string]bool{}, sources: map[string]string{}}
}

func (k *keychain) resolve(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	auth, err := authn.Resolve(ctx, k.inner, target)
	if err != nil {
		return nil, newKeychainError(target, err)
	}
	source, line := unnamed, target.RegistryStr()+": credentials"
	if c, ok := auth.(*credentials.Credential); ok {
		source, line = c.Source, line+" of "+c.Source
	}
	if auth == authn.Anonymous {
		source, line = anonymous, target.RegistryStr()+": no credentials"
	}
	k.mu.Lock()
	if len(k.sources) >= maxKnown {
		clear(k.sources)
		clear(k.reported)
	}
	k.sources[target.String()] = source
	reported := k.reported[line]
	k.reported[line] = true
	k.mu.Unlock()
	if !reported {
		k.report.Step(line)
	}
	return auth, nil
}

// source returns where the credentials for target came from.
func (k *keychain) source(target authn.Resource) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sources[target.String()]
}

type keychainError struct{ error }

func (e *keychainError) Unwrap() error { return e.error }

func newKeychainError(target authn.Resource, err error) error {
	return &keychainError{fmt.Errorf("reading the credentials for registry %q: %w", target.RegistryStr(), err)}
}

// Credentials returns the credentials for the registry of ref, or the zero value if
// there are none.
func (c *Client) Credentials(ctx context.Context, ref name.Reference) (authn.AuthConfig, error) {
	auth, err := c.keychain.resolve(ctx, ref.Context())
	if err != nil {
		return authn.AuthConfig{}, err
	}
	a, err := authn.Authorization(ctx, auth)
	if err != nil {
		return authn.AuthConfig{}, newKeychainError(ref.Context(), err)
	}
	return *a, nil
}

// fixed is a keychain with the same credentials for every registry.
type fixed authn.AuthConfig

// Resolve implements authn.Keychain.
func (f fixed) Resolve(authn.Resource) (authn.Authenticator, error) {
	if auth := authn.AuthConfig(f); auth != (authn.AuthConfig{}) {
		return &credentials.Credential{Authenticator: authn.FromConfig(auth), Source: "the caller"}, nil
	}
	return authn.Anonymous, nil
}
