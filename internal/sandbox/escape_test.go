//go:build linux

package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// TestEscape lets a hostile function try what a sandbox must not let it do.
func TestEscape(t *testing.T) {
	root := newRoot(t)
	secret := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	loopback, abstract := hostListeners(t)
	me := strconv.Itoa(os.Getpid())

	type attempt struct {
		name   string
		reason string
		act    []string
		want   string // a regular expression for all of the answer
	}
	attempts := []attempt{
		{"SupervisorMemory", "the supervisor's memory would be the function's", []string{"open", "/proc/1/mem", "rw"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorMemoryByThread", "threads have the same files", []string{"open", "/proc/1/task/1/mem", "rw"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorDescriptors", "descriptors of the host lead there", []string{"list", "/proc/1/fd"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorProgramRead", "CVE-2019-5736 begins by opening it", []string{"open", "/proc/1/exe", "r"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorProgramWrite", "CVE-2019-5736", []string{"open", "/proc/1/exe", "w"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorProgramLink", "where it is tells of the host", []string{"open", "/proc/1/exe", "link"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorRoot", "it could be another one", []string{"list", "/proc/1/root"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorDirectory", "it could be the host's", []string{"list", "/proc/1/cwd"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorEnvironment", "secrets are in environments", []string{"cat", "/proc/1/environ"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorMaps", "addresses help an attack", []string{"cat", "/proc/1/maps"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorSignalKill", "process 1 cannot be killed from inside", []string{"signal", "1", "9"}, "EPERM|done"},
		{"SupervisorTrace", "tracing it is owning it", []string{"syscall", "ptrace"}, "ENOSYS"},
		{"LeakedDescriptors", "CVE-2024-21626: it has its own three", []string{"fds"}, `0=/dev/null 1=pipe 2=/dev/null`},

		{"HostFile", "the host's files are not there", []string{"cat", secret}, "ENOENT|EPERM|EACCES"},
		{"HostFileByParents", "/.. is /", []string{"cat", "/../../../../../.." + secret}, "ENOENT|EPERM|EACCES"},
		{"HostFileByOwnRoot", "its own root is its root", []string{"cat", "/proc/self/root" + secret}, "ENOENT|EPERM|EACCES"},
		{"DockerConfig", "the user's credentials are not there", []string{"cat", "/root/.docker/config.json"}, "ENOENT|EPERM|EACCES"},
		{"HostEnvironment", "only what the spec says is in it", []string{"env"}, ""},
		{"HostName", "the host's name is the host's", []string{"hostname"}, sandbox.DefaultHostname},
		{"HostKernelMemory", "/proc/kcore is masked", []string{"cat", "/proc/kcore"}, "|ENOENT"},
		{"HostKeys", "/proc/keys is masked", []string{"cat", "/proc/keys"}, "|ENOENT"},
		{"Disks", "there are no devices but the harmless", []string{"list", "/dev"}, "fd full null random shm stderr stdin stdout urandom zero"},

		{"WriteRoot", "the root is shared", []string{"write", "/new"}, "EROFS"},
		{"WriteProgram", "the root is shared", []string{"write", "/hostile"}, "EROFS|ETXTBSY|EACCES"},
		{"WriteDev", "/dev is read-only", []string{"write", "/dev/new"}, "EROFS|EACCES"},
		{"WriteSysctl", "settings of the kernel", []string{"write", "/proc/sys/kernel/core_pattern"}, "EROFS|EACCES"},
		{"WriteNetworkSysctl", "settings of its own network, too", []string{"write", "/proc/sys/net/ipv4/ip_forward"}, "EROFS|EACCES"},
		{"WriteSysRq", "it would crash the host", []string{"write", "/proc/sysrq-trigger"}, "EROFS|EACCES|ENOENT"},
		{"WriteTmp", "/tmp is the place to write", []string{"write", "/tmp/new"}, "done"},
		{"WriteSharedMemory", "libraries need it; it is /tmp", []string{"write", "/dev/shm/new"}, "done"},

		{"SeeProcesses", "it sees its own only", []string{"pids"}, `/proc/\d+`},
		{"SignalHost", "no process of the host has a number inside", []string{"signal", me, "9"}, "ESRCH|EPERM"},
		{"SignalAll", "all that it may signal is itself, which does not count", []string{"signal", "-1", "0"}, "ESRCH|EPERM|done"},

		{"HostLoopback", "its loopback is its own", []string{"dial", "tcp", loopback}, "ECONNREFUSED"},
		{"Outside", "no packet leaves", []string{"route", "tcp", "192.0.2.1:80"}, "ENETUNREACH"},
		{"OutsideDatagram", "no packet leaves", []string{"route", "udp", "192.0.2.1:53"}, "ENETUNREACH"},
		{"OutsideIPv6", "no packet leaves", []string{"route", "tcp", "[2001:db8::1]:80"}, "ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT"},
		{"HostAbstractSocket", "abstract names belong to a network", []string{"dial", "unix", abstract}, "ECONNREFUSED|EPERM"},

		{
			"Capabilities", "it has none, and no way to any",
			[]string{"status", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"},
			"CapInh=0+ CapPrm=0+ CapEff=0+ CapBnd=0+ CapAmb=0+ NoNewPrivs=1 Seccomp=2",
		},
		{"Calls32", "the calls of 32-bit programs have other numbers", []string{"int80"}, "ENOSYS"},
	}
	for _, call := range []string{
		"mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "mount_setattr", "unshare", "setns",
		"clone-user", "clone-net", "clone3", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "bpf", "keyctl",
		"add_key", "request_key", "userfaultfd", "perf_event_open", "io_uring_setup", "open_by_handle_at", "init_module",
		"kexec_load", "reboot", "sethostname", "settimeofday", "swapon", "syslog", "socket-vsock", "socket-packet", "socket-alg",
		"personality", "x32",
	} {
		attempts = append(attempts, attempt{"Call/" + call, "the filter does not have it", []string{"syscall", call}, "ENOSYS"})
	}
	attempts = append(attempts, attempt{"Call/socket-raw", "raw sockets need a capability", []string{"syscall", "socket-raw"}, "EPERM"})

	for _, user := range []struct {
		name string
		id   int
	}{{"User", 65532}, {"RootOfImage", 0}} {
		t.Run(user.name, func(t *testing.T) {
			for _, tc := range attempts {
				t.Run(tc.name, func(t *testing.T) {
					spec := acting(root, tc.act...)
					spec.UID, spec.GID = user.id, user.id
					said, code := play(t, spec)
					if !regexp.MustCompile(`^(`+tc.want+`)$`).MatchString(said) || code != 0 {
						t.Errorf("%v: got %q and exit code %d, want %q: %s", tc.act, said, code, tc.want, tc.reason)
					}
				})
			}
		})
	}
}

// hostListeners listens on the host as something that a function must not reach
// would, and returns the addresses.
func hostListeners(t *testing.T) (loopback, abstract string) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close() })
	abstract = "@xfn-test-" + strconv.Itoa(os.Getpid())
	unix, err := net.Listen("unix", abstract)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close() })
	return tcp.Addr().String(), abstract
}

func TestEscapeBySetuid(t *testing.T) {
	root := newRoot(t)
	program := filepath.Join(root, "setuid")
	data, err := os.ReadFile(filepath.Join(root, "hostile"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o755|os.ModeSetuid|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	said, code := play(t, acting(root, "setuid", "/setuid"))
	want := "Uid=65532\t65532\t65532\t65532 CapPrm=0000000000000000 CapEff=0000000000000000"
	if said != want || code != 0 {
		t.Errorf("a program with a setuid bit: got %q and exit code %d, want %q", said, code, want)
	}
}

// An image may name the supervisor's own program as its interpreter: that is the
// moment at which it is reachable.
func TestEscapeByInterpreter(t *testing.T) {
	root := newRoot(t)
	if err := os.WriteFile(filepath.Join(root, "script"), []byte("#!/proc/self/exe\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := acting(root)
	spec.Args, spec.Env = []string{"/script"}, []string{interpreterVar + "=1"}
	r, w := pipe(t)
	spec.Stdout, spec.Stderr = w, w
	p, err := sandbox.Start(t.Context(), spec)
	if err != nil {
		t.Skipf("this test program is not static: %v", err)
	}
	w.Close()
	defer p.Stop()
	var said [64]byte
	n, _ := r.Read(said[:])
	if got, want := string(said[:n]), "sealed: true <nil>\n"; got != want {
		t.Errorf("the supervisor's program as an interpreter: got %q, want %q", got, want)
	}
}

func TestEscapeByWorkingDirectory(t *testing.T) {
	root := newRoot(t)
	host, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0) // not to be closed by exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(host)
	for _, self := range []string{"self", "1"} {
		for fd := 3; fd <= host+8; fd++ {
			spec := acting(root, "list", ".")
			spec.Dir = "/proc/" + self + "/fd/" + strconv.Itoa(fd)
			p, err := sandbox.Start(t.Context(), spec)
			if err == nil {
				p.Stop()
				t.Errorf("Start() in %q, a descriptor of the supervisor's: got no error", spec.Dir)
			} else if !strings.Contains(err.Error(), "there is no working directory") {
				t.Errorf("Start() in %q: got error %q", spec.Dir, err)
			}
		}
	}
}

func TestEscapeByMountpoint(t *testing.T) {
	for _, tc := range []struct {
		reason string
		name   string
		target string
		want   string // of the error; empty: the link is left alone
	}{
		{"a link would have the host's directory mounted over", "proc", "/etc", "the root's /proc is not a directory"},
		{"a relative one too", "dev", "../../../../../etc", "the root's /dev is not a directory"},
		{"and one within the root", "tmp", "hostile", "the root's /tmp is not a directory"},
		{"a file is laid over only what is a file", "etc/resolv.conf", "/etc/hostname", ""},
		{"and only in a directory", "etc", "/etc", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := newRoot(t)
			link := filepath.Join(root, tc.name)
			if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(tc.target, link); err != nil {
				t.Fatal(err)
			}
			spec := acting(root, "hello")
			spec.Resolver = []byte("nameserver 192.0.2.53\n")
			if tc.want == "" {
				if said, _ := play(t, spec); said != "hello" {
					t.Errorf("with a link at %s: got %q: %s", tc.name, said, tc.reason)
				}
				return
			}
			if _, err := sandbox.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Start() with a link at %s: got error %v, want %q: %s", tc.name, err, tc.want, tc.reason)
			}
		})
	}
}

func TestEscapeByForkBomb(t *testing.T) {
	spec := acting(newRoot(t), "fork-bomb")
	spec.Limits.PIDs = 64
	said, code := play(t, spec)
	count, errno, _ := strings.Cut(said, " ")
	// A supervisor that gets no thread any more ends, and all with it.
	n, err := strconv.Atoi(count)
	if said != "" && (err != nil || n >= 64 || errno != "EAGAIN") || said == "" && code == 0 {
		t.Errorf("a fork bomb with 64 threads: got %q and exit code %d, want less than 64 processes and EAGAIN", said, code)
	}
}

func TestEscapeByMemory(t *testing.T) {
	spec := acting(newRoot(t), "memory", "512")
	spec.Limits.Memory = 192 << 20
	said, code := play(t, spec)
	if said == "done" || said == "" && code == 0 {
		t.Errorf("512 MiB with 192 allowed: got %q and exit code %d", said, code)
	}
	spec.Args[2] = "64"
	if said, code := play(t, spec); said != "done" || code != 0 {
		t.Errorf("64 MiB with 192 allowed: got %q and exit code %d", said, code)
	}
}

func TestEscapeByDisk(t *testing.T) {
	root := newRoot(t)
	for _, tc := range []struct {
		name     string
		act      []string
		writable bool
		want     string
	}{
		{"Bytes", []string{"disk", "/tmp/file"}, false, "[0-8] ENOSPC"},
		{"Entries", []string{"inodes", "/tmp"}, false, `\d{1,4} ENOSPC`},
		{"BytesOfRoot", []string{"disk", "/file"}, true, "[0-8] ENOSPC"},
		{"SharedMemory", []string{"disk", "/dev/shm/file"}, false, "[0-8] ENOSPC"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := acting(root, tc.act...)
			spec.Limits.Tmp, spec.Writable = 8<<20, tc.writable
			spec.UID, spec.GID = 0, 0 // who may write to the root
			if tc.writable && os.Geteuid() == 0 {
				spec = ownedByRange(t, spec)
			}
			said, _ := play(t, spec)
			if !regexp.MustCompile(`^(` + tc.want + `)$`).MatchString(said) {
				t.Errorf("%v with 8 MiB: got %q, want %q", tc.act, said, tc.want)
			}
		})
	}
}

// ownedByRange gives the root to the sandbox's user 0.
func ownedByRange(t *testing.T, spec sandbox.Spec) sandbox.Spec {
	t.Helper()
	if err := os.Chown(spec.Root, sandbox.DefaultHostID, sandbox.DefaultHostID); err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestEscapeRunner(t *testing.T) {
	loopback, abstract := hostListeners(t)
	root := newRoot(t)
	spec := acting(root, "dial", "tcp", loopback)
	spec.Network = sandbox.Runner
	if said, _ := play(t, spec); said != "done" {
		t.Errorf("the host's loopback with the caller's network: got %q", said)
	}
	spec.Args = []string{"/hostile", "dial", "unix", abstract}
	abi := begin(t, spec).Report().Landlock
	if said, _ := play(t, spec); abi >= 6 && said != "EPERM" {
		t.Errorf("an abstract socket of the host, with Landlock %d: got %q, want EPERM", abi, said)
	}
}
