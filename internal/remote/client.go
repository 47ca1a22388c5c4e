package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/net/http/httpproxy"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// Options are the options of a Client. The zero value works.
type Options struct {
	// Keychain finds credentials. Nil means anonymous access.
	Keychain authn.Keychain
	// Transport sends the requests. Nil means a new http.Transport that uses ConnectTimeout,
	// InsecureSkipTLSVerify and RootCAs.
	Transport http.RoundTripper
	// Progress receives a step for each registry, which says where its credentials come from, and
	// notes about silent registries and new tries. It may be nil.
	Progress progress.Func
	// UserAgent begins the User-Agent header of requests. An example is "xfn/v0.1.0".
	UserAgent string
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// RootCAs are the trusted certificate authorities. Nil means the system's certificate
	// authorities.
	RootCAs *x509.CertPool
	// PlainHTTP uses HTTP for all registries. HTTPS is then used only if a registry redirects
	// to it. If PlainHTTP is false, HTTPS is required. Only for loopback and private
	// addresses, HTTP is tried after HTTPS fails.
	PlainHTTP bool
	// Tries is how often a request or the upload of a blob is tried in total, if the registry
	// is overloaded or the connection breaks. Zero means 3.
	Tries int
	// RetryWait is the pause before the second try. Each further pause is three times as long,
	// up to 30 seconds, with a jitter of 25%. If the registry asks for a longer pause with
	// Retry-After (RFC 9110), the client waits that long, but at most a minute. If a pause
	// does not end before the context's deadline, the request fails at once. Zero means a
	// second.
	RetryWait time.Duration
	// ConnectTimeout limits the time for the TCP connection, and separately the time for the
	// TLS handshake. Zero means 10 seconds.
	ConnectTimeout time.Duration
	// IdleTimeout is the time after which a request fails if the registry neither reads the
	// request nor responds. Zero means 5 minutes: a registry may hash and move a large blob
	// before it responds. The answer to a GET or HEAD request must begin within a minute or a fifth
	// of IdleTimeout, whichever is longer. The time for a new connection is not included.
	IdleTimeout time.Duration
	// MinRate is the minimum rate of responses in bytes per second, over 30 seconds. A
	// response without any bytes fails after IdleTimeout. Zero means 1000, and a negative
	// number no limit.
	MinRate int64
	// Getenv returns an environment variable, so that errors name the variable of a proxy in upper
	// or lower case, as it is set, and a variable of certificates that is wrong. It may be nil.
	Getenv func(string) string
	// Sleep waits for d, or until ctx is done. Nil means proc.Sleep. Tests replace it.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Client sends requests to registries. It reuses connections, and is safe for
// concurrent use.
type Client struct {
	keychain  *keychain
	sent      *secrets
	transport http.RoundTripper
	policy    policy
	plain     bool
	env       variables
	// patient means that Options.IdleTimeout was set.
	patient   bool
	userAgent string
}

// New returns a Client with these options.
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
	// A connection through a proxy needs TCP and two TLS handshakes.
	connect := 3 * o.connectTimeout()
	wire := watched{o.Transport, cmp.Or(o.IdleTimeout, 5*time.Minute), cmp.Or(o.MinRate, 1000), connect, o.Progress, &sync.Map{}, sent}
	return &Client{
		keychain:  newKeychain(o.Keychain, o.Progress),
		sent:      sent,
		transport: guarded{wire, sent, o.PlainHTTP},
		policy:    policy{tries: cmp.Or(o.Tries, defaultTries), wait: cmp.Or(o.RetryWait, time.Second), sleep: o.Sleep},
		plain:     o.PlainHTTP,
		env:       o.Getenv,
		patient:   o.IdleTimeout != 0,
		userAgent: o.UserAgent,
	}
}

// From returns rt unchanged if it is a *Client, and ignores keychain. Otherwise it returns
// a new Client that sends requests with rt and gets credentials from keychain. Both rt and
// keychain may be nil.
func From(rt http.RoundTripper, keychain authn.Keychain) *Client {
	if c, ok := rt.(*Client); ok {
		return c
	}
	return New(Options{Keychain: keychain, Transport: rt})
}

// As returns a Client that uses the credentials auth for every registry, or no credentials
// if auth is the zero value. The new Client shares the connections of c.
func (c *Client) As(auth authn.AuthConfig) *Client {
	as := *c
	as.keychain = newKeychain(fixed(auth), nil)
	return &as
}

// RoundTrip implements http.RoundTripper, for libraries that accept a transport. It applies
// the timeouts of c, but adds no credentials.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.transport.RoundTrip(req)
}

func (o Options) connectTimeout() time.Duration { return cmp.Or(o.ConnectTimeout, 10*time.Second) }

