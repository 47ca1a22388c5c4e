package seccomp

import (
	"fmt"
	"slices"
	"strings"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// ipc are the calls that reach other processes of the same user through the IPC
// namespace.
const ipc = `
shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv
msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
`

// attributes are the calls that change what files are besides their content. No
// version of Landlock knows them.
const attributes = `
chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes
futimesat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr
fremovexattr
`

// Host is a second filter, over the first, for a process that shares the
// namespaces of the host. What it denies fails with EPERM.
//
// A unix socket may lead to any daemon of the host, and the limits of another
// process of the same user may be set: both are always denied.
type Host struct {
	// Network leaves it the host's network. Else it can listen for TCP, and
	// reach nobody: also not by what Landlock takes for no connecting (Multipath
	// TCP, Fast Open), nor by UDP.
	Network bool
	// Root tells that it has a root of its own. Else it can change no file's
	// mode, owner, times and extended attributes, since it has those of the host
	// before it.
	Root bool
}

// Install puts the filter over all threads of this process, as the function of
// that name does with the first.
func (h Host) Install() error {
	program, err := h.Program()
	if err != nil {
		return err
	}
	return install(program)
}

// Program returns the filter for this architecture.
func (h Host) Program() ([]bpf.RawInstruction, error) {
	denied := strings.Fields(ipc)
	if !h.Root {
		denied = append(denied, strings.Fields(attributes)...)
	}
	conditions := []seccomp.NameWithConditions{
		all("socket", is(0, unix.AF_UNIX)),
		all("prlimit64", isNot(0, 0)),
	}
	if !h.Network {
		denied = append(denied, "connect")
		conditions = append(conditions, unreachable()...)
	}
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("making a seccomp filter: %w", err)
	}
	denied = slices.DeleteFunc(denied, func(name string) bool {
		_, known := info.SyscallNames[name]
		return !known
	})
	return assemble(seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls:      []seccomp.SyscallGroup{{Names: denied, NamesWithCondtions: conditions, Action: seccomp.ActionErrno}},
	}, unix.EPERM)
}

// unreachable are the ways to reach somebody without connect: sockets that are
// not of TCP, and sending with Fast Open.
func unreachable() []seccomp.NameWithConditions {
	conditions := []seccomp.NameWithConditions{
		all("sendto", has(3, unix.MSG_FASTOPEN)),
		all("sendmsg", has(2, unix.MSG_FASTOPEN)),
		all("sendmmsg", has(3, unix.MSG_FASTOPEN)),
	}
	// The types of sockets but SOCK_STREAM have one of these bits. Flags that may
	// be with them have higher ones.
	const noStream = 0xf &^ unix.SOCK_STREAM
	for _, family := range []uint64{unix.AF_INET, unix.AF_INET6} {
		conditions = append(conditions,
			all("socket", is(0, family), has(1, noStream)),
			all("socket", is(0, family), isNot(2, 0), isNot(2, unix.IPPROTO_TCP)))
	}
	return conditions
}

// all is a call whose arguments meet all of these conditions.
func all(call string, conditions ...seccomp.Condition) seccomp.NameWithConditions {
	return seccomp.NameWithConditions{Name: call, Conditions: conditions}
}

func is(argument uint32, value uint64) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: seccomp.Equal, Value: value}
}

func isNot(argument uint32, value uint64) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: seccomp.NotEqual, Value: value}
}

// has is an argument with any of these bits.
func has(argument uint32, bits uint64) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: bits}
}
