//go:build unix

package test

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitClosed blocks until the reader of a pipe or socket has closed it. It returns false at once for
// other files, and if the system cannot tell.
func awaitClosed(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
			return true
		case !errors.Is(err, unix.EINTR):
			return false
		}
	}
}
