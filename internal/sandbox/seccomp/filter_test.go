//go:build linux && (amd64 || arm64)

package seccomp_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox/seccomp"
)

// denied lists system calls that Docker's default profile of 2025 denies to a container
// without added capabilities.
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

// alsoDenied lists system calls that Docker allows and the filter denies, because a
// function does not need them.
const alsoDenied = `
chroot process_vm_readv process_vm_writev ptrace adjtimex clock_adjtime
fanotify_mark memfd_secret modify_ldt name_to_handle_at remap_file_pages
vmsplice listmount statmount ioprio_set
`

// shared lists system calls that the filter denies because they exhaust or disturb what
// all processes of the machine share, or because they allocate memory that no resource
// limit counts.
const shared = `
sync syncfs io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy
shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv
msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
`

// needed lists system calls that every program or every server needs.
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

// verdict runs the filter of Program on a system call, and returns the action.
func verdict(t *testing.T, auditArch uint32, number int, args ...uint64) uint32 {
	t.Helper()
	return verdictOf(t, e2e.Must(seccomp.Program())(t), auditArch, number, args...)
}

func verdictOf(t *testing.T, raw []bpf.RawInstruction, auditArch uint32, number int, args ...uint64) uint32 {
	t.Helper()
	instructions, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter has unknown instructions")
	}
	vm := e2e.Must(bpf.NewVM(instructions))(t)
	// bpf.VM reads big-endian words, as in network packets.
	data := binary.BigEndian.AppendUint32(nil, uint32(number))
	data = binary.BigEndian.AppendUint32(data, auditArch)
	data = binary.BigEndian.AppendUint64(data, 0)
	for _, arg := range append(args, make([]uint64, 6-len(args))...) {
		data = binary.BigEndian.AppendUint32(data, uint32(arg))
		data = binary.BigEndian.AppendUint32(data, uint32(arg>>32))
	}
	return uint32(e2e.Must(vm.Run(data))(t))
}

func native(t *testing.T) *arch.Info {
	t.Helper()
	return e2e.Must(arch.GetInfo(runtime.GOARCH))(t)
}

func TestProgram(t *testing.T) {
	info := native(t)
	for _, tc := range []struct {
		reason, calls string
		want          uint32
	}{
		{"Docker's default profile denies it", denied, missing},
		{"only attacks use it", alsoDenied, missing},
		{"it affects other processes", shared, missing},
		{"a server needs it", needed, allow},
	} {
		for _, name := range strings.Fields(tc.calls) {
			number, ok := info.SyscallNames[name]
			if !ok {
				continue // this architecture does not have the call
			}
			arg := uint64(0)
			if name == "socket" {
				arg = unix.AF_INET
			}
			e2e.Equal(t, name+": "+tc.reason, tc.want, verdict(t, uint32(info.ID), number, arg))
		}
	}
}

