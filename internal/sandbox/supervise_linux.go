package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/sandbox/carry"
)

// defaultPath is where programs are looked for if the environment has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Supervise is the supervisor's life, if this process is one: then it returns
// when the function has ended, with the code to exit with at once. If this
// process is one that [Confine] started, it becomes the function, and Supervise
// returns only if that fails. In any other process it returns false and has done
// nothing. args is the command line.
func Supervise(args []string) (code int, is bool) {
	if len(args) == 1 && args[0] == confinedName {
		return confine(), true
	}
	if len(args) != 1 || args[0] != supervisorName || os.Getpid() != 1 {
		return 0, false
	}
	ended := make(chan int)
	go supervise(ended)
	return <-ended, true
}

// supervise keeps to one thread, whose rights the function inherits, and to
// which the death of the caller is announced. That is not the first thread: for
// the kernel, which asks for that one, the supervisor stays outside of the
// function's Landlock domain.
func supervise(ended chan<- int) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		go supervise(ended)
		return // and leaves the first thread locked, so that nobody else gets it
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT)
	control := os.NewFile(controlFD, "control")
	out := json.NewEncoder(control)
	pid, carry, err := prepare(json.NewDecoder(control), out)
	if err != nil {
		_ = out.Encode(reply{Error: err.Error(), Forbidden: errors.Is(err, errForbidden)}) // the caller may be gone
		ended <- 1
		return
	}
	_ = control.Close()
	go forward(signals, pid)
	go carry()
	ended <- reap(pid)
}

// errForbidden says that the supervisor has no power in its own namespaces.
var errForbidden = errors.New("it gives no rights")

// prepare does as ordered, up to the start of the function.
func prepare(in *json.Decoder, out *json.Encoder) (pid int, carry func(), err error) {
	var o orders
	if err := in.Decode(&o); err != nil {
		return 0, nil, fmt.Errorf("reading the orders: %w", err)
	}
	if err := closeStray(); err != nil {
		return 0, nil, err
	}
	// The way to the root may be open to the caller only: this is still its user.
	root, err := unix.Open(string(o.Root), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("opening the root %q: %w", o.Root, err)
	}
	if err := become(o); err != nil {
		return 0, nil, err
	}
	if err := bindLife(in, out); err != nil {
		return 0, nil, err
	}
	done, err := isolate(o, root)
	if err != nil {
		return 0, nil, err
	}
	if carry, err = carrier(o); err != nil {
		return 0, nil, err
	}
	if done.Landlock, err = restrict(o); err != nil {
		return 0, nil, err
	}
	// From here on nothing that is said is believed, but that there is no function.
	if err := out.Encode(done); err != nil {
		return 0, nil, err
	}
	if err := limitMemory(o); err != nil {
		return 0, nil, err
	}
	pid, err = startFunction(o)
	return pid, carry, err
}

// carrier takes over the listening descriptor, if there is one, and returns what
// carries its connections to the function.
func carrier(o orders) (func(), error) {
	if o.Port == 0 {
		return func() {}, nil
	}
	f := os.NewFile(listenerFD, "listener")
	l, err := net.FileListener(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("taking the listening socket: %w", err)
	}
	to := net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port))
	return func() { _ = carry.Carry(l, "tcp4", to) }, nil
}

// closeStray closes every descriptor that this process was started with and
// does not need: its caller may have been given some to pass on unknowingly
// (CVE-2024-21626). Those are the ones that executing a program leaves open; what
// the Go runtime has opened since is not among them.
func closeStray() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("listing the open files: %w", err)
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= listenerFD {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue // it was the listing's, or is the Go runtime's
		}
		_ = unix.Close(fd)
	}
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(listenerFD)
	return nil
}

// become makes all threads those of the function's user.
func become(o orders) error {
	if !o.Range {
		return nil // it is that user's already
	}
	err := syscall.Setgroups(nil)
	if err == nil {
		err = syscall.Setresgid(o.GID, o.GID, o.GID)
	}
	if err == nil {
		err = syscall.Setresuid(o.UID, o.UID, o.UID)
	}
	if err != nil {
		return fmt.Errorf("becoming user %d:%d: %w", o.UID, o.GID, err)
	}
	return nil
}

// bindLife has the kernel kill this process, and so all of its namespace, when
// the caller ends. To become another user would undo that. The caller answers
// afterwards: so it lived when it was done.
func bindLife(in *json.Decoder, out *json.Encoder) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing its memory: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("binding its life to the caller's: %w", err)
	}
	if err := out.Encode(reply{}); err != nil {
		return err
	}
	var answer bool
	if err := in.Decode(&answer); err != nil {
		return fmt.Errorf("waiting for the caller: %w", err)
	}
	if !answer {
		return errors.New("the caller does not want it to go on")
	}
	return nil
}

// startFunction starts the function as this thread's child.
func startFunction(o orders) (pid int, err error) {
	program, err := lookPath(o, asItIs)
	if err != nil {
		return 0, err
	}
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("the working directory %q does not exist", o.Dir)
	}
	pid, err = syscall.ForkExec(program, o.Args, &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("executing %q: %w", o.Args[0], err)
	}
	return pid, releaseFiles()
}

// releaseFiles gives up the function's files: their readers see an end when it
// has none of them any more.
func releaseFiles() error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := 0; fd <= 2 && err == nil; fd++ {
		err = unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
	if err != nil {
		return fmt.Errorf("giving up the function's files: %w", err)
	}
	return unix.Close(null)
}

// A view says where a path inside of the root leads, seen from outside of it.
type view func(name string) (string, error)

// asItIs is the view of a process whose root it is.
func asItIs(name string) (string, error) { return name, nil }

// lookPath finds the program as a shell would, inside the root.
func lookPath(o orders, see view) (string, error) {
	name := o.Args[0]
	if strings.Contains(name, "/") {
		return see(name)
	}
	dirs := defaultPath
	for _, v := range o.Env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			dirs = value
		}
	}
	for dir := range strings.SplitSeq(dirs, ":") {
		file := path.Join(orDefault(dir, "."), name)
		if !path.IsAbs(file) {
			file = path.Join(o.Dir, file)
		}
		seen, err := see(file)
		if err != nil {
			continue
		}
		if info, err := os.Stat(seen); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return seen, nil
		}
	}
	return "", fmt.Errorf("executing %q: it is in none of the directories %q", name, dirs)
}

// forward forwards signals to the function.
func forward(signals <-chan os.Signal, pid int) {
	for sig := range signals {
		_ = unix.Kill(pid, sig.(syscall.Signal)) // it may have ended
	}
}

// reap reaps all processes that end, until the function does, and returns the
// code that a shell would.
func reap(function int) int {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1
		case pid != function:
		case status.Signaled():
			return 128 + int(status.Signal())
		case status.Exited():
			return status.ExitStatus()
		}
	}
}
