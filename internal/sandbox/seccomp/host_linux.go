package seccomp

import (
	"strings"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

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
// A unix socket may lead to any daemon of the host, and is always denied.
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

// unreachable are the ways to reach somebody without connect: sockets that are
// not of TCP, and sending with Fast Open.
func unreachable() []rule {
	rules := []rule{
		all("sendto", has(3, unix.MSG_FASTOPEN)),
		all("sendmsg", has(2, unix.MSG_FASTOPEN)),
		all("sendmmsg", has(3, unix.MSG_FASTOPEN)),
	}
	// The types of sockets but SOCK_STREAM have one of these bits. Flags that may
	// be with them have higher ones.
	const noStream = 0xf &^ unix.SOCK_STREAM
	for _, family := range []uint64{unix.AF_INET, unix.AF_INET6} {
		rules = append(rules,
			all("socket", is(0, family), has(1, noStream)),
			all("socket", is(0, family), isNone(2, 0, unix.IPPROTO_TCP)),
			all("socket", is(0, family), isWide(2)))
	}
	return rules
}
