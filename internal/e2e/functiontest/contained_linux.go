package functiontest

import (
	"fmt"
	"runtime"
	"syscall"

	"github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// newNamespaces are the flags of clone that create namespaces. Container engines forbid
// them.
const newNamespaces = 0x7e020000

// ExecContained replaces this process by a program. The program and its children cannot
// create namespaces or mounts, as under the default profile of container
// engines. ExecContained returns only if it fails.
func ExecContained(program string, args, env []string) error {
	runtime.LockOSThread()
	for _, group := range []seccomp.SyscallGroup{{
		Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM),
		Names:  []string{"unshare", "setns", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen"},
		NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: newNamespaces}}},
		},
	}, {
		Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS),
		Names:  []string{"clone3"}, // clone3 reads its flags from memory, which a filter cannot read
	}} {
		policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{group}}
		if err := seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Policy: policy}); err != nil {
			return fmt.Errorf("installing a seccomp filter: %w", err)
		}
	}
	return fmt.Errorf("executing %q: %w", program, syscall.Exec(program, args, env))
}
