package seccomp

import (
	"strings"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// attributes lists the calls that change file attributes. Landlock does not
// restrict them in any version.
const attributes = `
chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes
futimesat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr
fremovexattr
`

// Host is a second filter, on top of the first, for a process that shares the
// namespaces of the host. Denied calls fail with EPERM.
//
// Unix sockets are always denied, because they may lead to any daemon of the host.
type Host struct {
	// Network permits the host's network. Otherwise the process can listen
	// for TCP but not connect: neither over what Landlock does not restrict
	// (Multipath TCP, Fast Open) nor over UDP.
	Network bool
	// Root says that the process has its own root directory. Otherwise the
	// process sees the files of the host, and must not change the mode,
	// owner, times and extended attributes of any file.
	Root bool
}

// Install applies the filter to all threads of this process, as the function
// Install does with the first filter.
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

// unreachable returns rules for the ways to send data without connect: sockets
// of other types than TCP, and Fast Open.
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
