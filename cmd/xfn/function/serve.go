package function

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/ioerror"
)

// ServeCmd serves a builtin.
type ServeCmd struct {
	Name string `arg:"" help:"Name of a builtin; function- may be left out."`

	Address     string `default:":9443" placeholder:"HOST:PORT" help:"Address to listen on, or unix:///PATH; port 0 takes a free one. Default: ${default}."`
	Insecure    bool   `help:"Serve anybody, in plaintext."`
	TLSCertsDir string `name:"tls-certs-dir" env:"TLS_SERVER_CERTS_DIR" placeholder:"DIR" help:"Serve by mutual TLS: a folder with tls.crt, tls.key, and ca.crt for the clients' certificates."`
	builtinFlags
}

// Help is shown by --help.
func (ServeCmd) Help() string {
	return `It is a composition function like one in a Pod: it answers v1 and v1beta1, and the gRPC health protocol. Either --insecure or --tls-certs-dir is needed; --insecure beats the other. Ctrl-C stops it.

Examples:

    xfn function serve auto-ready --insecure --address localhost:9443
    xfn function serve patch-and-transform --tls-certs-dir certs
`
}

// Run serves until it is interrupted. A note says where.
func (c *ServeCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	b, err := find(c.Name)
	if err != nil {
		return err
	}
	opts, err := c.options()
	if err != nil {
		return err
	}
	listener, err := listen(ctx, c.Address)
	if err != nil {
		return hint.Wrap(fmt.Errorf("listening on %q: %w", c.Address, err), "choose another address by --address HOST:PORT")
	}
	term.Note(fmt.Sprintf("serving %s on %s", b.Name, target(listener.Addr())))
	return grpc.Serve(ctx, listener, b.Name, c.runner(b, term), opts)
}

// options reads the certificates.
func (c *ServeCmd) options() (grpc.ServeOptions, error) {
	if c.Insecure {
		return grpc.ServeOptions{}, nil
	}
	if c.TLSCertsDir == "" {
		return grpc.ServeOptions{}, &terminal.UsageError{Err: errors.New("expected --tls-certs-dir DIR (or TLS_SERVER_CERTS_DIR), or --insecure")}
	}
	certificates, err := grpc.LoadCertificates(c.TLSCertsDir)
	return grpc.ServeOptions{Certificates: certificates}, err
}

const unixScheme = "unix://"

// listen takes what target gives. Its errors do not name the address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", strings.TrimPrefix(path, "//")
	}
	if address == "" {
		return nil, errors.New("it is empty")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if errors.Is(err, syscall.EADDRINUSE) && network == "unix" && isDead(ctx, address) {
		// Somebody was killed before removing it.
		if err := os.Remove(address); err != nil {
			return nil, ioerror.Cause(err)
		}
		listener, err = (&net.ListenConfig{}).Listen(ctx, network, address)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return listener, err
}

// isDead reports whether path is a socket that nobody listens on.
func isDead(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// target returns an address as `xfn function call` takes it.
func target(addr net.Addr) string {
	if addr.Network() == "unix" {
		return unixScheme + addr.String()
	}
	return addr.String()
}
