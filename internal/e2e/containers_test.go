package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xfn-dev/xfn/internal/alpha"
	containergrpc "github.com/xfn-dev/xfn/internal/alpha/grpc"
)

// containers is the program "containers DIR": a runner whose images are the
// programs of a folder. It prints its address, and exits on an interrupt.
func containers() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serveContainers(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveContainers serves on an abstract socket if the system has them.
func serveContainers(ctx context.Context, dir string) error {
	network, address, prefix := "tcp", "127.0.0.1:0", "dns:///"
	if runtime.GOOS == "linux" {
		network, address, prefix = "unix", fmt.Sprintf("@xfn-containers-%d", os.Getpid()), "unix-abstract:"
	}
	lis, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	fmt.Println("listening on " + prefix + strings.TrimPrefix(lis.Addr().String(), "@"))
	return containergrpc.Serve(ctx, lis, alpha.ContainerRunnerFunc(func(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(dir, filepath.Base(req.Image)))
		cmd.Stdin = bytes.NewReader(req.Input)
		return cmd.Output()
	}))
}

// serveContainersCmd is "serve-containers VAR DIR": it starts a runner of profile alpha
// whose images are the programs of DIR, and sets VAR to its endpoint.
func serveContainersCmd(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.CommandContext(limited(ts), "containers", ts.MkAbs(args[1]))
	serveAt(ts, args[0], cmd, cmd.StdoutPipe, "listening on ")
}
