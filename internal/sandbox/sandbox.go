package sandbox

import (
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

// Defaults of a [Spec].
const (
	DefaultHostname = "xfn"
	DefaultHostID   = 100000
	DefaultMemory   = 2 << 30
	DefaultTmp      = 64 << 20
	DefaultPIDs     = 512
	DefaultFiles    = 1024
)

// idRange is how many user ids, and group ids, a caller with the right to do so
// gives to a sandbox.
const idRange = 65536

// minData is the least memory in bytes that a resource limit is set to. That
// counts what a program asks the kernel for, and not what it uses: a program in
// Go, as the supervisor is, begins with an arena of 64 MiB and the like of it for
// the collector, and needs a second one soon.
const minData = 256 << 20

// A Network says which network a function has.
type Network int

const (
	// Isolated is a loopback of its own, and nothing else.
	Isolated Network = iota
	// Runner is the network of the caller. Its ports are the host's ports.
	Runner
)

// Limits bounds what a function may use. Zero stands for the default, where
// there is one, and else for no limit.
type Limits struct {
	// Memory is in bytes. A cgroup counts all memory of all processes of the
	// sandbox, with /tmp and what the kernel holds for them. A resource limit
	// counts for each process alone, and only what it may write and does not
	// share: no memory mapped with MAP_SHARED, no memfd, no buffers of pipes and
	// sockets. These nothing bounds then, but the numbers of processes and of open
	// files. It is never set to less than 256 MiB. The default is [DefaultMemory].
	Memory int64
	// CPU is in thousandths of one processor. It can only be kept by a cgroup.
	CPU int64
	// PIDs is how many threads the sandbox may have, the supervisor's included:
	// about ten. The default is [DefaultPIDs].
	PIDs int64
	// Tmp is in bytes: what may be written to /tmp and, with [Spec.Writable], to
	// everything else, together. The default is [DefaultTmp].
	Tmp int64
	// Files is how many files one process may have open. The default is
	// [DefaultFiles].
	Files int64
}

// A Spec says what to run, and how. The function sees of the caller's process
// what stands here, and nothing else. All strings but Root are UTF-8.
type Spec struct {
	// Root is the directory that becomes the function's root, read-only. Where
	// it lacks the directories dev, proc or tmp, they are laid under it.
	Root string
	// Args is the program and its arguments. A program without a slash is looked
	// for in the PATH of Env.
	Args []string
	// Env is the whole environment, each as "name=value".
	Env []string
	// Dir is the absolute working directory, inside of the root. Empty means /.
	Dir string
	// UID and GID are the ids that the function has inside, below 65536.
	UID, GID int
	// HostID is the first of the 65536 ids of the host that a caller with
	// CAP_SETUID and CAP_SETGID gives away, and that inside begin with 0. The
	// default is [DefaultHostID]; it is never 0, the host's root. Any other
	// caller gives its own id, and inside that is UID.
	HostID int
	// HostGID is HostID for groups. The default is HostID.
	HostGID int
	// Hostname is what uname tells. The default is [DefaultHostname].
	Hostname string
	// Writable puts a file system in memory over the root, of which the
	// function may write what its ids allow it to.
	Writable bool
	Network  Network
	// Resolver is the content of /etc/resolv.conf, for a function in the
	// caller's network. It is laid over the root's own file, if there is one.
	Resolver []byte
	Limits   Limits
	// Stdin, Stdout and Stderr are the function's as they are: to bound and to
	// drain them is the caller's task. Nil means /dev/null.
	Stdin, Stdout, Stderr *os.File
	// Listener is a listening socket whose connections the supervisor carries to
	// 127.0.0.1:Port inside, trying until the function listens there. The caller
	// must not accept from it, and may close it once the sandbox runs.
	Listener *net.UnixListener
	Port     int
	// TempDir is where [Confine] makes the private directory of a function that
	// keeps this machine's root.
	TempDir string
}

// An Enforcer is what keeps a limit.
type Enforcer string

// What may keep a limit.
const (
	Nothing  Enforcer = ""
	CgroupV1 Enforcer = "cgroup v1"
	CgroupV2 Enforcer = "cgroup v2"
	Rlimit   Enforcer = "rlimit"
)

// A Limit is one limit in force: its value, in the unit of [Limits], and what
// keeps it. With an [Enforcer] of Nothing there is none.
type Limit struct {
	Value int64
	By    Enforcer
}

// A Report is what confines a function that runs.
type Report struct {
	Memory, CPU, PIDs Limit
	// Tmp is in bytes.
	Tmp int64
	// Landlock is the version of the kernel's Landlock interface that is used,
	// or 0 where the kernel has none.
	Landlock int
	// Proc tells that the function has a /proc. A kernel refuses it inside of
	// another container whose /proc is masked.
	Proc bool
	// HostID and IDs are the first host id of the function's ids, and how many
	// there are: 65536, or 1.
	HostID, IDs int
	Network     Network
	// Chroot tells that a function of [Confine] has its root as its own. One of
	// [Start] always has.
	Chroot bool
}

// A ProgramError says that a program cannot be run outside of its image's root,
// and that the caller may not give it that root.
type ProgramError struct{ Reason string }

func (e *ProgramError) Error() string { return e.Reason }

// A NamespaceError says that the system does not let this user make the
// namespaces that a sandbox is made of.
type NamespaceError struct {
	// Setting is the file of the setting that forbids it, where one is known to.
	Setting string
	// Value is what it holds.
	Value string
	Err   error
}

func (e *NamespaceError) Error() string {
	if e.Setting == "" {
		return fmt.Sprintf("making a user namespace: %v", e.Err)
	}
	return fmt.Sprintf("making a user namespace: %v (%s is %s)", e.Err, e.Setting, e.Value)
}

func (e *NamespaceError) Unwrap() error { return e.Err }

// withDefaults returns s with its defaults filled in, or what is wrong with it.
func (s Spec) withDefaults() (Spec, error) {
	s.Dir = orDefault(s.Dir, "/")
	s.HostID = orDefault(s.HostID, DefaultHostID)
	s.HostGID = orDefault(s.HostGID, s.HostID)
	s.Hostname = orDefault(s.Hostname, DefaultHostname)
	s.Limits.Memory = orDefault(s.Limits.Memory, DefaultMemory)
	s.Limits.Tmp = orDefault(s.Limits.Tmp, DefaultTmp)
	s.Limits.PIDs = orDefault(s.Limits.PIDs, DefaultPIDs)
	s.Limits.Files = orDefault(s.Limits.Files, DefaultFiles)
	return s, s.check()
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func (s Spec) check() error {
	if strings.ContainsRune(s.Root, 0) {
		return fmt.Errorf("root %q holds a zero byte", s.Root)
	}
	for _, text := range slices.Concat([]string{s.Dir, s.Hostname, s.TempDir}, s.Args, s.Env) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("%q holds a zero byte", text)
		}
		if !utf8.ValidString(text) {
			return fmt.Errorf("%q is not UTF-8", text)
		}
	}
	switch {
	case !filepath.IsAbs(s.Root):
		return fmt.Errorf("root %q is not an absolute path", s.Root)
	case len(s.Args) == 0 || s.Args[0] == "":
		return errors.New("there is no program to run: the image has neither an entrypoint nor a command")
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
