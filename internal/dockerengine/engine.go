package dockerengine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// greetTimeout is how long an engine may take to say that it is there. A machine
// that is reached by ssh has half a minute for that alone.
const greetTimeout = 40 * time.Second

// idleConnections are kept open for the next request.
const idleConnections = 16

// An Engine is a connection to an engine. It is safe for concurrent use.
type Engine struct {
	*client.Client
	endpoint Endpoint
	dialer   *dialer
}

// Connect finds the engine of an environment, and opens it.
func Connect(ctx context.Context, env Environment, userAgent string) (*Engine, error) {
	at, err := Find(env)
	if err != nil {
		return nil, err
	}
	return Open(ctx, at, env.APIVersion, userAgent)
}

// Open connects to the engine of an endpoint, and finds out which version of the
// API both speak: those of engine 20.10 and later. The user agent names this
// program to it.
func Open(ctx context.Context, at Endpoint, apiVersion, userAgent string) (*Engine, error) {
	d, err := newDialer(at)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: 30 * time.Second}
	if transport.TLSClientConfig, err = at.TLS.config(); err != nil {
		return nil, fmt.Errorf("reading the certificates for %s: %w", at, err)
	}
	scheme := "http"
	if at.TLS != nil {
		scheme = "https"
	}
	api, err := client.New(
		client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}),
		client.WithHost(d.host),
		client.WithScheme(scheme), // the library takes the transport's copy for one with TLS
		d.option(),
		client.WithUserAgent(userAgent),
		client.WithAPIVersion(apiVersion),
	)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", at, err)
	}
	e := &Engine{Client: api, endpoint: at, dialer: d}
	ctx, cancel := context.WithTimeoutCause(ctx, greetTimeout, fmt.Errorf("no answer within %s", greetTimeout))
	defer cancel()
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, e.Explain(ctx, err)
	}
	return e, nil
}

// String names the endpoint to people.
func (e Endpoint) String() string {
	if e.From == "" {
		return fmt.Sprintf("the container engine at %s", e.bare())
	}
	return fmt.Sprintf("the container engine at %s (%s)", e.bare(), e.From)
}

// bare is the address without a password.
func (e Endpoint) bare() string {
	if u, err := url.Parse(e.Host); err == nil {
		return u.Redacted()
	}
	return e.Host
}

// Endpoint returns where the engine is.
func (e *Engine) Endpoint() Endpoint { return e.endpoint }

// Machine is the name of the machine whose ports the engine publishes, if that is
// another one than this, and else "".
func (e *Engine) Machine() string {
	u, err := url.Parse(e.endpoint.Host)
	if err != nil || u.Scheme == "unix" || u.Scheme == "npipe" {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "ssh" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return ""
	}
	return u.Hostname()
}

// Platform is what the engine's machine runs programs for.
func (e *Engine) Platform(ctx context.Context) (v1.Platform, error) {
	version, err := e.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return v1.Platform{}, e.Explain(ctx, err)
	}
	return v1.Platform{OS: version.Os, Architecture: version.Arch}, nil
}

// config is that of a client, or nil for none.
func (t *TLS) config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	config := &tls.Config{InsecureSkipVerify: t.SkipVerify, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", t.CA, fsx.Cause(err))
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%q holds no certificate", t.CA)
		}
	}
	if t.Cert == "" && t.Key == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
