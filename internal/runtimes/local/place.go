package local

import (
	"cmp"
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
	// maxSocketPath is the longest path of a unix socket, in bytes, that every system
	// permits. darwin permits the least: 104 bytes, including the final NUL.
	maxSocketPath = 103
)

// SocketsWork is false on systems where a function need not be able to listen on a unix
// socket.
const SocketsWork = runtime.GOOS != "windows"

// A Dir is a directory that no other user can enter. Its path is short enough for a unix
// socket in it. If this process is killed, the next call of PrivateDir with the same
// parent removes the directory, except on Windows.
type Dir struct {
	*fsx.TempDir
	// Path is the absolute path of the directory.
	Path string
}

// Socket returns the path for a unix socket in the directory.
func (d Dir) Socket() string { return filepath.Join(d.Path, socketName) }

// PrivateDir creates a Dir in parent, or in /tmp if the path of parent is too long for a
// unix socket.
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
	parent, err := filepath.Abs(cmp.Or(parent, os.TempDir()))
	if err != nil {
		return Dir{}, err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return Dir{}, fmt.Errorf("creating a private directory: %w", err)
	}
	d, err := fsx.MakeTempDir(root)
	if err != nil {
		return Dir{}, err
	}
	return Dir{d, filepath.Join(parent, d.Name)}, nil
}

// OnLoopback calls start with a free address of the loopback interface, "127.0.0.1:PORT", for
// a function that will listen there. Another process can take the port before the function
// does: if start fails and a process listens at the address, OnLoopback calls start again with
// another address, at most twice. If start fails, it must stop the function.
func OnLoopback(ctx context.Context, start func(address string) error) error {
	for tries := 1; ; tries++ {
		address, err := listen(ctx, "127.0.0.1:0")
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

// listen listens at an address for a moment, and returns the address with its port.
func listen(ctx context.Context, address string) (string, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", address)
	if err != nil {
		return "", err
	}
	return lis.Addr().String(), lis.Close()
}
