package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sealed returns the copy of this program in memory.
var sealed = sync.OnceValues(sealSelf)

// openProgram opens the program that a supervisor executes. own says whether the caller must
// close it. A function that manages to open the program of its supervisor must not be able to
// change the file that the user will run again (CVE-2019-5736). If file permissions alone do
// not prevent that, openProgram returns a sealed copy in memory, whose 60 MB take longer to
// copy than everything else that starts a sandbox.
func openProgram(s Spec) (program *os.File, own bool, err error) {
	program, err = os.Open("/proc/self/exe")
	if err != nil {
		return nil, false, fmt.Errorf("opening this program: %w", err)
	}
	info, err := program.Stat()
	if err == nil && executeOnly(info, s) {
		return program, true, nil
	}
	if err = errors.Join(err, program.Close()); err == nil {
		program, err = sealed()
	}
	return program, false, err
}

// executeOnly reports whether a file permits the users of a sandbox to execute it, but not to
// write to it or to change its mode. An access control list cannot permit writing if the bits
// of the group do not (acl(5)).
func executeOnly(info os.FileInfo, s Spec) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Perm()&0o023 != 0o001 {
		return false
	}
	owner := int(stat.Uid)
	if !MapsIDs() {
		return owner != os.Geteuid()
	}
	return owner < s.HostID || owner >= s.HostID+idRange
}

// sealSelf returns a sealed copy of this program in memory. No process can write to it.
func sealSelf() (*os.File, error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("opening this program: %w", err)
	}
	defer self.Close()
	sealed, err := seal(self)
	if err != nil {
		return nil, fmt.Errorf("copying this program to memory: %w", err)
	}
	return sealed, nil
}

func seal(src io.Reader) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(supervisorName, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // Linux before 6.3 has no MFD_EXEC: every memfd is executable
		fd, err = unix.MemfdCreate(supervisorName, flags)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), supervisorName)
	if _, err = io.Copy(f, src); err == nil {
		err = whileBusy(func() error { return addSeals(f) })
	}
	if err == nil {
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// addSeals seals a memfd: no process can then write to it or change its mode. If the
// caller has only one user id, the function's user owns the memfd, and could change the
// program of later sandboxes. Linux before 6.3 cannot seal the mode.
func addSeals(f *os.File) error {
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals|unix.F_SEAL_EXEC)
	if errors.Is(err, unix.EINVAL) {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
	}
	return err
}

// sealTries and sealWait limit whileBusy to about four seconds.
const (
	sealTries = 12
	sealWait  = time.Millisecond
)

// whileBusy repeats an action, with growing pauses, as long as it fails with EBUSY. The
// kernel refuses to seal a memfd while it moves one of its pages, which happens when memory is
// low.
func whileBusy(do func() error) error {
	wait := sealWait
	for try := 1; ; try++ {
		err := do()
		if !errors.Is(err, unix.EBUSY) || try == sealTries {
			return err
		}
		time.Sleep(wait)
		wait *= 2
	}
}

// socketPair returns two connected unix stream sockets. Only the first supports deadlines.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a socket pair: %w", err)
	}
	err = unix.SetNonblock(fds[0], true)
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), err
}

// descriptors returns the files that a supervisor inherits, in the order of their
// descriptors. closeThem closes the files that the caller opened for the supervisor only.
func descriptors(s Spec, control *os.File) (files []*os.File, closeThem func(), err error) {
	var own []*os.File
	closeThem = func() {
		for _, f := range own {
			_ = f.Close() // ignore an error: f is /dev/null, a program or a copy of the listener
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, closeThem, err
	}
	own = append(own, null)
	program, isOwn, err := openProgram(s)
	if err != nil {
		return nil, closeThem, err
	}
	if isOwn {
		own = append(own, program)
	}
	var listener *os.File
	if s.Listener != nil {
		if listener, err = s.Listener.File(); err != nil {
			return nil, closeThem, fmt.Errorf("sharing the listening socket: %w", err)
		}
		own = append(own, listener)
	}
	files = []*os.File{cmp.Or(s.Stdin, null), cmp.Or(s.Stdout, null), cmp.Or(s.Stderr, null), control, listener, program}
	return files, closeThem, givePipes(s, files[:3])
}

// givePipes makes the function's user the owner of each pipe in files. The function can
// then open the pipe by name, as in /dev/stderr.
func givePipes(s Spec, files []*os.File) error {
	if !MapsIDs() {
		return nil
	}
	for _, f := range files {
		info, err := f.Stat()
		if err == nil && info.Mode()&os.ModeNamedPipe != 0 {
			err = f.Chown(s.HostID+s.UID, s.HostGID+s.GID)
		}
		if err != nil {
			return fmt.Errorf("sharing %q with the sandbox: %w", f.Name(), err)
		}
	}
	return nil
}
