package runtimes

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/xfn-dev/xfn/internal/fsx"
)

const (
	socketName = "fn.sock"
	// maxSocketPath is the longest path of a unix socket, in bytes, that every system
	// permits. darwin permits the least: 104 bytes, including the final NUL.
	maxSocketPath = 103
)

// SocketsWork is false on systems where a function need not be able to listen on a unix
// socket.
const SocketsWork = runtime.GOOS != "windows"

// A SocketDir is a directory that no other user can enter. Its path is short enough for a unix
// socket in it. If this process is killed, the next call of MakeSocketDir with the same
// parent removes the directory, except on Windows.
type SocketDir struct {
	*fsx.TempDir
	// Path is the absolute path of the directory.
	Path string
}

// Socket returns the path for a unix socket in the directory.
func (d SocketDir) Socket() string { return filepath.Join(d.Path, socketName) }

// Target returns the gRPC target of Socket.
func (d SocketDir) Target() string { return SocketTarget(d.Socket()) }

// SocketTarget returns the gRPC target of a unix socket at an absolute path. A target is a URL,
// in which characters such as % and # are escaped.
func SocketTarget(path string) string { return (&url.URL{Scheme: "unix", Path: path}).String() }

// MakeSocketDir creates a SocketDir in parent, or in /tmp if the path of parent is too long for a
// unix socket.
func MakeSocketDir(parent string) (SocketDir, error) {
	parents := []string{parent}
	if SocketsWork {
		parents = append(parents, "/tmp")
	}
	for _, parent := range parents {
		d, err := makeSocketDir(parent)
		if err != nil || len(d.Socket()) <= maxSocketPath || !SocketsWork {
			return d, err
		}
		if err := d.Close(); err != nil {
			return SocketDir{}, err
		}
	}
	return SocketDir{}, fmt.Errorf("%q is too long for the path of a unix socket", parent)
}

func makeSocketDir(parent string) (SocketDir, error) {
	parent, err := filepath.Abs(cmp.Or(parent, os.TempDir()))
	if err != nil {
		return SocketDir{}, err
	}
	d, path, err := fsx.MakeTempDirIn(parent)
	return SocketDir{d, path}, err
}

// StartOnLoopback calls start with a free address of the loopback interface, "127.0.0.1:PORT",
// for a function that will listen there. Another process can take the port before the function
// does. If start fails and a process listens at the address, StartOnLoopback calls start again
// with another address, at most twice. If start fails, it must stop the function.
func StartOnLoopback(ctx context.Context, start func(address string) error) error {
	for tries := 1; ; tries++ {
		address, err := FreeAddress(ctx)
		if err != nil {
			return fmt.Errorf("looking for a free port: %w", err)
		}
		if err = start(address); err == nil || tries == 3 || ctx.Err() != nil {
			return err
		}
		if _, taken := listen(ctx, address); taken == nil {
			return err
		}
	}
}

// FreeAddress returns an address of the loopback interface whose port is free. If it finds one, the
// port is below the ports that Linux (32768 and above), macOS and Windows give to processes that
// ask for any port, so that none of these processes takes it.
func FreeAddress(ctx context.Context) (string, error) {
	const first, last, tries = 20_000, 32_767, 100
	for range tries {
		port := first + rand.IntN(last-first+1)
		if address, err := listen(ctx, fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return address, nil
		}
	}
	return listen(ctx, "127.0.0.1:0")
}

// listen listens at an address for a moment, and returns the address with its port.
func listen(ctx context.Context, address string) (string, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", address)
	if err != nil {
		return "", err
	}
	return lis.Addr().String(), lis.Close()
}
