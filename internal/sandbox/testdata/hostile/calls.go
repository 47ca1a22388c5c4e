package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// calls are system calls with arguments. The kernel would refuse most of them
// anyway; what is asked is who refuses first.
var calls = map[string][6]uintptr{
	"mount":             {unix.SYS_MOUNT, 0, 0, 0, unix.MS_REMOUNT},
	"umount2":           {unix.SYS_UMOUNT2},
	"pivot_root":        {unix.SYS_PIVOT_ROOT},
	"chroot":            {unix.SYS_CHROOT},
	"open_tree":         {unix.SYS_OPEN_TREE},
	"move_mount":        {unix.SYS_MOVE_MOUNT},
	"fsopen":            {unix.SYS_FSOPEN},
	"mount_setattr":     {unix.SYS_MOUNT_SETATTR},
	"unshare":           {unix.SYS_UNSHARE, unix.CLONE_NEWUSER},
	"setns":             {unix.SYS_SETNS},
	"clone-user":        {unix.SYS_CLONE, unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)},
	"clone-net":         {unix.SYS_CLONE, unix.CLONE_NEWNET | uintptr(unix.SIGCHLD)},
	"clone3":            {unix.SYS_CLONE3},
	"ptrace":            {unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1},
	"process_vm_readv":  {unix.SYS_PROCESS_VM_READV, 1},
	"process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, 1},
	"pidfd_getfd":       {unix.SYS_PIDFD_GETFD},
	"kcmp":              {unix.SYS_KCMP, 1, 1},
	"bpf":               {unix.SYS_BPF},
	"keyctl":            {unix.SYS_KEYCTL},
	"add_key":           {unix.SYS_ADD_KEY},
	"request_key":       {unix.SYS_REQUEST_KEY},
	"userfaultfd":       {unix.SYS_USERFAULTFD},
	"perf_event_open":   {unix.SYS_PERF_EVENT_OPEN},
	"io_uring_setup":    {unix.SYS_IO_URING_SETUP, 1},
	"open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT},
	"init_module":       {unix.SYS_INIT_MODULE},
	"kexec_load":        {unix.SYS_KEXEC_LOAD},
	"reboot":            {unix.SYS_REBOOT},
	"sethostname":       {unix.SYS_SETHOSTNAME},
	"settimeofday":      {unix.SYS_SETTIMEOFDAY},
	"swapon":            {unix.SYS_SWAPON},
	"syslog":            {unix.SYS_SYSLOG},
	"socket-vsock":      {unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM},
	"socket-packet":     {unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW},
	"socket-alg":        {unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET},
	"socket-raw":        {unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
	"socket-unix":       {unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM},
	"socket-unix-dgram": {unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM},
	"socket-udp":        {unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC},
	"socket-udp6":       {unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM},
	"socket-mptcp":      {unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_NONBLOCK, unix.IPPROTO_MPTCP},
	"socket-sctp":       {unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
	"connect":           {unix.SYS_CONNECT, ^uintptr(0)},
	"fastopen":          {unix.SYS_SENDTO, ^uintptr(0), 0, 0, unix.MSG_FASTOPEN | unix.MSG_DONTWAIT},
	"fastopen-msg":      {unix.SYS_SENDMSG, ^uintptr(0), 0, unix.MSG_FASTOPEN},
	"shmget":            {unix.SYS_SHMGET, 0, 4096, 0o1600},
	"mq_open":           {unix.SYS_MQ_OPEN},
	"prlimit-other":     {unix.SYS_PRLIMIT64, uintptr(os.Getppid())},
	"prlimit-own":       {unix.SYS_PRLIMIT64, 0},
	"personality":       {unix.SYS_PERSONALITY, 0x0400000}, // READ_IMPLIES_EXEC
	"x32":               {0x40000000 + 39},                 // getpid
}
