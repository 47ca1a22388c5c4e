package seccomp

import (
	"fmt"
	"slices"
	"syscall"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
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
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("making a seccomp filter: %w", err)
	}
	names := slices.DeleteFunc(allowed(), func(name string) bool {
		_, known := info.SyscallNames[name]
		return !known
	})
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionErrno,
		Syscalls:      []seccomp.SyscallGroup{{Names: names, NamesWithCondtions: conditional(), Action: seccomp.ActionAllow}},
	}
	return assemble(policy, unix.ENOSYS)
}

// assemble makes the filter of a policy, whose errors are errno.
func assemble(policy seccomp.Policy, errno syscall.Errno) ([]bpf.RawInstruction, error) {
	instructions, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("making a seccomp filter: %w", err)
	}
	for i, in := range instructions {
		if in == (bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}) {
			instructions[i] = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
		}
	}
	return bpf.Assemble(instructions)
}

// conditional returns the calls that are allowed with some arguments only.
func conditional() []seccomp.NameWithConditions {
	calls := []seccomp.NameWithConditions{
		// Threads and processes, but no namespaces.
		when("clone", seccomp.BitsNotSet, newNamespaces),
	}
	// Unix and IP sockets, and netlink, by which C libraries list addresses. Not
	// the families, vsock among them, that lead out of the namespaces.
	for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} {
		calls = append(calls, when("socket", seccomp.Equal, family))
	}
	// What Docker allows: Linux, Linux on 32 bits, both with an older version's
	// number, and the question.
	const linux32, oldVersion, question = 0x8, 0x20000, 0xffffffff
	for _, persona := range []uint64{0, linux32, oldVersion, oldVersion | linux32, question} {
		calls = append(calls, when("personality", seccomp.Equal, persona))
	}
	return calls
}

// when is a call whose first argument compares so with a value.
func when(call string, op seccomp.Operation, value uint64) seccomp.NameWithConditions {
	return seccomp.NameWithConditions{Name: call, Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: op, Value: value}}}
}
