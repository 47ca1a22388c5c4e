package local

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/xfn-dev/xfn/internal/fsx"
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

// A Dir is a directory that nobody else may enter, with a path short enough for
// a socket in it. One that a killed process leaves is removed by the next
// PrivateDir beside it, but on Windows.
type Dir struct {
	*fsx.TempDir
	// Path is absolute.
	Path string
}

// Socket returns the path of the directory's socket.
func (d Dir) Socket() string { return filepath.Join(d.Path, socketName) }

// PrivateDir makes a directory in parent, or else in /tmp.
func PrivateDir(parent string) (Dir, error) {
	parents := []string{parent}
	if SocketsWork {
		parents = append(parents, "/tmp")
	}
	for _, parent := range parents {
		d, err := privateDir(parent)
		if err != nil || len(d.Socket()) <= maxSocketPath || !SocketsWork {
			return d, err
		}
		if err := d.Close(); err != nil {
			return Dir{}, err
		}
	}
	return Dir{}, fmt.Errorf("%q is too long for the path of a unix socket", parent)
}

func privateDir(parent string) (Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return Dir{}, err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return Dir{}, fmt.Errorf("making a private directory: %w", err)
	}
	d, err := fsx.MakeTempDir(root)
	if err != nil {
		return Dir{}, err
	}
	return Dir{d, filepath.Join(parent, d.Name)}, nil
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
