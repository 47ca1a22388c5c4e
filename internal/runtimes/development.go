package runtimes

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/hint"
)

const (
	// TargetAnnotation is the annotation with the gRPC target where a function listens:
	// "host:port", "unix:///path" or "dns:///host:port". With "dns:" calls alternate
	// between all addresses of the host.
	TargetAnnotation = "render.crossplane.io/runtime-development-target"
	// CertificatesAnnotation is the annotation with a folder that contains ca.crt, which
	// verifies the function's certificate. For mutual TLS the folder also contains
	// tls.crt and tls.key. Without the annotation the connection is in plaintext.
	CertificatesAnnotation = "render.crossplane.io/runtime-development-tls-certs-dir"
	// ServerNameAnnotation is the annotation with the host name in the function's
	// certificate. The default is the host of the target.
	ServerNameAnnotation = "render.crossplane.io/runtime-development-tls-server-name"
	// DefaultTarget is the target of a function without TargetAnnotation.
	DefaultTarget = "localhost:9443"
)

const defaultConnectTimeout = 10 * time.Second

// Development connects to functions that are already running. The zero value is
// ready to use.
type Development struct {
	// ConnectTimeout bounds the wait for a function that neither accepts nor
	// refuses the connection. Zero means ten seconds.
	ConnectTimeout time.Duration
	// MaxMessageSize is the largest answer in bytes. Zero means
	// grpc.DefaultMaxMessageSize.
	MaxMessageSize int
}

var _ Runtime = Development{}

// Annotations returns the annotations of a Function that configure the connection to it.
func (Development) Annotations() []string {
	return []string{TargetAnnotation, CertificatesAnnotation, ServerNameAnnotation}
}

// Start connects to the function at its TargetAnnotation. It fails immediately if no
// server listens there. The Stop function of the Instance closes the connection; the
// function keeps running.
func (d Development) Start(ctx context.Context, fn Function) (*Instance, error) {
	target := cmp.Or(fn.Annotations[TargetAnnotation], DefaultTarget)
	client, err := d.dial(target, fn.Annotations)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	if err := d.connect(ctx, client); err != nil {
		_ = client.Close()
		return nil, explainConnect(ctx, fn.Name, err)
	}
	return &Instance{
		Runner: client,
		Detail: "already running at " + target,
		Stop:   func(context.Context) error { return client.Close() },
	}, nil
}

func (d Development) dial(target string, annotations map[string]string) (_ *grpc.Client, err error) {
	opts := grpc.Options{MaxMessageSize: d.MaxMessageSize, ServerName: annotations[ServerNameAnnotation], RoundRobin: strings.HasPrefix(target, "dns:")}
	if dir := annotations[CertificatesAnnotation]; dir != "" {
		if opts.Certificates, err = grpc.LoadClientCertificates(dir); err != nil {
			return nil, err
		}
	}
	return grpc.Dial(target, opts)
}

func (d Development) connect(ctx context.Context, client *grpc.Client) error {
	timeout := cmp.Or(d.ConnectTimeout, defaultConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no connection within %s", timeout))
	defer cancel()
	return client.Connect(ctx)
}

func explainConnect(ctx context.Context, name string, err error) error {
	err = fmt.Errorf("starting function %q: %w", name, err)
	if ctx.Err() != nil {
		return err
	}
	return hint.Wrap(err, "start the function first, without TLS unless the annotation "+CertificatesAnnotation+" is set, or set the address of the function with the annotation "+TargetAnnotation)
}
