package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
)

// Options are the options of a Client. The zero value works.
type Options struct {
	// Keychain finds credentials, such as that of package credentials. Nil means
	// anonymous access.
	Keychain authn.Keychain
	// Transport sends the requests. The settings of TLS and ConnectTimeout have
	// no effect on it. Nil means a transport with these settings.
	Transport http.RoundTripper
	// Progress receives a step for each registry with the source of its
	// credentials. It may be nil.
	Progress progress.Func
	// UserAgent names this program to the registry: "xfn/v0.1.0".
	UserAgent string
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// RootCAs verify the certificates of registries. Nil means those of the
	// machine.
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

// RoundTrip implements http.RoundTripper. It sends a request with the timeouts of c,
// and without credentials. Packages whose options are a transport and a keychain get a
// Client as the transport.
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
