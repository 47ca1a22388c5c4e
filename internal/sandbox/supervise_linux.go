package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// defaultPath lists the directories to search for programs if the environment
// has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Supervise runs the supervisor, if this process is one. It then returns when the
// function has ended, with the code to exit with immediately. If [Confine] started this
// process, it becomes the function, and Supervise returns only if that fails. In any
// other process Supervise returns false and does nothing. args is the command line.
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

// supervise runs on one thread: the function inherits the thread's restrictions, and the
// kernel signals the caller's end to that thread. It must not be the first thread: the
// kernel checks the first thread when other processes access the supervisor, so that thread
// must stay outside of the function's Landlock domain.
func supervise(ended chan<- int) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		go supervise(ended)
		return // the first thread stays locked, so that no other goroutine runs on it
	}
	control := os.NewFile(controlFD, "control")
	out := json.NewEncoder(control)
	pid, carry, err := prepare(json.NewDecoder(control), out)
	if err != nil {
		_ = out.Encode(reply{Error: err.Error(), Forbidden: errors.Is(err, errForbidden)}) // the caller may have ended
		ended <- 1
		return
	}
	_ = control.Close()
	go carry()
	ended <- reap(pid)
}

// errForbidden says that the supervisor has no capabilities in its own namespaces.
var errForbidden = errors.New("the namespace grants no capabilities")

// prepare reads the request and does all of it, including the start of the function. It
// returns the process id of the function, and carry, which forwards connections to it.
func prepare(in *json.Decoder, out *json.Encoder) (pid int, carry func(), err error) {
	var o request
	if err := in.Decode(&o); err != nil {
		return 0, nil, fmt.Errorf("reading the request: %w", err)
	}
	if err := closeInherited(); err != nil {
		return 0, nil, err
	}
	// Only the caller may have access to the root. This process still has
	// the caller's user.
	root, err := unix.Open(string(o.Root), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("opening the root %q: %w", o.Root, err)
	}
	if err := setUser(o); err != nil {
		return 0, nil, err
	}
	if err := dieWithCaller(in, out); err != nil {
		return 0, nil, err
	}
	done, err := isolate(o, root)
	if err != nil {
		return 0, nil, err
	}
	if carry, err = forwarder(o); err != nil {
		return 0, nil, err
	}
	if done.Landlock, err = restrict(o); err != nil {
		return 0, nil, err
	}
	// The caller trusts nothing that this process sends from here on,
	// except that the function did not start.
	if err := out.Encode(done); err != nil {
		return 0, nil, err
	}
	if err := limitMemory(o); err != nil {
		return 0, nil, err
	}
	pid, err = startFunction(o)
	return pid, carry, err
}

// forwarder returns a function that forwards connections to the function, from
// the listening descriptor if there is one.
func forwarder(o request) (func(), error) {
	if o.Port == 0 {
		return func() {}, nil
	}
	f := os.NewFile(listenerFD, "listener")
	l, err := net.FileListener(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("opening the listening socket: %w", err)
	}
	to := net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port))
	return func() { _ = ForwardConnections(l, "tcp4", to) }, nil
}

// closeInherited closes every inherited descriptor that this process does not
// need. The caller may have inherited some without knowing, and passed them on
// (CVE-2024-21626). Inherited descriptors lack the close-on-exec flag; those
// that the Go runtime opened have it.
func closeInherited() error {
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
			continue // opened by ReadDir or the Go runtime
		}
		_ = unix.Close(fd)
	}
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(listenerFD)
	return nil
}

// setUser gives all threads the function's user and group.
func setUser(o request) error {
	if !o.Range {
		return nil // nothing to change
	}
	err := syscall.Setgroups(nil)
	if err == nil {
		err = syscall.Setresgid(o.GID, o.GID, o.GID)
	}
	if err == nil {
		err = syscall.Setresuid(o.UID, o.UID, o.UID)
	}
	if err != nil {
		return fmt.Errorf("changing to user %d:%d: %w", o.UID, o.GID, err)
	}
	return nil
}

// dieWithCaller has the kernel kill this process, and so its whole namespace,
// when the caller ends. A later change of the user would undo that. The caller
// answers afterwards, which proves that it was still alive.
func dieWithCaller(in *json.Decoder, out *json.Encoder) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protecting the memory of the process: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("setting the signal for the caller's end: %w", err)
	}
	if err := out.Encode(reply{}); err != nil {
		return err
	}
	if err := in.Decode(new(bool)); err != nil {
		return fmt.Errorf("waiting for the caller: %w", err)
	}
	return nil
}

// startFunction starts the function as this thread's child.
func startFunction(o request) (pid int, err error) {
	program, err := lookPath(o, samePath)
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

// releaseFiles closes the supervisor's copies of the function's files, so that
// readers see the end when the function closes its own.
func releaseFiles() error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := 0; fd <= 2 && err == nil; fd++ {
		err = unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
	if err != nil {
		return fmt.Errorf("closing the function's files: %w", err)
	}
	return unix.Close(null)
}

// A hostPath returns the path by which this process reaches a path inside of the function's
// root.
type hostPath func(name string) (string, error)

// samePath is the hostPath of a process whose root is the function's root.
func samePath(name string) (string, error) { return name, nil }

// lookPath finds the program in the root, as a shell would.
func lookPath(o request, toHost hostPath) (string, error) {
	name := o.Args[0]
	if strings.Contains(name, "/") {
		return toHost(name)
	}
	dirs := defaultPath
	for _, v := range o.Env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			dirs = value
		}
	}
	for dir := range strings.SplitSeq(dirs, ":") {
		file := path.Join(cmp.Or(dir, "."), name)
		if !path.IsAbs(file) {
			file = path.Join(o.Dir, file)
		}
		seen, err := toHost(file)
		if err != nil {
			continue
		}
		if info, err := os.Stat(seen); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return seen, nil
		}
	}
	return "", fmt.Errorf("executing %q: not found in the directories %q", name, dirs)
}

// reap waits for all child processes until the function ends, and returns the
// exit code that a shell would.
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
