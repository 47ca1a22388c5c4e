package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/registry"
)

// Cmd is the group.
type Cmd struct {
	Serve ServeCmd `cmd:"" help:"Serve an OCI registry on this machine."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Example:

    xfn registry serve --dir registry
`
}

// ServeCmd serves a registry.
type ServeCmd struct {
	Dir         string `placeholder:"DIR" help:"Keep what is pushed in this directory. Default: a temporary one, until the registry stops."`
	Address     string `default:"127.0.0.1:5000" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one. Default: ${default}."`
	AllowRemote bool   `help:"Listen on an address that other machines reach."`
	TLSCertsDir string `name:"tls-certs-dir" placeholder:"DIR" help:"Serve HTTPS: a folder with tls.crt and tls.key. Default: plain HTTP."`
	Htpasswd    string `placeholder:"FILE" help:"Let only those users in, by password: a file of htpasswd -B. Default: anybody."`
}

// Help is shown by --help.
func (ServeCmd) Help() string {
	return `It is for laptops, tests and CI. Its first line of output says where it listens. Beyond the loopback addresses it listens only with --allow-remote, and whoever reaches it then can push and pull: --htpasswd and --tls-certs-dir keep others out. Ctrl-C stops it; requests that run have three seconds to end.

Examples:

    xfn registry serve --dir registry &
    xfn xpkg push -f function-hello.xpkg 127.0.0.1:5000/acme/function-hello:v0.1.0

    xfn registry serve --address 0.0.0.0:5000 --allow-remote --tls-certs-dir certs --htpasswd users
`
}

// Run serves until it is interrupted. Its first line of output says where. The
// directory is opened after the address: without one there is nothing to do.
func (c *ServeCmd) Run(ctx context.Context, term *terminal.Terminal) (err error) {
	listener, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closed := listener.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}()
	guard, err := c.guard()
	if err != nil {
		return err
	}
	dir, remove, err := c.directory()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	reg, err := registry.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()
	if _, err := fmt.Fprintf(term.Stdout, "listening on %s\n", listener.Addr()); err != nil {
		return fmt.Errorf("printing the address: %w", err)
	}
	return registry.Serve(ctx, listener, guard(reg))
}

// directory returns where the registry is kept, and what removes it if it is a
// temporary one.
func (c *ServeCmd) directory() (dir string, remove func() error, err error) {
	if c.Dir != "" {
		return c.Dir, func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp("", "xfn-registry-")
	if err != nil {
		return "", nil, fmt.Errorf("making a directory for the registry: %w", fsx.Cause(err))
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// guard returns what lets only users through, if there are any.
func (c *ServeCmd) guard() (func(http.Handler) http.Handler, error) {
	if c.Htpasswd == "" {
		return func(h http.Handler) http.Handler { return h }, nil
	}
	users, err := registry.ReadUsers(c.Htpasswd)
	if err != nil {
		return nil, hint.Wrap(err, "write the file by htpasswd -c -B FILE USER")
	}
	return users.Only, nil
}

// listen listens where others may, and speaks TLS if it is asked to.
func (c *ServeCmd) listen(ctx context.Context) (net.Listener, error) {
	config, err := c.tls()
	if err != nil {
		return nil, err
	}
	listener, err := flags.Listen(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	if addr, ok := listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() && !c.AllowRemote {
		err := fmt.Errorf("listening on %q: other machines reach this address", c.Address)
		err = hint.Wrap(err, "name one of 127.0.0.1, or let others in by --allow-remote")
		return nil, errors.Join(&terminal.UsageError{Err: err}, listener.Close())
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return listener, nil
}

// tls reads the certificate, if there is to be one.
func (c *ServeCmd) tls() (*tls.Config, error) {
	if c.TLSCertsDir == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(c.TLSCertsDir, "tls.crt"), filepath.Join(c.TLSCertsDir, "tls.key"))
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("reading the certificate in %q: %w", c.TLSCertsDir, fsx.Cause(err)), "put tls.crt and tls.key there, both PEM")
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}
