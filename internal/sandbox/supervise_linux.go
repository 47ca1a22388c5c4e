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

// defaultPath is the search path for programs if the environment has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Supervise starts the role that the command line args selects. If [Start] started this
// process, Supervise runs the supervisor until the function has ended; it returns true
// and the code with which the caller must exit immediately. If [Confine] started this
// process, the process becomes the function; Supervise returns only if that fails. In any
// other process it returns false.
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

// supervise runs the supervisor on one thread: the function inherits the thread's
// restrictions, and the kernel kills the supervisor by a signal to this thread when the
// caller ends. It must not be the first thread of the process: the kernel checks the
// Landlock domain of the first thread when another process accesses the supervisor, so
// the first thread must stay outside of the function's domain.
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
		// Ignore an error: the process that called Start may have ended.
		_ = out.Encode(reply{Error: err.Error(), Forbidden: errors.Is(err, errForbidden)})
		ended <- 1
		return
	}
	_ = control.Close()
	go carry()
	ended <- reap(pid)
}

// errForbidden means that the supervisor has no capabilities in its own namespaces.
var errForbidden = errors.New("the user namespace grants no capabilities")

// prepare reads the request, sets up the sandbox, and starts the function. It returns the
// function's process id, and carry, which forwards connections to the function.
func prepare(in *json.Decoder, out *json.Encoder) (pid int, carry func(), err error) {
	var o request
	if err := in.Decode(&o); err != nil {
		return 0, nil, fmt.Errorf("reading the request: %w", err)
	}
	if err := closeInherited(); err != nil {
		return 0, nil, err
	}
	// Open the root before setUser: only the caller's user may have access to it.
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
	// After this reply, the caller accepts only an error that says why the function did
	// not start.
	if err := out.Encode(done); err != nil {
		return 0, nil, err
	}
	if err := limitMemory(o); err != nil {
		return 0, nil, err
	}
	pid, err = startFunction(o)
	return pid, carry, err
}

// forwarder returns a Go function that accepts connections from the inherited listener
// and forwards them to the sandboxed function. Without a listener, it does nothing.
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

// closeInherited closes every inherited descriptor that this process does not need. The
// caller may itself have inherited descriptors and passed them on without knowing
// (CVE-2024-21626). Inherited descriptors lack the close-on-exec flag; descriptors that
// the Go runtime opened have the flag.
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
			continue // closed already, or opened by ReadDir or the Go runtime
		}
		_ = unix.Close(fd)
	}
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(listenerFD)
	return nil
}

// setUser gives all threads the function's user and group, if this process may change them.
func setUser(o request) error {
	if !o.Range {
		return nil // the function keeps the user of this process
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

// dieWithCaller makes the kernel kill this process when the caller ends, and so, if this
// is a supervisor, the whole sandbox. Call it after setUser, which would undo this. It
// waits for a confirmation of the caller, which proves that the caller was still alive.
func dieWithCaller(in *json.Decoder, out *json.Encoder) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protecting the memory of the process: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("setting the signal for the end of the parent process: %w", err)
	}
	if err := out.Encode(reply{}); err != nil {
		return err
	}
	if err := in.Decode(new(bool)); err != nil {
		return fmt.Errorf("waiting for the parent process: %w", err)
	}
	return nil
}

// startFunction starts the function as a child of the calling thread, and returns its
// process id.
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

// releaseFiles replaces the supervisor's stdin, stdout and stderr by /dev/null. The
// reader of the function's output then sees its end when the function closes it.
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

// A hostPath converts a path inside of the function's root to the path by which this
// process reaches the same file.
type hostPath func(name string) (string, error)

// samePath is the hostPath of a process that has the function's root.
func samePath(name string) (string, error) { return name, nil }

// lookPath finds the program o.Args[0] in the function's root, as a shell would. It
// returns the path by which this process reaches the program.
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

// reap reaps child processes until the process with the id function ends. It returns the
// exit code of that process, or 128 plus the number of the signal that killed it.
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
