//go:build linux && (amd64 || arm64)

package seccomp_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/sandbox/seccomp"
)

// What a process without namespaces of its own is denied besides, by what it
// shares.
func TestHost(t *testing.T) {
	const denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	const stream, datagram = uint64(unix.SOCK_STREAM), uint64(unix.SOCK_DGRAM)
	isolated, network, root := seccomp.Host{}, seccomp.Host{Network: true}, seccomp.Host{Root: true}
	for _, tc := range []struct {
		reason string
		host   seccomp.Host
		call   string
		args   []uint64
		want   uint32
	}{
		{"to listen", isolated, "socket", []uint64{unix.AF_INET, stream, 0}, allow},
		{"flags change nothing", isolated, "socket", []uint64{unix.AF_INET6, stream | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, allow},
		{"to list addresses", isolated, "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_RAW), 0}, allow},
		{"a pair reaches nobody", isolated, "socketpair", []uint64{unix.AF_UNIX, stream, 0}, allow},
		{"Docker's socket", isolated, "socket", []uint64{unix.AF_UNIX, stream, 0}, denied},
		{"or the journal's", network, "socket", []uint64{unix.AF_UNIX, datagram, 0}, denied},
		{"in a root of its own, too: abstract ones", root, "socket", []uint64{unix.AF_UNIX, stream | unix.SOCK_CLOEXEC, 0}, denied},
		{"UDP needs no connection", isolated, "socket", []uint64{unix.AF_INET, datagram, 0}, denied},
		{"with any flags", isolated, "socket", []uint64{unix.AF_INET6, datagram | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0}, denied},
		{"raw packets", isolated, "socket", []uint64{unix.AF_INET, uint64(unix.SOCK_RAW), unix.IPPROTO_ICMP}, denied},
		{"other protocols", isolated, "socket", []uint64{unix.AF_INET, uint64(unix.SOCK_SEQPACKET), 0}, denied},
		{"Landlock does not know MPTCP", isolated, "socket", []uint64{unix.AF_INET, stream, unix.IPPROTO_MPTCP}, denied},
		{"nor SCTP", isolated, "socket", []uint64{unix.AF_INET6, stream, unix.IPPROTO_SCTP}, denied},
		{"high bits hide nothing", isolated, "socket", []uint64{unix.AF_INET, stream, 1 << 32}, denied},
		{"the host's network, all of it", network, "socket", []uint64{unix.AF_INET, datagram, 0}, allow},
		{"and its protocols", network, "socket", []uint64{unix.AF_INET, stream, unix.IPPROTO_MPTCP}, allow},
		{"nobody is reached", isolated, "connect", nil, denied},
		{"in a root of its own, too", root, "connect", nil, denied},
		{"but in the host's network", network, "connect", nil, allow},
		{"it connects by sending", isolated, "sendto", []uint64{0, 0, 0, unix.MSG_FASTOPEN}, denied},
		{"with other flags", isolated, "sendmsg", []uint64{0, 0, unix.MSG_FASTOPEN | unix.MSG_DONTWAIT}, denied},
		{"many at once", isolated, "sendmmsg", []uint64{0, 0, 0, unix.MSG_FASTOPEN}, denied},
		{"to answer", isolated, "sendto", []uint64{0, 0, 0, unix.MSG_NOSIGNAL}, allow},
		{"to answer", isolated, "sendmsg", []uint64{unix.MSG_FASTOPEN, 0, unix.MSG_NOSIGNAL}, allow},
		{"ordinary life", isolated, "read", []uint64{unix.AF_UNIX, datagram}, allow},
		{"ordinary life", isolated, "bind", []uint64{1, 1, 1, 1}, allow},
		{"and in between", isolated, "accept4", nil, allow},
	} {
		program, err := tc.host.Program()
		if err != nil {
			t.Fatal(err)
		}
		number := native(t).SyscallNames[tc.call]
		if got := verdictOf(t, program, uint32(native(t).ID), number, tc.args...); got != tc.want {
			t.Errorf("%s(%#x) with %+v: got %#x, want %#x: %s", tc.call, tc.args, tc.host, got, tc.want, tc.reason)
		}
	}
	for host, want := range map[seccomp.Host]uint32{isolated: denied, network: denied, root: allow} {
		program, err := host.Program()
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range strings.Fields("fchmod fchmodat fchmodat2 fchown fchownat utimensat setxattr lsetxattr fsetxattr removexattr") {
			if got := verdictOf(t, program, uint32(native(t).ID), native(t).SyscallNames[call]); got != want {
				t.Errorf("%s with %+v: got %#x, want %#x", call, host, got, want)
			}
		}
	}
}
