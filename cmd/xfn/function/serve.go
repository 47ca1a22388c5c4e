package function

import (
	"context"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function/grpc"
)

// ServeCmd serves a builtin.
type ServeCmd struct {
	Name string `arg:"" help:"Name of a builtin; the prefix function- is optional."`

	Address        string `default:":9443" placeholder:"HOST:PORT" help:"Address to listen on, or unix:///PATH; with port 0 the system chooses one. Default: ${default}."`
	Insecure       bool   `help:"Serve every client, in plaintext."`
	TLSCertsDir    string `name:"tls-certs-dir" env:"TLS_SERVER_CERTS_DIR" placeholder:"DIR" help:"Serve with mutual TLS: a folder with tls.crt, tls.key, and ca.crt for the clients' certificates."`
	MaxMessageSize int    `default:"64" placeholder:"MIB" aliases:"max-recv-message-size" help:"Maximum size of a request, in MiB."`
	builtinFlags
}

// Help is shown by --help.
func (ServeCmd) Help() string {
	return `The builtin is served like a composition function in a Pod: with v1, v1beta1, the gRPC health protocol and gRPC reflection. Either --insecure or --tls-certs-dir is required; --insecure takes precedence. Ctrl-C stops the server.

Examples:

    xfn function serve auto-ready --insecure --address localhost:9443
    xfn function serve patch-and-transform --tls-certs-dir certs
`
}

// Run serves until it is interrupted. It prints its address as a note.
func (c *ServeCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	b, err := find(c.Name)
	if err != nil {
		return err
	}
	opts, err := c.options()
	if err != nil {
		return err
	}
	listener, err := flags.ListenAt(ctx, c.Address)
	if err != nil {
		return err
	}
	term.Note(fmt.Sprintf("serving %s on %s", b.Name, flags.DialTarget(listener.Addr())))
	return grpc.Serve(ctx, listener, b.Name, c.runner(b, term), opts)
}

// Validate checks the flags. Kong calls it.
func (c *ServeCmd) Validate() error { return terminal.CheckMessageSize(c.MaxMessageSize) }

// options loads the certificates.
func (c *ServeCmd) options() (opts grpc.ServeOptions, err error) {
	opts.MaxMessageSize = c.MaxMessageSize << 20
	if c.Insecure {
		return opts, nil
	}
	if c.TLSCertsDir == "" {
		return opts, &terminal.UsageError{Err: errors.New("expected --tls-certs-dir DIR (or TLS_SERVER_CERTS_DIR), or --insecure")}
	}
	opts.Certificates, err = grpc.LoadCertificates(c.TLSCertsDir)
	return opts, err
}
