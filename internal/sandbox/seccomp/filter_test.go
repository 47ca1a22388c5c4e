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
vmsplice listmount statmount ioprio_set
`

// shared are calls that use up, or disturb, what all processes of the machine
// share, or hold memory that no resource limit counts.
const shared = `
sync syncfs io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy
shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv
msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
`

// needed are calls without which nothing runs, or not a server.
const needed = `
read write openat close mmap munmap mprotect brk execve exit_group futex clone
wait4 socket bind listen accept4 connect epoll_create1 epoll_ctl epoll_pwait
rt_sigaction rt_sigprocmask sigaltstack getrandom clock_gettime nanosleep fstat
fcntl ioctl fsync fdatasync prlimit64 setrlimit sched_setaffinity setpriority
`

const (
	allow   = uint32(unix.SECCOMP_RET_ALLOW)
	missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// verdict runs the filter over a call as the kernel would.
func verdict(t *testing.T, auditArch uint32, number int, args ...uint64) uint32 {
	t.Helper()
	raw, err := seccomp.Program()
	if err != nil {
		t.Fatal(err)
	}
	return verdictOf(t, raw, auditArch, number, args...)
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
		{"it takes from others", shared, missing},
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
		args   []uint64
		want   uint32
	}{
		{"threads", "clone", []uint64{thread}, allow},
		{"processes", "clone", []uint64{uint64(unix.SIGCHLD)}, allow},
		{"as Go starts processes", "clone", []uint64{unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_PIDFD | uint64(unix.SIGCHLD)}, allow},
		{"a user namespace gives capabilities", "clone", []uint64{unix.CLONE_NEWUSER}, missing},
		{"no new namespace of any kind", "clone", []uint64{unix.CLONE_NEWNS}, missing},
		{"no new namespace of any kind", "clone", []uint64{unix.CLONE_NEWPID}, missing},
		{"no new namespace of any kind", "clone", []uint64{unix.CLONE_NEWNET}, missing},
		{"no new namespace of any kind", "clone", []uint64{unix.CLONE_NEWIPC}, missing},
		{"no new namespace of any kind", "clone", []uint64{unix.CLONE_NEWUTS}, missing},
		{"no new namespace of any kind", "clone", []uint64{unix.CLONE_NEWCGROUP}, missing},
		{"one bit of many is enough", "clone", []uint64{thread | unix.CLONE_NEWUSER}, missing},
		{"high bits hide nothing", "clone", []uint64{1<<40 | unix.CLONE_NEWUSER}, missing},
		{"local sockets", "socket", []uint64{unix.AF_UNIX}, allow},
		{"the function's own", "socket", []uint64{unix.AF_INET6}, allow},
		{"C libraries list addresses by it", "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_RAW), unix.NETLINK_ROUTE}, allow},
		{"sockets of all processes", "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_RAW), unix.NETLINK_SOCK_DIAG}, missing},
		{"events of devices", "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_DGRAM), unix.NETLINK_KOBJECT_UEVENT}, missing},
		{"any family of the kernel's", "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_RAW), unix.NETLINK_GENERIC}, missing},
		{"it leads to the hypervisor", "socket", []uint64{unix.AF_VSOCK}, missing},
		{"the kernel's ciphers have had holes", "socket", []uint64{unix.AF_ALG}, missing},
		{"raw packets", "socket", []uint64{unix.AF_PACKET}, missing},
		{"the usual personality", "personality", []uint64{0}, allow},
		{"the question for it", "personality", []uint64{0xffffffff}, allow},
		{"executable data", "personality", []uint64{0x0400000}, missing},
		{"no randomness of addresses", "personality", []uint64{0x0040000}, missing},
		{"ordinary locks", "fcntl", []uint64{3, unix.F_OFD_SETLKW}, allow},
		{"it stops who opens the file outside", "fcntl", []uint64{3, unix.F_SETLEASE, unix.F_WRLCK}, missing},
		{"so does this, since Linux 6.19", "fcntl", []uint64{3, unix.F_SETDELEG}, missing},
		{"high bits hide nothing", "fcntl", []uint64{3, 1<<32 | unix.F_SETLEASE}, missing},
		{"high bits hide nothing", "fcntl", []uint64{3, 0xffffffff<<32 | unix.F_SETLEASE}, missing},
		{"the size of a terminal", "ioctl", []uint64{0, unix.TIOCGWINSZ}, allow},
		{"musl widens a negative number", "ioctl", []uint64{0, 0xffffffff<<32 | unix.TIOCGPTN}, allow},
		{"glibc does not", "ioctl", []uint64{0, unix.TIOCGPTN}, allow},
		{"it types at a terminal", "ioctl", []uint64{0, unix.TIOCSTI}, missing},
		{"it pastes there", "ioctl", []uint64{0, unix.TIOCLINUX}, missing},
		{"it takes one", "ioctl", []uint64{0, unix.TIOCSCTTY}, missing},
		{"high bits hide nothing", "ioctl", []uint64{0, 1<<32 | unix.TIOCSTI}, missing},
		{"high bits hide nothing", "ioctl", []uint64{0, 0xffffffff<<32 | unix.TIOCSTI}, missing},
		{"its own limits", "prlimit64", []uint64{0, unix.RLIMIT_NOFILE, 1}, allow},
		{"the supervisor's limits", "prlimit64", []uint64{1, unix.RLIMIT_NOFILE, 1}, missing},
		{"nor to ask for them", "prlimit64", []uint64{1, unix.RLIMIT_NOFILE, 0}, missing},
		{"to ask is harmless", "prlimit64", []uint64{0, unix.RLIMIT_CORE, 0, 1}, allow},
		{"a program of the host would get the core", "prlimit64", []uint64{0, unix.RLIMIT_CORE, 1}, missing},
		{"high bits hide nothing", "prlimit64", []uint64{0, 1<<32 | unix.RLIMIT_CORE, 1}, missing},
		{"its own limits", "setrlimit", []uint64{unix.RLIMIT_NOFILE, 1}, allow},
		{"a program of the host would get the core", "setrlimit", []uint64{unix.RLIMIT_CORE, 1}, missing},
		{"high bits hide nothing", "setrlimit", []uint64{1<<32 | unix.RLIMIT_CORE, 1}, missing},
		{"its own thread's", "setpriority", []uint64{unix.PRIO_PROCESS, 0, 19}, allow},
		{"the supervisor's", "setpriority", []uint64{unix.PRIO_PROCESS, 1, 19}, missing},
		{"all of the user, the supervisor among them", "setpriority", []uint64{unix.PRIO_USER, 0, 19}, missing},
		{"the supervisor's processors", "sched_setaffinity", []uint64{1}, missing},
		{"the supervisor's turns", "sched_setscheduler", []uint64{1}, missing},
		{"the supervisor's turns", "sched_setparam", []uint64{1}, missing},
		{"the supervisor's turns", "sched_setattr", []uint64{1}, missing},
	} {
		if got := verdict(t, uint32(info.ID), info.SyscallNames[tc.call], tc.args...); got != tc.want {
			t.Errorf("%s(%#x): got %#x, want %#x: %s", tc.call, tc.args, got, tc.want, tc.reason)
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
