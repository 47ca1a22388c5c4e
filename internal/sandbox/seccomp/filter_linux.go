package seccomp

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Install puts the filter over all threads of this process, for ever. The
// calling thread must have set no_new_privs, and stay the caller's: the filter
// sets it on all others.
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

// Program returns the filter for this architecture. Whatever is not allowed
// fails with ENOSYS, as if the kernel were older: that is the answer for which C
// libraries and runtimes have another way ready, as for clone3, whose flags no
// filter can see.
func Program() ([]bpf.RawInstruction, error) {
	rules := append(calls(allowed()), conditional()...)
	return policy{rules: rules, action: unix.SECCOMP_RET_ALLOW, other: fail(unix.ENOSYS)}.assemble()
}

// conditional returns the calls that are allowed with some arguments only.
func conditional() []rule {
	rules := []rule{
		// Threads and processes, but no namespaces.
		all("clone", hasNone(0, newNamespaces)),
		// Netlink, by which C libraries list addresses. Its other protocols ask
		// parts of the kernel that a function has no use for.
		all("socket", is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)),
	}
	// Unix and IP sockets. Not the families, vsock among them, that lead out of
	// the namespaces.
	for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6} {
		rules = append(rules, all("socket", is(0, family)))
	}
	// What Docker allows: Linux, Linux on 32 bits, both with an older version's
	// number, and the question.
	const linux32, oldVersion, question = 0x8, 0x20000, 0xffffffff
	for _, persona := range []uint64{0, linux32, oldVersion, oldVersion | linux32, question} {
		rules = append(rules, all("personality", is(0, persona)))
	}
	// No lease, or delegation, which stops whoever opens the same file outside.
	rules = append(rules, except("fcntl", 1, unix.F_SETLEASE, unix.F_SETDELEG))
	// No typing at a terminal, and no taking of one.
	rules = append(rules, except("ioctl", 1, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSCTTY))
	return append(rules, ofItself()...)
}

// ofItself are the calls that set something of a process, which is to be the
// calling one: the supervisor has the same user.
//
// The limit of core files stays: 1 is the only one by which the kernel gives
// none to a program of the host.
func ofItself() []rule {
	const myself = 0
	rules := []rule{
		all("setpriority", is(0, unix.PRIO_PROCESS), is(1, myself)),
		all("prlimit64", is(0, myself), is(2, 0)), // which only asks
		all("prlimit64", is(0, myself), isNone(1, unix.RLIMIT_CORE)),
	}
	for _, name := range []string{"sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"} {
		rules = append(rules, all(name, is(0, myself)))
	}
	return append(rules, except("setrlimit", 0, unix.RLIMIT_CORE))
}

// except is the rule of a call that is allowed unless an argument has one of
// these values. It is one of those of which the kernel reads 32 bits only.
func except(call string, argument uint32, values ...uint32) rule {
	return all(call, isNone(argument, values...))
}
