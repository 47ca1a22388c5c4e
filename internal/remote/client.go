package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
)

// Options say how registries are reached. The zero value works.
type Options struct {
	// Keychain knows the credentials. Nil means those of the Docker
	// configuration with its credential helpers, and where there is none,
	// podman's (authn.DefaultKeychain).
	Keychain authn.Keychain
	// UserAgent names this program to the registry: "xfn/v0.1.0".
	UserAgent string
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// RetryWait is the pause before the second try of a request; the pause
	// before the third is three times as long. Zero means a second.
	RetryWait time.Duration
}

// A Client reaches registries. It keeps connections open from one call to the
// next, and is safe for concurrent use.
type Client struct {
	keychain  keychain
	transport http.RoundTripper
	userAgent string
}

// New returns a Client for o.
func New(o Options) *Client {
	if o.Keychain == nil {
		o.Keychain = authn.DefaultKeychain
	}
	if o.RetryWait == 0 {
		o.RetryWait = time.Second
	}
	return &Client{
		keychain:  keychain{o.Keychain},
		transport: retrier{inner: bounded{newTransport(o)}, wait: o.RetryWait},
		userAgent: o.UserAgent,
	}
}

// Options returns c as go-containerregistry takes it. The context holds for
// everything that is done with them, reading the layers of a remote image
// included.
func (c *Client) Options(ctx context.Context) []ggcr.Option {
	return []ggcr.Option{
		ggcr.WithContext(ctx),
		ggcr.WithAuthFromKeychain(c.keychain),
		ggcr.WithTransport(c.transport),
		ggcr.WithUserAgent(c.userAgent),
		ggcr.WithRetryStatusCodes(),
		ggcr.WithRetryBackoff(uploadBackoff),
		ggcr.WithRetryPredicate(func(err error) bool {
			return ctx.Err() == nil && restartUpload(err)
		}),
	}
}

// As returns a Client that has these credentials for any registry, and no
// others; none at all are those of nobody. It shares c's connections.
func (c *Client) As(auth authn.AuthConfig) *Client {
	as := *c
	as.keychain = keychain{fixed(auth)}
	return &as
}

// fixed is a keychain of one key, which fits everywhere.
type fixed authn.AuthConfig

// Resolve implements authn.Keychain.
func (f fixed) Resolve(authn.Resource) (authn.Authenticator, error) {
	if auth := authn.AuthConfig(f); auth != (authn.AuthConfig{}) {
		return authn.FromConfig(auth), nil
	}
	return authn.Anonymous, nil
}

func newTransport(o Options) http.RoundTripper {
	base, ok := ggcr.DefaultTransport.(*http.Transport)
	if !ok {
		return ggcr.DefaultTransport
	}
	t := base.Clone()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: o.InsecureSkipTLSVerify}
	return t
}

// maxManifest is the size that the OCI distribution spec ("Pushing Manifests")
// asks registries to take at least, and few take more.
const maxManifest = 4 << 20

var errManifestSize = errors.New("the manifest is too large")

// bounded limits what is read of a manifest: once parsed, it takes many times
// its size, and go-containerregistry parses 100 MiB.
type bounded struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.inner.RoundTrip(req)
	if err == nil && req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/manifests/") {
		resp.Body = &boundedBody{resp.Body, maxManifest}
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

// keychain marks the errors of the keychain that it wraps.
type keychain struct{ authn.Keychain }

// Resolve implements authn.Keychain.
func (k keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	auth, err := k.Keychain.Resolve(target)
	if err != nil {
		return nil, &keychainError{fmt.Errorf("reading the credentials for registry %q: %w", target.RegistryStr(), err)}
	}
	return auth, nil
}

type keychainError struct{ error }

func (e *keychainError) Unwrap() error { return e.error }
