package sandboxtest

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// newNamespaces are the flags of clone that container engines forbid.
const newNamespaces = 0x7e020000

// Exec replaces this process by a program. The program and its children cannot
// create namespaces or mounts, as under the default profile of container
// engines. Exec returns only if it fails.
func Exec(program string, args, env []string) error {
	runtime.LockOSThread()
	instructions, err := filter()
	if err != nil {
		return err
	}
	raw, err := bpf.Assemble(instructions)
	if err != nil {
		return fmt.Errorf("creating a seccomp filter: %w", err)
	}
	filters := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		filters[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("installing the seccomp filter: %w", err)
	}
	return fmt.Errorf("executing %q: %w", program, syscall.Exec(program, args, env))
}

// filter returns the relevant part of such a profile. clone3 fails as unknown,
// because no filter can read its flags.
func filter() ([]bpf.Instruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("creating a seccomp filter: %w", err)
	}
	const (
		number, argument = 0, 16 // offsets in the data that a filter reads
		errno            = unix.SECCOMP_RET_ERRNO
	)
	instructions := []bpf.Instruction{bpf.LoadAbsolute{Off: number, Size: 4}}
	for _, name := range []string{"unshare", "setns", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen"} {
		instructions = append(instructions,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(info.SyscallNames[name]), SkipTrue: 1},
			bpf.RetConstant{Val: errno | uint32(unix.EPERM)})
	}
	return append(instructions,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(info.SyscallNames["clone3"]), SkipTrue: 1},
		bpf.RetConstant{Val: errno | uint32(unix.ENOSYS)},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(info.SyscallNames["clone"]), SkipTrue: 3},
		bpf.LoadAbsolute{Off: argument, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: newNamespaces, SkipTrue: 1},
		bpf.RetConstant{Val: errno | uint32(unix.EPERM)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	), nil
}
