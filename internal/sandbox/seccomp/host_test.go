//go:build linux && (amd64 || arm64)

package seccomp_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox/seccomp"
)

// TestHost checks which system calls the filter Host denies to a process that shares
// namespaces with the host.
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
		{"a TCP socket can listen", isolated, "socket", []uint64{unix.AF_INET, stream, 0}, allow},
		{"flags of the socket type are ignored", isolated, "socket", []uint64{unix.AF_INET6, stream | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, allow},
		{"a netlink socket lists addresses", isolated, "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_RAW), 0}, allow},
		{"a socket pair reaches no other process", isolated, "socketpair", []uint64{unix.AF_UNIX, stream, 0}, allow},
		{"a stream socket could reach Docker", isolated, "socket", []uint64{unix.AF_UNIX, stream, 0}, denied},
		{"a datagram socket could reach the journal", network, "socket", []uint64{unix.AF_UNIX, datagram, 0}, denied},
		{"an abstract socket is reachable from any root directory", root, "socket", []uint64{unix.AF_UNIX, stream | unix.SOCK_CLOEXEC, 0}, denied},
		{"UDP sends without connect", isolated, "socket", []uint64{unix.AF_INET, datagram, 0}, denied},
		{"flags do not hide UDP", isolated, "socket", []uint64{unix.AF_INET6, datagram | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0}, denied},
		{"raw packets are denied", isolated, "socket", []uint64{unix.AF_INET, uint64(unix.SOCK_RAW), unix.IPPROTO_ICMP}, denied},
		{"other socket types are denied", isolated, "socket", []uint64{unix.AF_INET, uint64(unix.SOCK_SEQPACKET), 0}, denied},
		{"Landlock does not restrict MPTCP", isolated, "socket", []uint64{unix.AF_INET, stream, unix.IPPROTO_MPTCP}, denied},
		{"Landlock does not restrict SCTP", isolated, "socket", []uint64{unix.AF_INET6, stream, unix.IPPROTO_SCTP}, denied},
		{"high bits do not hide the protocol", isolated, "socket", []uint64{unix.AF_INET, stream, 1 << 32}, denied},
		{"the host's network permits UDP", network, "socket", []uint64{unix.AF_INET, datagram, 0}, allow},
		{"the host's network permits MPTCP", network, "socket", []uint64{unix.AF_INET, stream, unix.IPPROTO_MPTCP}, allow},
		{"connect is denied without a network", isolated, "connect", nil, denied},
		{"connect is denied without a network, in an own root directory too", root, "connect", nil, denied},
		{"connect is allowed in the host's network", network, "connect", nil, allow},
		{"sendto with Fast Open connects", isolated, "sendto", []uint64{0, 0, 0, unix.MSG_FASTOPEN}, denied},
		{"sendmsg with Fast Open connects, whatever the other flags are", isolated, "sendmsg", []uint64{0, 0, unix.MSG_FASTOPEN | unix.MSG_DONTWAIT}, denied},
		{"sendmmsg with Fast Open connects", isolated, "sendmmsg", []uint64{0, 0, 0, unix.MSG_FASTOPEN}, denied},
		{"a server answers with sendto", isolated, "sendto", []uint64{0, 0, 0, unix.MSG_NOSIGNAL}, allow},
		{"a server answers with sendmsg", isolated, "sendmsg", []uint64{unix.MSG_FASTOPEN, 0, unix.MSG_NOSIGNAL}, allow},
		{"reads are allowed", isolated, "read", []uint64{unix.AF_UNIX, datagram}, allow},
		{"binding is allowed", isolated, "bind", []uint64{1, 1, 1, 1}, allow},
		{"calls whose numbers are between denied ones are allowed", isolated, "accept4", nil, allow},
	} {
		program := e2e.Must(tc.host.Program())(t)
		number := native(t).SyscallNames[tc.call]
		if got := verdictOf(t, program, uint32(native(t).ID), number, tc.args...); got != tc.want {
			t.Errorf("%s(%#x) with %+v: got %#x, want %#x: %s", tc.call, tc.args, tc.host, got, tc.want, tc.reason)
		}
	}
	for host, want := range map[seccomp.Host]uint32{isolated: denied, network: denied, root: allow} {
		program := e2e.Must(host.Program())(t)
		for _, call := range strings.Fields("fchmod fchmodat fchmodat2 fchown fchownat utimensat setxattr lsetxattr fsetxattr removexattr") {
			e2e.Equal(t, fmt.Sprintf("modes and owners can be changed only in an own root directory: %s with %+v", call, host), want, verdictOf(t, program, uint32(native(t).ID), native(t).SyscallNames[call]))
		}
	}
}