func TestProgramArguments(t *testing.T) {
	info := native(t)
	const thread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM | unix.CLONE_SETTLS
	for _, tc := range []struct {
		reason, call string
		args         []uint64
		want         uint32
	}{
		{"threads", "clone", []uint64{thread}, allow},
		{"processes", "clone", []uint64{uint64(unix.SIGCHLD)}, allow},
		{"Go starts processes with these flags", "clone", []uint64{unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_PIDFD | uint64(unix.SIGCHLD)}, allow},
		{"a user namespace gives capabilities", "clone", []uint64{unix.CLONE_NEWUSER}, missing},
		{"a mount namespace is denied", "clone", []uint64{unix.CLONE_NEWNS}, missing},
		{"a process namespace is denied", "clone", []uint64{unix.CLONE_NEWPID}, missing},
		{"a network namespace is denied", "clone", []uint64{unix.CLONE_NEWNET}, missing},
		{"an IPC namespace is denied", "clone", []uint64{unix.CLONE_NEWIPC}, missing},
		{"a host name namespace is denied", "clone", []uint64{unix.CLONE_NEWUTS}, missing},
		{"a cgroup namespace is denied", "clone", []uint64{unix.CLONE_NEWCGROUP}, missing},
		{"one forbidden bit among others is denied", "clone", []uint64{thread | unix.CLONE_NEWUSER}, missing},
		{"high bits do not hide a forbidden flag", "clone", []uint64{1<<40 | unix.CLONE_NEWUSER}, missing},
		{"local sockets are allowed", "socket", []uint64{unix.AF_UNIX}, allow},
		{"IP sockets are allowed", "socket", []uint64{unix.AF_INET6}, allow},
		{"C libraries list addresses with it", "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_RAW), unix.NETLINK_ROUTE}, allow},
		{"it lists the sockets of all processes", "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_RAW), unix.NETLINK_SOCK_DIAG}, missing},
		{"it receives device events", "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_DGRAM), unix.NETLINK_KOBJECT_UEVENT}, missing},
		{"it reaches any generic netlink family of the kernel", "socket", []uint64{unix.AF_NETLINK, uint64(unix.SOCK_RAW), unix.NETLINK_GENERIC}, missing},
		{"it reaches the hypervisor", "socket", []uint64{unix.AF_VSOCK}, missing},
		{"the kernel's ciphers have had vulnerabilities", "socket", []uint64{unix.AF_ALG}, missing},
		{"raw packets are denied", "socket", []uint64{unix.AF_PACKET}, missing},
		{"the default personality is allowed", "personality", []uint64{0}, allow},
		{"the query of the personality is allowed", "personality", []uint64{0xffffffff}, allow},
		{"executable data is denied", "personality", []uint64{0x0400000}, missing},
		{"a fixed address layout is denied", "personality", []uint64{0x0040000}, missing},
		{"file locks are allowed", "fcntl", []uint64{3, unix.F_OFD_SETLKW}, allow},
		{"a lease blocks other users who open the file", "fcntl", []uint64{3, unix.F_SETLEASE, unix.F_WRLCK}, missing},
		{"a delegation blocks other users who open the file, since Linux 6.19", "fcntl", []uint64{3, unix.F_SETDELEG}, missing},
		{"high bits do not hide the command", "fcntl", []uint64{3, 1<<32 | unix.F_SETLEASE}, missing},
		{"the high bits of a negative number do not hide the command", "fcntl", []uint64{3, 0xffffffff<<32 | unix.F_SETLEASE}, missing},
		{"the size of a terminal may be read", "ioctl", []uint64{0, unix.TIOCGWINSZ}, allow},
		{"musl sign-extends a negative number", "ioctl", []uint64{0, 0xffffffff<<32 | unix.TIOCGPTN}, allow},
		{"glibc does not sign-extend a negative number", "ioctl", []uint64{0, unix.TIOCGPTN}, allow},
		{"it inserts input into a terminal", "ioctl", []uint64{0, unix.TIOCSTI}, missing},
		{"it pastes into a terminal", "ioctl", []uint64{0, unix.TIOCLINUX}, missing},
		{"it acquires a controlling terminal", "ioctl", []uint64{0, unix.TIOCSCTTY}, missing},
		{"high bits do not hide the request", "ioctl", []uint64{0, 1<<32 | unix.TIOCSTI}, missing},
		{"the high bits of a negative number do not hide the request", "ioctl", []uint64{0, 0xffffffff<<32 | unix.TIOCSTI}, missing},
		{"a process may set its own limits with prlimit64", "prlimit64", []uint64{0, unix.RLIMIT_NOFILE, 1}, allow},
		{"the supervisor's limits must not be set", "prlimit64", []uint64{1, unix.RLIMIT_NOFILE, 1}, missing},
		{"the supervisor's limits must not be read", "prlimit64", []uint64{1, unix.RLIMIT_NOFILE, 0}, missing},
		{"a process may read its own core limit", "prlimit64", []uint64{0, unix.RLIMIT_CORE, 0, 1}, allow},
		{"a host program would receive the core, if prlimit64 set the limit", "prlimit64", []uint64{0, unix.RLIMIT_CORE, 1}, missing},
		{"high bits do not hide the resource of prlimit64", "prlimit64", []uint64{0, 1<<32 | unix.RLIMIT_CORE, 1}, missing},
		{"a process may set its own limits with setrlimit", "setrlimit", []uint64{unix.RLIMIT_NOFILE, 1}, allow},
		{"a host program would receive the core, if setrlimit set the limit", "setrlimit", []uint64{unix.RLIMIT_CORE, 1}, missing},
		{"high bits do not hide the resource of setrlimit", "setrlimit", []uint64{1<<32 | unix.RLIMIT_CORE, 1}, missing},
		{"a thread may set its own priority", "setpriority", []uint64{unix.PRIO_PROCESS, 0, 19}, allow},
		{"the supervisor's priority must not be set", "setpriority", []uint64{unix.PRIO_PROCESS, 1, 19}, missing},
		{"all processes of the user include the supervisor", "setpriority", []uint64{unix.PRIO_USER, 0, 19}, missing},
		{"the supervisor's CPU affinity must not be set", "sched_setaffinity", []uint64{1}, missing},
		{"the supervisor's scheduling policy must not be set", "sched_setscheduler", []uint64{1}, missing},
		{"the supervisor's scheduling parameters must not be set", "sched_setparam", []uint64{1}, missing},
		{"the supervisor's scheduling attributes must not be set", "sched_setattr", []uint64{1}, missing},
	} {
		e2e.Equal(t, tc.call+": "+tc.reason, tc.want, verdict(t, uint32(info.ID), info.SyscallNames[tc.call], tc.args...))
	}
}

func TestProgramOtherInterfaces(t *testing.T) {
	info := native(t)
	for _, other := range []*arch.Info{arch.I386, arch.ARM} {
		e2e.Equal(t, fmt.Sprintf("a system call of %s does not exist", other.Name), missing, verdict(t, uint32(other.ID), other.SyscallNames["getpid"], 0))
	}
	e2e.Equal(t, "a system call of x32 does not exist", missing, verdict(t, uint32(info.ID), 0x40000000|info.SyscallNames["getpid"], 0))
	e2e.Equal(t, "a system call of a future kernel does not exist", missing, verdict(t, uint32(info.ID), 5000, 0))
}
