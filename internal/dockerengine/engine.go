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

// greetTimeout limits the first request to an engine. ssh may use 30 seconds of
// it to connect.
const greetTimeout = 40 * time.Second

// idleConnections is the number of connections that stay open for later requests.
const idleConnections = 16

// An Engine is a connection to an engine. It is safe for concurrent use.
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

// Open connects to the engine of an endpoint and negotiates the API version. It
// supports engines since 20.10. userAgent is the HTTP user agent.
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
		client.WithScheme(scheme), // otherwise the library would use TLS with this transport
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

// String describes the endpoint for users.
func (e Endpoint) String() string {
	if e.From == "" {
		return fmt.Sprintf("the container engine at %s", e.bare())
	}
	return fmt.Sprintf("the container engine at %s (%s)", e.bare(), e.From)
}

// bare returns the address without a password.
func (e Endpoint) bare() string {
	if u, err := url.Parse(e.Host); err == nil {
		return u.Redacted()
	}
	return e.Host
}

// Endpoint returns the endpoint of the engine.
func (e *Engine) Endpoint() Endpoint { return e.endpoint }

// Machine returns the name of the machine that publishes the engine's ports. It is
// "" if that is this machine, or if [Engine.Forward] must be used for its ports.
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

// Platform returns the platform of the engine's machine.
func (e *Engine) Platform(ctx context.Context) (v1.Platform, error) {
	version, err := e.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return v1.Platform{}, e.Explain(ctx, err)
	}
	return v1.Platform{OS: version.Os, Architecture: version.Arch}, nil
}

// config returns the configuration for a TLS client, or nil without TLS.
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
