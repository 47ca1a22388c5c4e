//go:build unix

package test

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitClosed blocks until the reader of a pipe or socket has closed it, or up to a second longer than
// ctx. It returns false when ctx ends, and at once for other files and if the system cannot tell.
func awaitClosed(ctx context.Context, f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return false
	}
	const second = 1000 // milliseconds
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	for ctx.Err() == nil {
		n, err := unix.Poll(fds, second)
		switch {
		case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
			return true
		case n > 0 || err != nil && !errors.Is(err, unix.EINTR):
			return false
		}
	}
	return false
}
