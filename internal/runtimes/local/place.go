package local

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

const (
	socketName = "fn.sock"
	// maxSocketPath is how long the path of a unix socket may be, in bytes, on
	// the system that allows the least (darwin, with the final NUL).
	maxSocketPath = 103
)

// SocketsWork is false where functions are not expected to listen on unix
// sockets.
const SocketsWork = runtime.GOOS != "windows"

// Socket returns the path of the socket in a private directory.
func Socket(dir string) string { return filepath.Join(dir, socketName) }

// PrivateDir makes a directory that nobody else may enter, with a path short
// enough for a socket in it: in parent, or else in /tmp.
func PrivateDir(parent string) (string, error) {
	parents := []string{parent}
	if SocketsWork {
		parents = append(parents, "/tmp")
	}
	var dir string
	for _, parent := range parents {
		var err error
		if dir, err = os.MkdirTemp(parent, "xfn-"); err != nil {
			return "", fmt.Errorf("making a private directory: %w", err)
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return "", err
		}
		if len(Socket(dir)) <= maxSocketPath || !SocketsWork {
			return dir, nil
		}
		if err := os.Remove(dir); err != nil {
			return "", fmt.Errorf("removing a private directory: %w", err)
		}
	}
	return "", fmt.Errorf("%q is too long for the path of a unix socket", dir)
}

// LoopbackAddress returns an address of the loopback interface whose port was
// free just now, as "127.0.0.1:PORT".
func LoopbackAddress(ctx context.Context) (string, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	address := lis.Addr().String()
	if err := lis.Close(); err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return address, nil
}
