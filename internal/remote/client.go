package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// Options say how registries are reached. The zero value works.
type Options struct {
	// Keychain knows the credentials: that of package credentials, for one. Nil
	// has none.
	Keychain authn.Keychain
	// Transport sends the requests. The settings of TLS and ConnectTimeout have
	// no effect on it. Nil means a transport with these settings.
	Transport http.RoundTripper
	// Progress receives a step for each registry that tells where its credentials
	// come from. It may be nil.
	Progress progress.Func
	// UserAgent names this program to the registry: "xfn/v0.1.0".
	UserAgent string
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// RootCAs are who may sign certificates. Nil means those that this machine
	// trusts.
	RootCAs *x509.CertPool
	// PlainHTTP speaks HTTP with all registries, and TLS only where one of them
	// points to. Without it loopback and private addresses are tried by HTTPS
	// first, then by HTTP, and all others by HTTPS alone.
	PlainHTTP bool
	// Tries is how often a request, or the upload of a blob, is tried when the
	// registry is busy or the connection breaks. Zero means 3.
	Tries int
	// RetryWait is the pause before the second try; each further one is three
	// times as long, up to half a minute, all of them up to a quarter more or
	// less. A registry may ask for up to a minute (RFC 9110, "Retry-After").
	// Zero means a second.
	RetryWait time.Duration
	// ConnectTimeout is how long a connection may take to be made, and again
	// to agree on TLS. Zero means 10 seconds.
	ConnectTimeout time.Duration
	// IdleTimeout is how long a registry may take none of what is sent to it,
	// or let wait for its answer. Zero means 5 minutes: large blobs are hashed
	// and moved before they are acknowledged.
	IdleTimeout time.Duration
	// Sleep takes the time of pauses, or less if ctx ends. Nil means that of the
	// clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Client reaches registries. It keeps connections open from one call to the
// next, and is safe for concurrent use.
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
		o.Sleep = sleep
	}
	p := policy{
		tries: cmp.Or(o.Tries, defaultTries),
		wait:  cmp.Or(o.RetryWait, time.Second),
		sleep: o.Sleep,
	}
	sent := &secrets{}
	wire := steady{noted{bounded{watched{newTransport(o), cmp.Or(o.IdleTimeout, 5*time.Minute)}}, sent}}
	return &Client{
		keychain:  newKeychain(o.Keychain, o.Progress),
		sent:      sent,
		transport: guarded{wire, o.PlainHTTP},
		policy:    p,
		userAgent: o.UserAgent,
	}
}

// As returns a Client that has these credentials for any registry, and no
// others; none at all are those of nobody. It shares c's connections.
func (c *Client) As(auth authn.AuthConfig) *Client {
	as := *c
	as.keychain = newKeychain(fixed(auth), nil)
	return &as
}

func newTransport(o Options) http.RoundTripper {
	if o.Transport != nil {
		return o.Transport
	}
	base, ok := ggcr.DefaultTransport.(*http.Transport)
	if !ok {
		return ggcr.DefaultTransport
	}
	t := base.Clone()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: o.InsecureSkipTLSVerify, RootCAs: o.RootCAs}
	connect := cmp.Or(o.ConnectTimeout, 10*time.Second)
	t.DialContext = (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = connect
	t.WriteBufferSize = writeBuffer
	return t
}

// writeBuffer is how much of a blob is written at a time. Go's own 4 KiB make
// more system calls than work.
const writeBuffer = 256 << 10

var errManifestSize = errors.New("the manifest is too large")

// bounded limits what is read of a manifest: once parsed, it takes many times
// its size, and go-containerregistry parses 100 MiB.
type bounded struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.inner.RoundTrip(req)
	if err == nil && req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/manifests/") {
		resp.Body = &boundedBody{resp.Body, oci.MaxManifest}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errManifestSize
	}
	return n, err
}
