package function

import (
	"context"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/builtin"
)

// ServeCmd serves a builtin.
type ServeCmd struct {
	Name string `arg:"" help:"Name of a builtin; the prefix function- is optional."`

	Address        string `default:":9443" placeholder:"HOST:PORT" help:"Address to listen on, or unix:///PATH; with port 0 the system chooses one. Default: ${default}."`
	Insecure       bool   `help:"Serve every client, in plaintext."`
	TLSCertsDir    string `name:"tls-certs-dir" env:"TLS_SERVER_CERTS_DIR" placeholder:"DIR" help:"Serve with mutual TLS: a folder with tls.crt, tls.key, and ca.crt for the clients' certificates."`
	MaxMessageSize *int   `limits:"1 2047 MiB" placeholder:"MIB" aliases:"max-recv-message-size" help:"Maximum size of a request, in MiB. Default: 64."`
	builtinFlags
	processFlags
}

// Help is shown by --help.
func (ServeCmd) Help() string {
	return `The builtin is served like a composition function in a Pod: with v1, v1beta1, the gRPC health protocol and gRPC reflection. Either --insecure or --tls-certs-dir is required; --insecure takes precedence. Ctrl-C stops the server. The settings are the flags of the real function. Its environment variables (FUNCTION_GO_TEMPLATING_…) apply, too, and flags take precedence.

Examples:

    xfn function serve auto-ready --insecure --address localhost:9443
    xfn function serve patch-and-transform --tls-certs-dir certs
    xfn function serve go-templating --insecure --default-source templates
`
}

// Run serves until it is interrupted. It prints its address as a note.
func (c *ServeCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	b, err := find(c.Name)
	if err != nil {
		return err
	}
	opts, err := c.options(b)
	if err != nil {
		return err
	}
	options := c.builtinFlags.options(term)
	options.Package = c.pkg(b)
	runner, err := c.configured(b, options)
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	listener, err := flags.ListenAt(ctx, c.Address)
	if err != nil {
		return err
	}
	term.Note(fmt.Sprintf("serving %s on %s", b.Name, flags.DialTarget(listener.Addr())))
	return grpc.Serve(ctx, listener, b.Name, runner, opts)
}

// options returns the options of the server with its certificates.
func (c *ServeCmd) options(b builtin.Builtin) (opts grpc.ServeOptions, err error) {
	size, err := c.messageSize(b)
	if err != nil {
		return opts, &terminal.UsageError{Err: err}
	}
	opts.MaxMessageSize = size << 20
	if c.Insecure {
		return opts, nil
	}
	if c.TLSCertsDir == "" {
		return opts, &terminal.UsageError{Err: errors.New("expected --tls-certs-dir DIR (or TLS_SERVER_CERTS_DIR), or --insecure")}
	}
	if opts.Certificates, err = grpc.LoadCertificates(c.TLSCertsDir); err != nil {
		return opts, err
	}
	_, err = flags.ServerCertificate(c.TLSCertsDir)
	return opts, err
}
