package cache

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/registry"
)

// RegistryCmd is the command group xfn registry.
type RegistryCmd struct {
	Serve RegistryServeCmd `cmd:"" help:"Serve an OCI registry on this machine."`
}

// Help is shown by --help.
func (RegistryCmd) Help() string {
	return `Example:

    xfn registry serve --dir registry
`
}

// RegistryServeCmd serves a registry.
type RegistryServeCmd struct {
	Dir         string `placeholder:"DIR" help:"Directory to store pushed images in. Default: a temporary one, until the registry stops."`
	Address     string `default:"127.0.0.1:5000" placeholder:"HOST:PORT" meant:"port,addr,listen,host" help:"Address to listen on; port 0 selects a free port. Default: ${default}."`
	AllowRemote bool   `help:"Allow an address that other machines can reach."`
	TLSCertsDir string `name:"tls-certs-dir" placeholder:"DIR" help:"Serve HTTPS: a folder with tls.crt and tls.key. Default: plain HTTP."`
	Htpasswd    string `placeholder:"FILE" help:"Require HTTP basic authentication with the users in this file of htpasswd -B. Default: no authentication."`
}

// Help is shown by --help.
func (RegistryServeCmd) Help() string {
	return `The registry is for laptops, tests and CI. Its first line of output names its address. Addresses other than loopback addresses require --allow-remote. Any client that reaches the registry can then push and pull: --htpasswd requires a password, and --tls-certs-dir encrypts it. Ctrl-C stops it; running requests have three seconds to end.

Examples:

    xfn registry serve --dir registry &
    xfn xpkg push -f hello.xpkg 127.0.0.1:5000/acme/function-hello:v0.1.0

    xfn registry serve --address 0.0.0.0:5000 --allow-remote \
        --tls-certs-dir certs --htpasswd users
`
}

// Run serves until it is interrupted, and prints the address first. It opens the
// directory only after it listens, so that an invalid address leaves no directory.
func (c *RegistryServeCmd) Run(ctx context.Context, term *terminal.Terminal) (err error) {
	if err := flags.CheckDir("dir", c.Dir); err != nil {
		return err
	}
	listener, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // The server may have closed it.
	var users *registry.Users
	if c.Htpasswd != "" {
		if users, err = registry.ReadUsers(c.Htpasswd); err != nil {
			return hint.Wrap(err, "write the file with htpasswd -c -B FILE USER")
		}
	}
	dir := c.Dir
	if dir == "" {
		temporary, path, tempErr := fsx.MakeTempDirIn(os.TempDir())
		if tempErr != nil {
			tempErr = fmt.Errorf("making a temporary directory in %q: %w", os.TempDir(), fsx.Cause(tempErr))
			return hint.Wrap(tempErr, "set TMPDIR to a directory in which you can write, or name the directory of the registry with --dir")
		}
		defer func() { err = errors.Join(err, temporary.Close()) }()
		dir = path
	}
	reg, err := registry.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()
	if err := term.Printf("listening on %s\n", listener.Addr()); err != nil {
		return err
	}
	handler := http.Handler(reg)
	if users != nil {
		handler = users.Only(reg)
	}
	return registry.Serve(ctx, listener, handler)
}

// listen returns the listener, with TLS if there is a certificate.
func (c *RegistryServeCmd) listen(ctx context.Context) (net.Listener, error) {
	var cert tls.Certificate
	if dir := c.TLSCertsDir; dir != "" {
		var err error
		if cert, err = flags.ServerCertificate(dir); err != nil {
			return nil, err
		}
	}
	listener, err := flags.Listen(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	if addr, ok := listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() && !c.AllowRemote {
		err := fmt.Errorf("listening on %q: other machines can reach this address", c.Address)
		err = hint.Wrap(err, "use an address of 127.0.0.1, or allow other machines with --allow-remote")
		return nil, errors.Join(&terminal.UsageError{Err: err}, listener.Close())
	}
	if c.TLSCertsDir != "" {
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	}
	return listener, nil
}
