package alpha

import (
	"context"
	"fmt"
	"net"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/alpha/grpc"
)

// StartCmd serves the runner.
type StartCmd struct {
	Network     string `enum:"unix,tcp,tcp4,tcp6" default:"unix" placeholder:"NETWORK" help:"What the address is of: ${enum}. Default: ${default}."`
	Address     string `default:"@crossplane/fn/default.sock" help:"Address to listen on. A socket that begins with @ is in no folder. Default: ${default}."`
	Concurrency int    `default:"16" placeholder:"N" help:"How many containers run at once; more calls wait. Default: ${default}."`
	containerFlags
}

// Help is shown by --help.
func (StartCmd) Help() string {
	return `It answers apiextensions.fn.proto.v1alpha1.ContainerizedFunctionRunnerService in plaintext, for anybody who can connect: leave it on a socket of this machine. By default every user of this machine's network can. Images are fetched with a request's credentials, or else with yours. Ctrl-C stops it.

Examples:

    xfn alpha start
    xfn alpha start --address=/run/xfn/runner.sock
`
}

// Run serves until it is interrupted. A note says where.
func (c *StartCmd) Run(ctx context.Context, group *Cmd, term *terminal.Terminal, program terminal.Program) error {
	if c.Concurrency <= 0 {
		return &terminal.UsageError{Err: fmt.Errorf("reading --concurrency: %d is no number of containers to run", c.Concurrency)}
	}
	containers, err := group.containers(c.containerFlags, term, program)
	if err != nil {
		return err
	}
	listener, err := flags.Listen(ctx, c.Network, c.Address)
	if err != nil {
		return err
	}
	if addr, ok := listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() {
		term.Warn(fmt.Sprintf("whoever reaches %s can run containers on this machine, with the credentials of this user", addr))
	}
	term.Note("serving containers on " + flags.DialTarget(listener.Addr()))
	return grpc.Serve(ctx, listener, alpha.LimitContainers(containers, c.Concurrency))
}
