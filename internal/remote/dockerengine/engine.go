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

// greetTimeout limits the first request to an engine, including up to 30 seconds in which
// ssh connects.
const greetTimeout = 40 * time.Second

// idleConnections is the number of idle connections to an engine that stay open for later
// requests.
const idleConnections = 16

// An Engine is a connection to a container engine. It is safe for concurrent use.
type Engine struct {
	*client.Client
	endpoint Endpoint
	dialer   *dialer
}

// Connect finds the engine of an environment and connects to it.
func Connect(ctx context.Context, env Environment, userAgent string) (*Engine, error) {
	at, err := Find(env)
	if err != nil {
		return nil, err
	}
	return Open(ctx, at, env.APIVersion, userAgent)
}

// Open connects to the engine of an endpoint and negotiates the API version. It supports
// Docker Engine 20.10 and later. userAgent is the HTTP user agent of all requests.
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
		client.WithScheme(scheme), // without WithScheme, the library would use https with this transport
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

// String describes the endpoint for users: its address and, if known, where the address
// is set.
func (e Endpoint) String() string {
	if e.From == "" {
		return fmt.Sprintf("the container engine at %s", e.bare())
	}
	return fmt.Sprintf("the container engine at %s (%s)", e.bare(), e.From)
}

// bare returns the address of the engine without a password.
func (e Endpoint) bare() string {
	if u, err := url.Parse(e.Host); err == nil {
		return u.Redacted()
	}
	return e.Host
}

// Endpoint returns the endpoint of the engine.
func (e *Engine) Endpoint() Endpoint { return e.endpoint }

// Machine returns the host name of the machine on which the engine publishes ports. It
// returns "" if that is this machine, or if its ports need [Engine.Forward].
func (e *Engine) Machine() string {
	u, err := url.Parse(e.endpoint.Host)
	if err != nil || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback() {
		return ""
	}
	switch u.Scheme {
	case "unix", "npipe", "ssh":
		return ""
	}
	return u.Hostname()
}

// Platform returns the OS and the architecture of the engine's machine.
func (e *Engine) Platform(ctx context.Context) (v1.Platform, error) {
	version, err := e.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return v1.Platform{}, e.Explain(ctx, err)
	}
	return v1.Platform{OS: version.Os, Architecture: version.Arch}, nil
}

// config returns the configuration of a TLS client, or nil if t is nil.
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
			return nil, fmt.Errorf("%q contains no certificate", t.CA)
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