func newTransport(o Options) http.RoundTripper {
	connect := o.connectTimeout()
	return &http.Transport{
		Proxy:                 variables(o.Getenv).proxy,
		DialContext:           (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: o.InsecureSkipTLSVerify, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:   connect,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   50,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       256 << 10, // The default of 4 KiB needs many system calls.
	}
}

// variables returns environment variables. It may be nil.
type variables func(string) string

// certificates returns the environment variable that should replace the system's certificates, but
// names a path that cannot be read, and the reason. It returns "" if there is no such variable. Package
// crypto/x509 ignores such a path.
func (v variables) certificates() (variable, problem string) {
	for _, variable := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v == nil {
			break
		}
		for _, path := range filepath.SplitList(v(variable)) {
			if _, err := os.Stat(path); err != nil {
				return variable, fmt.Sprintf("%s names %q: %v", variable, path, fsx.Cause(err))
			}
		}
	}
	return "", ""
}

// name returns variable, or its lower case form if only that is set.
func (v variables) name(variable string) string {
	if lower := strings.ToLower(variable); v != nil && v(variable) == "" && v(lower) != "" {
		return lower
	}
	return variable
}

// proxy returns the proxy for a request, as http.ProxyFromEnvironment does. It returns an error
// for a malformed variable, which ProxyFromEnvironment ignores.
func (v variables) proxy(req *http.Request) (*url.URL, error) {
	env := httpproxy.FromEnvironment()
	variable, value := v.name("HTTPS_PROXY"), env.HTTPSProxy
	if req.URL.Scheme == "http" {
		variable, value = v.name("HTTP_PROXY"), env.HTTPProxy
	}
	proxy, err := http.ProxyFromEnvironment(req)
	// ProxyFromEnvironment puts "http://" before a value that it cannot read, also before "http:/host".
	malformed := proxy != nil && strings.HasSuffix(proxy.Host, ":")
	if proxy != nil && !malformed || err != nil {
		return proxy, err
	}
	env.HTTPSProxy, env.HTTPProxy = "proxy", "proxy"
	if used, _ := env.ProxyFunc()(req.URL); used == nil || value == "" {
		return nil, nil // NO_PROXY has the host, or there is no proxy.
	}
	value = value[strings.LastIndex(value, "@")+1:] // without credentials
	err = fmt.Errorf("the proxy for registry %q cannot be used: %s is %q, expected http://HOST:PORT", req.URL.Host, variable, value)
	return nil, &targetError{hint.Wrap(err, "correct or unset "+variable)}
}

// A keychain gets credentials from the keychain inner. It reports and remembers, for each
// registry, where the credentials came from. It wraps errors of inner in keychainError.
type keychain struct {
	inner  authn.Keychain
	report progress.Func

	mu sync.Mutex
	// reported contains the progress messages that were sent. origins maps the String of each
	// target to its credentials.
	reported map[string]bool
	origins  map[string]credentials.Credential
}

// anonymous is the source if there are no credentials. unnamed is the source of an
// authenticator that is not a *credentials.Credential.
const (
	anonymous = "anonymous"
	unnamed   = ""
)

// maxKnown limits the number of origins that a keychain remembers in a long-running process.
const maxKnown = 1000

func newKeychain(inner authn.Keychain, report progress.Func) *keychain {
	return &keychain{inner: inner, report: report, reported: map[string]bool{}, origins: map[string]credentials.Credential{}}
}

func (k *keychain) resolve(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	auth, err := authn.Resolve(ctx, k.inner, target)
	if err != nil {
		return nil, newKeychainError(target, err)
	}
	from, line := credentials.Credential{Source: unnamed}, target.RegistryStr()+": credentials"
	if c, ok := auth.(*credentials.Credential); ok {
		from, line = *c, line+" of "+c.Source
	}
	if auth == authn.Anonymous {
		from.Source, line = anonymous, target.RegistryStr()+": no credentials"
	}
	k.mu.Lock()
	if len(k.origins) >= maxKnown {
		clear(k.origins)
		clear(k.reported)
	}
	k.origins[target.String()] = from
	reported := k.reported[line]
	k.reported[line] = true
	k.mu.Unlock()
	if !reported {
		k.report.Step(line)
	}
	return auth, nil
}

// origin returns the credentials that were sent to target, or the zero value if they are not known.
func (k *keychain) origin(target authn.Resource) credentials.Credential {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.origins[target.String()]
}

type keychainError struct{ error }

func (e *keychainError) Unwrap() error { return e.error }

func newKeychainError(target authn.Resource, err error) error {
	return &keychainError{fmt.Errorf("reading the credentials for registry %q: %w", target.RegistryStr(), err)}
}

// Credentials returns the credentials for the registry of ref, or the zero value if there
// are none.
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

func (f fixed) Resolve(authn.Resource) (authn.Authenticator, error) {
	if auth := authn.AuthConfig(f); auth != (authn.AuthConfig{}) {
		return &credentials.Credential{Authenticator: authn.FromConfig(auth), Source: "the caller"}, nil
	}
	return authn.Anonymous, nil
}
