package function

import (
	"context"
	"fmt"
	"net"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/alpha/grpc"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// AlphaStartCmd is xfn alpha start, which serves the function runner that Crossplane
// v1.11 to v1.13 call.
type AlphaStartCmd struct {
	Network     string `enum:"unix,tcp,tcp4,tcp6" default:"unix" placeholder:"NETWORK" help:"Network of the address: ${enum}. Default: ${default}."`
	Address     string `default:"@crossplane/fn/default.sock" help:"Address to listen on. A socket that begins with @ is an abstract socket. Default: ${default}."`
	Concurrency int    `positive:"" default:"16" placeholder:"N" help:"Maximum number of concurrent containers; further calls wait. Default: ${default}."`
	containerFlags
}

// Help is shown by --help.
func (AlphaStartCmd) Help() string {
	return `The server implements apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService in plaintext and without authentication: use a socket of this machine. By default, every user in this machine's network namespace can connect. Images are pulled with the credentials of a request, or else with yours. Ctrl-C stops the server.

Examples:

    xfn alpha start
    xfn alpha start --address=/run/xfn/runner.sock
`
}

// Run serves until it is interrupted. It prints its address as a note.
func (c *AlphaStartCmd) Run(ctx context.Context, term *terminal.Terminal, containers sandbox.Containers) error {
	listener, err := flags.Listen(ctx, c.Network, c.Address)
	if err != nil {
		return err
	}
	if addr, ok := listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() {
		term.Warn(fmt.Sprintf("every client that reaches %s can run containers on this machine, with the credentials of this user", addr))
	}
	term.Note("serving containers on " + flags.DialTarget(listener.Addr()))
	return grpc.Serve(ctx, listener, alpha.LimitContainers(containers, c.Concurrency))
}
