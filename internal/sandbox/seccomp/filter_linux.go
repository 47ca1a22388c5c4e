package seccomp

import (
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// newNamespaces are the flags of clone that create namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Install applies the filter of the function [Program] permanently to all threads of this
// process. The calling thread must have set no_new_privs and must be locked to its
// goroutine. The kernel sets no_new_privs on the other threads.
func Install() error {
	program, err := Program()
	if err != nil {
		return err
	}
	return install(program)
}

func install(program []bpf.RawInstruction) error {
	filters := make([]unix.SockFilter, len(program))
	for i, in := range program {
		filters[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	_, _, errno := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("installing the seccomp filter: %w", errno)
	}
	return nil
}

// Program returns the filter for this architecture as BPF instructions. Every system call
// that is not allowed fails with ENOSYS, as on an older kernel: C libraries and runtimes
// have a fallback for this error. clone3 fails, too, because a filter cannot read its
// flags from memory.
func Program() ([]bpf.RawInstruction, error) {
	rules := append(calls(allowed()), conditional()...)
	return policy{rules: rules, action: unix.SECCOMP_RET_ALLOW, other: fail(unix.ENOSYS)}.assemble()
}

// conditional returns rules for system calls that the filter allows with some arguments
// only.
func conditional() []rule {
	rules := []rule{
		// Allow clone for threads and processes, but not for new namespaces.
		all("clone", hasNone(0, newNamespaces)),
		// Allow netlink route sockets, with which C libraries list addresses. Other
		// netlink protocols reach parts of the kernel that a function does not need.
		all("socket", is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)),
	}
	// Allow unix and IP sockets. Sockets of other families, such as vsock, can reach
	// outside of the namespaces.
	for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6} {
		rules = append(rules, all("socket", is(0, family)))
	}
	// Allow the personalities that Docker allows: Linux and 32-bit Linux, each also with
	// the version number of an older kernel. 0xffffffff only queries the personality.
	const linux32, oldVersion, question = 0x8, 0x20000, 0xffffffff
	for _, persona := range []uint64{0, linux32, oldVersion, oldVersion | linux32, question} {
		rules = append(rules, all("personality", is(0, persona)))
	}
	// Deny file leases and delegations: they block other users who open the same file.
	rules = append(rules, except("fcntl", 1, unix.F_SETLEASE, unix.F_SETDELEG))
	// Deny input to a terminal, and a new controlling terminal.
	rules = append(rules, except("ioctl", 1, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSCTTY))
	return append(rules, ownProcess()...)
}

// ownProcess returns rules for system calls that change the limits or the scheduling of a
// process. They allow only changes of the calling process, because the supervisor has the
// same user.
//
// The rules deny changes of the limit of core files: with any value except 1, the kernel
// would pass core dumps to the host's core handler (core(5)).
func ownProcess() []rule {
	const myself = 0
	rules := []rule{
		all("setpriority", is(0, unix.PRIO_PROCESS), is(1, myself)),
		all("prlimit64", is(0, myself), is(2, 0)), // the new limit is nil: the call only reads
		all("prlimit64", is(0, myself), notIn(1, unix.RLIMIT_CORE)),
	}
	for _, name := range []string{"sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"} {
		rules = append(rules, all(name, is(0, myself)))
	}
	return append(rules, except("setrlimit", 0, unix.RLIMIT_CORE))
}

// except returns a rule that allows a system call unless an argument has one of the
// values. The kernel must read only 32 bits of the argument, because the rule does not
// test the high 32 bits.
func except(call string, argument uint32, values ...uint32) rule {
	return all(call, notIn(argument, values...))
}

// attributes lists the system calls that change file attributes. No version of Landlock
// restricts them.
const attributes = `
chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes
futimesat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr
fremovexattr
`

// Host is an additional filter for a process that shares the namespaces of the host.
// System calls that it denies fail with EPERM.
//
// Host always denies unix sockets, because they may lead to any daemon of the host.
type Host struct {
	// Network permits the host's network. If it is false, the process can listen for TCP,
	// but cannot connect. It also cannot use UDP, Multipath TCP or TCP Fast Open, which
	// Landlock does not restrict.
	Network bool
	// Root says that the process has its own root directory. If it is false, the process
	// sees the files of the host, and must not change the mode, owner, times and extended
	// attributes of any file.
	Root bool
}

// Install applies the filter h permanently to all threads of this process. The calling
// thread must have set no_new_privs and must be locked to its goroutine.
func (h Host) Install() error {
	program, err := h.Program()
	if err != nil {
		return err
	}
	return install(program)
}

// Program returns the filter h for this architecture as BPF instructions.
func (h Host) Program() ([]bpf.RawInstruction, error) {
	denied := []rule{all("socket", is(0, unix.AF_UNIX))}
	if !h.Root {
		denied = append(denied, calls(strings.Fields(attributes))...)
	}
	if !h.Network {
		denied = append(denied, rule{call: "connect"})
		denied = append(denied, unreachable()...)
	}
	return policy{rules: denied, action: fail(unix.EPERM), other: unix.SECCOMP_RET_ALLOW}.assemble()
}

// unreachable returns rules that match the ways to send data without connect: IP sockets
// of other types than TCP, and TCP Fast Open.
func unreachable() []rule {
	rules := []rule{
		all("sendto", has(3, unix.MSG_FASTOPEN)),
		all("sendmsg", has(2, unix.MSG_FASTOPEN)),
		all("sendmmsg", has(3, unix.MSG_FASTOPEN)),
	}
	// Every socket type except SOCK_STREAM has one of these bits. The flags
	// of the type argument have higher bits.
	const noStream = 0xf &^ unix.SOCK_STREAM
	for _, family := range []uint64{unix.AF_INET, unix.AF_INET6} {
		rules = append(rules,
			all("socket", is(0, family), has(1, noStream)),
			all("socket", is(0, family), notIn(2, 0, unix.IPPROTO_TCP)),
			all("socket", is(0, family), isWide(2)))
	}
	return rules
}
