package flags

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

// ListenAt listens on HOST:PORT, unix:PATH or unix:///PATH, like On.
func ListenAt(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return on(ctx, "unix", strings.TrimPrefix(path, "//"), address)
	}
	return on(ctx, "tcp", address, address)
}

// Listen listens on an address of a network as package net knows them; on Linux, a
// unix socket whose name begins with @ is one that is in no folder. A socket that
// nobody listens on any more, as its server was killed, is replaced. Closing the
// listener removes it. Errors name the address and have a hint.
func Listen(ctx context.Context, network, address string) (net.Listener, error) {
	return on(ctx, network, address, address)
}

func on(ctx context.Context, network, address, named string) (net.Listener, error) {
	listener, err := try(ctx, network, address)
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("listening on %q: %w", named, err), "choose another address by --address")
	}
	return listener, nil
}

func try(ctx context.Context, network, address string) (net.Listener, error) {
	if address == "" {
		return nil, errors.New("it is empty")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if errors.Is(err, syscall.EADDRINUSE) && network == "unix" && isDead(ctx, address) {
		// Somebody was killed before removing it.
		if err := os.Remove(address); err != nil {
			return nil, fsx.Cause(err)
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

// DialTarget returns an address as gRPC's clients take it: HOST:PORT, unix:///PATH,
// unix:PATH if that is relative, or unix-abstract:NAME.
func DialTarget(addr net.Addr) string {
	if addr.Network() != "unix" {
		return addr.String()
	}
	name, abstract := strings.CutPrefix(addr.String(), "@")
	switch {
	case abstract:
		return "unix-abstract:" + name
	case filepath.IsAbs(name):
		return "unix://" + name
	default:
		return "unix:" + name
	}
}
