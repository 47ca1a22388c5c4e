package flags

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// ListenAt listens on HOST:PORT, unix:PATH or unix:///PATH, like Listen.
func ListenAt(ctx context.Context, address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listen(ctx, "unix", strings.TrimPrefix(path, "//"), address)
	}
	return listen(ctx, "tcp", address, address)
}

// Listen listens on an address of a network of package net. On Linux, the name of an
// abstract unix socket begins with @. The socket of a server that was killed is replaced.
// Closing the listener removes the socket. Errors name the address and have a hint.
func Listen(ctx context.Context, network, address string) (net.Listener, error) {
	return listen(ctx, network, address, address)
}

func listen(ctx context.Context, network, address, named string) (net.Listener, error) {
	listener, err := replaceDead(ctx, network, address)
	if err != nil {
		next := "choose another address with --address HOST:PORT"
		if network == "unix" {
			next = "choose another path with --address " + strings.TrimSuffix(named, address) + "PATH"
		}
		if ip := net.ParseIP(strings.Trim(named, "[]")); ip != nil {
			next = "write --address " + net.JoinHostPort(ip.String(), "5000")
		}
		invalid := errors.As(err, new(*net.AddrError))
		if err = hint.Wrap(fmt.Errorf("listening on %q: %w", named, err), next); invalid {
			err = &terminal.UsageError{Err: err}
		}
		return nil, err
	}
	return listener, nil
}

// replaceDead listens on an address. It first removes the unix socket of a server
// that was killed.
func replaceDead(ctx context.Context, network, address string) (net.Listener, error) {
	if address == "" {
		return nil, errors.New("the address is empty")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if errors.Is(err, syscall.EADDRINUSE) && network == "unix" && isDead(ctx, address) {
		if err := os.Remove(address); err != nil {
			return nil, fsx.Cause(err)
		}
		listener, err = (&net.ListenConfig{}).Listen(ctx, network, address)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if network == "unix" && errors.Is(err, syscall.EINVAL) {
		err = fmt.Errorf("the path of the socket has %d bytes, more than the system allows", len(address))
	}
	return listener, err
}

// isDead reports whether path is a socket without a server.
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

// ServerCertificate reads tls.crt and tls.key in a directory. A certificate that every client would
// refuse, because it has expired or is not valid yet, is an error.
func ServerCertificate(dir string) (tls.Certificate, error) {
	path := filepath.Join(dir, "tls.crt")
	pair, err := tls.LoadX509KeyPair(path, filepath.Join(dir, "tls.key"))
	if err != nil {
		return pair, hint.Wrap(fmt.Errorf("reading the certificate in %q: %w", dir, fsx.Cause(err)), "put tls.crt and tls.key there, both PEM")
	}
	switch now := time.Now(); {
	case now.After(pair.Leaf.NotAfter):
		err = fmt.Errorf("the certificate in %q expired at %s", path, pair.Leaf.NotAfter.Format(time.RFC3339))
	case now.Before(pair.Leaf.NotBefore):
		err = fmt.Errorf("the certificate in %q is not valid before %s", path, pair.Leaf.NotBefore.Format(time.RFC3339))
	}
	return pair, hint.Wrap(err, "issue a new certificate, or correct the clock of this machine")
}

// DialTarget returns an address as a target of gRPC: HOST:PORT, unix:///PATH,
// unix:PATH for a relative path, or unix-abstract:NAME. A relative path with characters that
// a target cannot have becomes absolute.
func DialTarget(addr net.Addr) string {
	if addr.Network() != "unix" {
		return addr.String()
	}
	name, abstract := strings.CutPrefix(addr.String(), "@")
	if abs, err := filepath.Abs(name); err == nil && !abstract && strings.ContainsAny(name, "?#") {
		name = abs
	}
	switch {
	case abstract:
		return "unix-abstract:" + name
	case strings.HasPrefix(name, "/"):
		return runtimes.SocketTarget(name)
	case filepath.IsAbs(name):
		return "unix://" + name
	default:
		return "unix:" + name
	}
}
