//go:build linux && (amd64 || arm64)

package seccomp_test

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/sandbox/seccomp"
)

// denied are the calls that Docker's default profile denies to a container that
// was given no capability beyond the usual, by the profile of 2025.
const denied = `
_sysctl acct add_key afs_syscall bpf clock_settime clone3 create_module
delete_module fanotify_init finit_module fsconfig fsmount fsopen fspick
get_kernel_syms get_mempolicy getpmsg init_module io_uring_enter
io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load
keyctl lookup_dcookie lsm_get_self_attr lsm_list_modules lsm_set_self_attr mbind
migrate_pages mount mount_setattr move_mount move_pages nfsservctl
open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root
process_madvise putpmsg query_module quotactl quotactl_fd reboot request_key
security set_mempolicy set_mempolicy_home_node setdomainname sethostname setns
settimeofday swapoff swapon sysfs syslog tuxcall umount2 unshare uselib
userfaultfd ustat vhangup vserver
`

// alsoDenied are calls that Docker allows and a function does not need.
const alsoDenied = `
chroot process_vm_readv process_vm_writev ptrace adjtimex clock_adjtime
fanotify_mark memfd_secret modify_ldt name_to_handle_at remap_file_pages
vmsplice listmount statmount
`

// needed are calls without which nothing runs, or not a server.
const needed = `
read write openat close mmap munmap mprotect brk execve exit_group futex clone
wait4 socket bind listen accept4 connect epoll_create1 epoll_ctl epoll_pwait
rt_sigaction rt_sigprocmask sigaltstack getrandom clock_gettime nanosleep fstat
`

const (
	allow   = uint32(unix.SECCOMP_RET_ALLOW)
	missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// verdict runs the filter over a call as the kernel would.
func verdict(t *testing.T, auditArch uint32, number int, arg uint64) uint32 {
	t.Helper()
	raw, err := seccomp.Program()
	if err != nil {
		t.Fatal(err)
	}
	return verdictOf(t, raw, auditArch, number, arg)
}

func verdictOf(t *testing.T, raw []bpf.RawInstruction, auditArch uint32, number int, args ...uint64) uint32 {
	t.Helper()
	instructions, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter has unknown instructions")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	// The machine reads big-endian words, as of packets.
	data := binary.BigEndian.AppendUint32(nil, uint32(number))
	data = binary.BigEndian.AppendUint32(data, auditArch)
	data = binary.BigEndian.AppendUint64(data, 0)
	for _, arg := range append(args, make([]uint64, 6-len(args))...) {
		data = binary.BigEndian.AppendUint32(data, uint32(arg))
		data = binary.BigEndian.AppendUint32(data, uint32(arg>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

func native(t *testing.T) *arch.Info {
	t.Helper()
	info, err := arch.GetInfo(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestProgram(t *testing.T) {
	info := native(t)
	for _, tc := range []struct {
		reason string
		calls  string
		want   uint32
	}{
		{"Docker's default profile denies it", denied, missing},
		{"it is of use to an attack only", alsoDenied, missing},
		{"a server needs it", needed, allow},
	} {
		for _, name := range strings.Fields(tc.calls) {
			number, ok := info.SyscallNames[name]
			if !ok {
				continue // of another architecture
			}
			arg := uint64(0)
			if name == "socket" {
				arg = unix.AF_INET
			}
			if got := verdict(t, uint32(info.ID), number, arg); got != tc.want {
				t.Errorf("%s: got %#x, want %#x: %s", name, got, tc.want, tc.reason)
			}
		}
	}
}

func TestProgramArguments(t *testing.T) {
	info := native(t)
	const thread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM | unix.CLONE_SETTLS
	for _, tc := range []struct {
		reason string
		call   string
		arg    uint64
		want   uint32
	}{
		{"threads", "clone", thread, allow},
		{"processes", "clone", uint64(unix.SIGCHLD), allow},
		{"as Go starts processes", "clone", unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_PIDFD | uint64(unix.SIGCHLD), allow},
		{"a user namespace gives capabilities", "clone", unix.CLONE_NEWUSER, missing},
		{"no new namespace of any kind", "clone", unix.CLONE_NEWNS, missing},
		{"no new namespace of any kind", "clone", unix.CLONE_NEWPID, missing},
		{"no new namespace of any kind", "clone", unix.CLONE_NEWNET, missing},
		{"no new namespace of any kind", "clone", unix.CLONE_NEWIPC, missing},
		{"no new namespace of any kind", "clone", unix.CLONE_NEWUTS, missing},
		{"no new namespace of any kind", "clone", unix.CLONE_NEWCGROUP, missing},
		{"one bit of many is enough", "clone", thread | unix.CLONE_NEWUSER, missing},
		{"high bits hide nothing", "clone", 1<<40 | unix.CLONE_NEWUSER, missing},
		{"local sockets", "socket", unix.AF_UNIX, allow},
		{"the function's own", "socket", unix.AF_INET6, allow},
		{"C libraries list addresses by it", "socket", unix.AF_NETLINK, allow},
		{"it leads to the hypervisor", "socket", unix.AF_VSOCK, missing},
		{"the kernel's ciphers have had holes", "socket", unix.AF_ALG, missing},
		{"raw packets", "socket", unix.AF_PACKET, missing},
		{"the usual personality", "personality", 0, allow},
		{"the question for it", "personality", 0xffffffff, allow},
		{"executable data", "personality", 0x0400000, missing},
		{"no randomness of addresses", "personality", 0x0040000, missing},
	} {
		if got := verdict(t, uint32(info.ID), info.SyscallNames[tc.call], tc.arg); got != tc.want {
			t.Errorf("%s(%#x): got %#x, want %#x: %s", tc.call, tc.arg, got, tc.want, tc.reason)
		}
	}
}

func TestProgramOtherInterfaces(t *testing.T) {
	info := native(t)
	for _, other := range []*arch.Info{arch.I386, arch.ARM} {
		if got := verdict(t, uint32(other.ID), other.SyscallNames["getpid"], 0); got != missing {
			t.Errorf("getpid of %s: got %#x, want %#x", other.Name, got, missing)
		}
	}
	if got := verdict(t, uint32(info.ID), 0x40000000|info.SyscallNames["getpid"], 0); got != missing {
		t.Errorf("getpid of x32: got %#x, want %#x", got, missing)
	}
	if got := verdict(t, uint32(info.ID), 5000, 0); got != missing {
		t.Errorf("a call of a kernel to come: got %#x, want %#x", got, missing)
	}
}
