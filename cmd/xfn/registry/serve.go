package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
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
	Dir     string `placeholder:"DIR" help:"Keep what is pushed in this directory. Default: a temporary one, until the registry stops."`
	Address string `default:"127.0.0.1:5000" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one. Default: ${default}."`
}

// Help is shown by --help.
func (ServeCmd) Help() string {
	return `It speaks plain HTTP and asks nobody for a password: leave it on the loopback address. Ctrl-C stops it.

Example:

    xfn registry serve --dir registry &
    xfn xpkg push -f function-hello.xpkg 127.0.0.1:5000/acme/function-hello:v0.1.0
`
}

// Run serves until it is interrupted. Its first line of output says where. The
// directory is opened after the address: without one there is nothing to do.
func (c *ServeCmd) Run(ctx context.Context, term *terminal.Terminal) (err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return hint.Wrap(fmt.Errorf("listening on %q: %w", c.Address, err), "choose another address by --address HOST:PORT")
	}
	defer func() {
		if closed := listener.Close(); !errors.Is(closed, net.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}()
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "xfn-registry-"); err != nil {
			return fmt.Errorf("making a directory for the registry: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	handler, err := registry.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handler.Close()) }()
	if _, err := fmt.Fprintf(term.Stdout, "listening on %s\n", listener.Addr()); err != nil {
		return fmt.Errorf("printing the address: %w", err)
	}
	return registry.Serve(ctx, listener, handler)
}
