package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// The defaults of a [Spec].
const (
	DefaultHostname = "xfn"
	DefaultHostID   = 100000
	DefaultMemory   = 2 << 30
	DefaultTmp      = 64 << 20
	DefaultPIDs     = 512
	DefaultFiles    = 1024
)

// idRange is the number of user ids, and of group ids, that a sandbox gets if the caller has
// the necessary capabilities.
const idRange = 65536

// minData is the lowest resource limit of memory (RLIMIT_DATA) that is set, in bytes.
// This limit counts reserved memory, not used memory. A Go program such as the supervisor
// begins with an arena of 64 MiB and about as much for the garbage collector, and soon
// reserves a second arena.
const minData = 256 << 20

// Network selects the network of a function.
type Network int

const (
	// Isolated gives the function its own loopback interface and no other network.
	Isolated Network = iota
	// Runner gives the function the network of the calling process: a port of the
	// function is a port of the host.
	Runner
)

// Limits are the resource limits of a function. Zero means the default or, for a limit
// without a default, no limit.
type Limits struct {
	// Memory is in bytes. The default is [DefaultMemory]. A cgroup counts the memory of
	// all processes of the sandbox together, including /tmp and kernel memory. Without a
	// cgroup, a resource limit of at least 256 MiB applies to each process separately. It
	// counts only private writable memory: not MAP_SHARED mappings, memfds, or buffers of
	// pipes and sockets. Only the limits of processes and open files bound that memory.
	Memory int64
	// CPU is in thousandths of one processor. Only a cgroup can enforce it.
	CPU int64
	// PIDs is the maximum number of threads in the sandbox, including about ten of the
	// supervisor. The default is [DefaultPIDs].
	PIDs int64
	// Tmp is in bytes: the size of /tmp and, with [Spec.Writable], of all files that are
	// written elsewhere, together. The default is [DefaultTmp].
	Tmp int64
	// Files is the maximum number of open files of each process. The default is
	// [DefaultFiles].
	Files int64
}

// A Spec describes the program to run, and its environment. The function gets nothing
// else from the calling process. All strings except Root must be UTF-8.
type Spec struct {
	// Root is the directory that becomes the function's read-only root. If it lacks the
	// directories dev, proc or tmp, an overlay adds them.
	Root string
	// Args is the program and its arguments. A program without a slash is
	// searched in the PATH of Env.
	Args []string
	// Env is the complete environment of the function. Each entry is "name=value".
	Env []string
	// Dir is the absolute working directory, inside of the root. Empty means /.
	Dir string
	// UID and GID are the function's ids inside of the sandbox, below 65536.
	UID, GID int
	// HostID is the host user id that becomes user 0 of the sandbox, if [MapsIDs] returns
	// true. The 65535 ids after it are mapped, too. Zero means [DefaultHostID], so the
	// host's root is never mapped. If MapsIDs returns false, only the caller's own id is
	// mapped, to UID.
	HostID int
	// HostGID is the host group id that becomes group 0 of the sandbox. The default is
	// the value of HostID.
	HostGID int
	// Hostname is the host name in the sandbox. The default is [DefaultHostname].
	Hostname string
	// Writable lets the function write to its root, as file permissions allow. A tmpfs
	// over the root stores the changes.
	Writable bool
	Network  Network
	// Resolver is the content of /etc/resolv.conf, for a function in the caller's
	// network. It replaces the root's own file, unless that is a symbolic link.
	Resolver []byte
	Limits   Limits
	// Stdin, Stdout and Stderr are passed to the function unchanged. The caller must read
	// the output and limit its size. Nil means /dev/null.
	Stdin, Stdout, Stderr *os.File `json:"-"`
	// Listener is a listening socket. The supervisor forwards its connections to
	// 127.0.0.1:Port inside of the sandbox, and dials until the function listens there. The
	// caller must not accept connections from it, and may close it once Start has returned.
	Listener *net.UnixListener `json:"-"`
	Port     int
	// TempDir is the directory in which [Confine] creates the private directory of a
	// function that keeps this machine's root.
	TempDir string
}

// An Enforcer is what enforces a limit: a cgroup, a resource limit, or nothing.
type Enforcer string

// The possible enforcers.
const (
	Nothing  Enforcer = ""
	CgroupV1 Enforcer = "cgroup v1"
	CgroupV2 Enforcer = "cgroup v2"
	Rlimit   Enforcer = "rlimit"
)

