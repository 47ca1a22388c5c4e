package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervisorName is the whole command line of a supervisor.
const supervisorName = "xfn-sandbox"

// The descriptors of a supervisor, after the function's own three.
const (
	controlFD  = 3 // the request and the replies
	listenerFD = 4 // the socket to forward connections from, if there is one
	programFD  = 5 // the program of the supervisor
)

// A request is what the caller sends to a supervisor, or to a process that confines itself.
type request struct {
	Spec                // without files
	Root         []byte // replaces Spec.Root, because JSON strings must be UTF-8
	Range        bool   // change to UID and GID
	Memory, PIDs int64  // for resource limits; 0 for none

	// The following fields are for a process that confines itself.
	Chroot  bool   // Root becomes the root directory
	Private string // the writable directory, by its path after the start
}

// requestFor returns the request for a spec. The limits in it are those that the report says
// a resource limit must enforce. The port is 0 if there is no listener.
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

// reply is a message of a supervisor, or of a process that confines itself. The first reply
// says that the process dies with the caller. The second says which restrictions are in
// force. A third says why the function could not start.
type reply struct {
	Landlock  int    `json:",omitempty"`
	Proc      bool   `json:",omitempty"`
	Error     string `json:",omitempty"`
	Forbidden bool   `json:",omitempty"` // the system forbids the use of its namespaces
	Unfit     bool   `json:",omitempty"` // the program does not run outside of its root
}

// forbidden returns err. It returns a NamespaceError that wraps err if the system, and not a
// mistake of the caller, is the cause.
func forbidden(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		switch errno {
		case unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS, unix.ENOSYS, unix.EINVAL:
		default:
			return err
		}
		err = errno // the error without the path of the program in memory
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
