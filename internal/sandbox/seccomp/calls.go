package seccomp

import "strings"

// usual lists the system calls that a server in Go, Python, Java or C normally makes:
// files, memory, threads, time, sockets, signals. The filter ignores names that the
// architecture does not have.
//
// usual omits calls that would exhaust or disturb what all processes of the machine
// share. sync and syncfs write the files of all users to disk. io_setup uses the few
// requests that the kernel has for all processes. No resource limit counts the memory of
// System V queues and semaphores.
const usual = `
accept accept4 access alarm arch_prctl bind brk chdir chmod chown clock_getres
clock_gettime clock_nanosleep close close_range connect copy_file_range creat
dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2
epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2
fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fdatasync
fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync
ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat
get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid
getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority
getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt
gettid gettimeofday getuid getxattr inotify_add_watch inotify_init inotify_init1
inotify_rm_watch kill lchown lgetxattr link linkat listen listxattr llistxattr
lremovexattr lseek lsetxattr lstat madvise membarrier memfd_create mincore mkdir
mkdirat mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall
munmap nanosleep newfstatat open openat openat2 pause pidfd_open
pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl
pread64 preadv preadv2 pselect6 pwrite64 pwritev pwritev2 read readahead
readlink readlinkat readv recvfrom recvmmsg recvmsg removexattr rename renameat
renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask
rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr
sched_getparam sched_getscheduler sched_rr_get_interval sched_yield select
sendfile sendmmsg sendmsg sendto set_robust_list set_tid_address setfsgid
setfsuid setgid setgroups setitimer setpgid setregid setresgid setresuid
setreuid setsid setsockopt setuid setxattr shutdown sigaltstack signalfd
signalfd4 socketpair splice stat statfs statx symlink symlinkat sync_file_range
sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill
truncate umask uname unlink unlinkat utime utimensat utimes vfork wait4 waitid
write writev
`

// A reason is a list of system calls that are not in usual, and why the filter allows them.
type reason struct{ calls, why string }

func unusual() []reason {
	return []reason{
		{"capget capset", "programs read their capabilities and drop them; a function has none"},
		{"seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self", "a function may confine itself further: filters and rulesets only add restrictions"},
		{"mknod mknodat", "C libraries create named pipes with it; a device needs a capability"},
		{"cachestat", "reads which pages of an open file are cached"},
		{"map_shadow_stack mseal", "C libraries protect their stacks and mappings with it"},
	}
}

// allowed returns the names of the system calls that the filter allows with any arguments.
func allowed() []string {
	names := strings.Fields(usual)
	for _, r := range unusual() {
		names = append(names, strings.Fields(r.calls)...)
	}
	return names
}