// A Limit is a limit in force: its value, in the unit of the field of [Limits], and what
// enforces it. If By is [Nothing], there is no limit.
type Limit struct {
	Value int64
	By    Enforcer
}

// A Report describes how a running function is confined.
type Report struct {
	Memory, CPU, PIDs Limit
	// Tmp is the size of /tmp in bytes.
	Tmp int64
	// Landlock is the version of Landlock that is in use, or 0 if the kernel has none.
	Landlock int
	// Proc reports whether /proc is mounted for the function. The kernel refuses the
	// mount in a container with a masked /proc.
	Proc bool
	// HostID is the first host user id that the function has, and IDs is the number of
	// ids: 65536 or 1.
	HostID, IDs int
	Network     Network
	// Chroot reports whether [Confine] gave the function its own root. It is false for
	// [Start], which always gives a function its own root.
	Chroot bool
}

// A ProgramError says that a program cannot run outside of its image's root, and that the
// caller may not change the root of the process.
type ProgramError struct{ Reason string }

func (e *ProgramError) Error() string { return e.Reason }

// A NamespaceError says that the system does not permit this user to create the
// namespaces of a sandbox.
type NamespaceError struct {
	// Setting is the path in /proc/sys of the kernel setting that forbids namespaces. It
	// is empty if the setting is not known.
	Setting string
	// Value is the content of the file Setting.
	Value string
	Err   error
}

func (e *NamespaceError) Error() string {
	if e.Setting == "" {
		return fmt.Sprintf("creating a user namespace: %v", e.Err)
	}
	return fmt.Sprintf("creating a user namespace: %v (%s is %s)", e.Err, e.Setting, e.Value)
}

func (e *NamespaceError) Unwrap() error { return e.Err }

// withDefaults returns s with the default for each zero field that has one, or an error
// that says which field is invalid.
func (s Spec) withDefaults() (Spec, error) {
	s.Dir = cmp.Or(s.Dir, "/")
	s.HostID = cmp.Or(s.HostID, DefaultHostID)
	s.HostGID = cmp.Or(s.HostGID, s.HostID)
	s.Hostname = cmp.Or(s.Hostname, DefaultHostname)
	s.Limits.Memory = cmp.Or(s.Limits.Memory, DefaultMemory)
	s.Limits.Tmp = cmp.Or(s.Limits.Tmp, DefaultTmp)
	s.Limits.PIDs = cmp.Or(s.Limits.PIDs, DefaultPIDs)
	s.Limits.Files = cmp.Or(s.Limits.Files, DefaultFiles)
	return s, s.check()
}

func (s Spec) check() error {
	if strings.ContainsRune(s.Root, 0) {
		return fmt.Errorf("root %q contains a zero byte", s.Root)
	}
	for _, text := range slices.Concat([]string{s.Dir, s.Hostname, s.TempDir}, s.Args, s.Env) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("%q contains a zero byte", text)
		}
		if !utf8.ValidString(text) {
			return fmt.Errorf("%q is not UTF-8", text)
		}
	}
	switch {
	case !filepath.IsAbs(s.Root):
		return fmt.Errorf("root %q is not an absolute path", s.Root)
	case len(s.Args) == 0 || s.Args[0] == "":
		return errors.New("the image has neither an entrypoint nor a command")
	case !path.IsAbs(s.Dir):
		return fmt.Errorf("working directory %q is not an absolute path", s.Dir)
	case s.UID < 0 || s.UID >= idRange || s.GID < 0 || s.GID >= idRange:
		return fmt.Errorf("ids %d:%d are not between 0 and %d", s.UID, s.GID, idRange-1)
	case min(s.HostID, s.HostGID) < 0:
		return fmt.Errorf("host id %d is negative", min(s.HostID, s.HostGID))
	case s.Listener != nil && (s.Port <= 0 || s.Port > 65535):
		return fmt.Errorf("port %d is not between 1 and 65535", s.Port)
	}
	return s.Limits.check()
}

func (l Limits) check() error {
	for name, v := range map[string]int64{"memory": l.Memory, "CPU": l.CPU, "PIDs": l.PIDs, "tmp": l.Tmp, "files": l.Files} {
		if v < 0 {
			return fmt.Errorf("%s limit %d is negative", name, v)
		}
	}
	return nil
}
