package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervisorName is the whole command line of a supervisor process.
const supervisorName = "xfn-sandbox"

// The file descriptors that a supervisor inherits, after stdin, stdout and stderr of the
// function.
const (
	controlFD  = 3 // a socket for the request and the replies
	listenerFD = 4 // the socket whose connections the supervisor forwards, if there is one
	programFD  = 5 // the program that the supervisor executes
)

// A request is what the caller sends to a supervisor, or to a process that Confine started.
type request struct {
	Spec                // without the files and the listener
	Root         []byte // replaces Spec.Root, because JSON strings must be UTF-8
	Range        bool   // whether to change to the ids UID and GID
	Memory, PIDs int64  // resource limits to set; 0 for none

	// The following fields are only for a process that Confine started.
	Chroot  bool   // whether Root becomes the root directory
	Private string // the path of the private directory as the function sees it
}

// requestFor returns the request for a spec. It contains a resource limit for each limit
// that, according to the report, a resource limit enforces. The port is 0 if there is no
// listener.
func requestFor(s Spec, r Report) request {
	o := request{Spec: s, Root: []byte(s.Root), Range: r.IDs > 1}
	if r.Memory.By == Rlimit {
		o.Memory = r.Memory.Value
	}
	if r.PIDs.By == Rlimit {
		o.PIDs = r.PIDs.Value
	}
	if s.Listener == nil {
		o.Port = 0
	}
	return o
}

// reply is a message of a supervisor, or of a process that Confine started. The first
// reply says that the process dies with the caller. The second says which restrictions
// are in force. A third says why the function could not start.
type reply struct {
	Landlock  int    `json:",omitempty"`
	Proc      bool   `json:",omitempty"`
	Error     string `json:",omitempty"`
	Forbidden bool   `json:",omitempty"` // whether Error means that the system forbids namespaces
	Unfit     bool   `json:",omitempty"` // whether Error is the text of a ProgramError
}

// forbidden returns a NamespaceError that wraps err. It returns err itself if err has an
// errno that does not mean that the system forbids namespaces.
func forbidden(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		switch errno {
		case unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS, unix.ENOSYS, unix.EINVAL:
		default:
			return err
		}
		err = errno // omit the path of the program, which means nothing to a user
	}
	for _, s := range []struct{ file, forbids string }{
		{"/proc/sys/user/max_user_namespaces", "0"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"},
	} {
		data, readErr := os.ReadFile(s.file)
		if value := strings.TrimSpace(string(data)); readErr == nil && value == s.forbids {
			return &NamespaceError{Setting: s.file, Value: value, Err: err}
		}
	}
	return &NamespaceError{Err: err}
}
