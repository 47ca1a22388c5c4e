package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervisorName is what a supervisor is called with: its whole command line.
const supervisorName = "xfn-sandbox"

// The descriptors that a supervisor is started with, above the function's own.
const (
	controlFD  = 3 // orders and replies
	listenerFD = 4 // the socket to carry connections from, if there is one
	programFD  = 5 // what it is run from
)

// proceed is what the caller answers to the first reply.
const proceed = true

// orders is what a supervisor is told.
type orders struct {
	Root          []byte // as JSON has no strings that are not UTF-8
	Dir, Hostname string
	Args, Env     []string
	UID, GID      int
	Range         bool // it has to become UID and GID
	Isolated      bool
	Writable      bool
	Resolver      []byte
	Tmp, Files    int64
	Memory, PIDs  int64 // to be kept by resource limits, or 0
	Port          int   // to carry connections to, or 0

	// For a process that confines itself.
	Chroot  bool   // Root becomes its own
	Private string // the directory that it may write to, as it will see it
}

// ordersFor returns the orders that make of a spec what the report promises.
func ordersFor(s Spec, r Report) orders {
	o := orders{
		Root: []byte(s.Root), Dir: s.Dir, Hostname: s.Hostname, Args: s.Args, Env: s.Env, UID: s.UID, GID: s.GID,
		Range: r.IDs > 1, Isolated: s.Network == Isolated, Writable: s.Writable, Resolver: s.Resolver,
		Tmp: r.Tmp, Files: s.Limits.Files,
	}
	if r.Memory.By == Rlimit {
		o.Memory = r.Memory.Value
	}
	if r.PIDs.By == Rlimit {
		o.PIDs = r.PIDs.Value
	}
	if s.Listener != nil {
		o.Port = s.Port
	}
	return o
}

// reply is what a supervisor, or a process that confines itself, says: first that
// its life is bound to the caller's, then what is in force, and last, if the
// function does not start, why.
type reply struct {
	Landlock  int    `json:",omitempty"`
	Proc      bool   `json:",omitempty"`
	Error     string `json:",omitempty"`
	Forbidden bool   `json:",omitempty"` // the system forbids it to use its namespaces
	Unfit     bool   `json:",omitempty"` // the program does not run outside of its root
}

// forbidden returns err, as a NamespaceError if the system, and not a mistake,
// is the cause.
func forbidden(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		switch errno {
		case unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS, unix.ENOSYS, unix.EINVAL:
		default:
			return err
		}
		err = errno // not the path of the program in memory
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
