//go:build linux

package sandbox_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// TestEscape runs a hostile function in a sandbox, and checks the result of each action
// that it tries.
func TestEscape(t *testing.T) {
	root := newRoot(t)
	home := e2e.ShortDir(t)
	secret := filepath.Join(home, ".docker", "config.json")
	e2e.NoError(t, errors.Join(os.Mkdir(filepath.Dir(secret), 0o755), os.WriteFile(secret, []byte("secret"), 0o644)))
	t.Setenv("HOME", home)
	leakDescriptors(t)
	loopback, abstract := hostListeners(t)
	me := strconv.Itoa(os.Getpid())

	type attempt struct {
		name   string
		reason string
		act    []string
		want   string // a regular expression for the whole output
	}
	attempts := []attempt{
		{"SupervisorMemory", "access to the supervisor's memory would give access to the supervisor", []string{"open", "/proc/1/mem", "rw"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorMemoryByThread", "threads have the same files", []string{"open", "/proc/1/task/1/mem", "rw"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorDescriptors", "open descriptors of the host would lead out", []string{"list", "/proc/1/fd"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorProgramRead", "CVE-2019-5736 begins with opening /proc/self/exe", []string{"open", "/proc/1/exe", "r"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorProgramWrite", "CVE-2019-5736", []string{"open", "/proc/1/exe", "w"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorProgramLink", "the location of the program reveals names of the host", []string{"open", "/proc/1/exe", "link"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorRoot", "the program could be replaced", []string{"list", "/proc/1/root"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorDirectory", "the root could be the host's", []string{"list", "/proc/1/cwd"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorEnvironment", "environments contain secrets", []string{"cat", "/proc/1/environ"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorMaps", "addresses help an attack", []string{"cat", "/proc/1/maps"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorSignalKill", "process 1 cannot be killed from inside", []string{"signal", "1", "9"}, "EPERM|done"},
		{"SupervisorTrace", "tracing a process gives control over it", []string{"syscall", "ptrace"}, "ENOSYS"},
		{"SupervisorDescriptor0", "the descriptor could be opened again", []string{"open", "/proc/1/fd/0", "r"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorDescriptor3", "the supervisor received its request on this descriptor", []string{"open", "/proc/1/fd/3", "rw"}, "ENOENT|EPERM|EACCES"},
		{"SupervisorDescriptor4", "the supervisor receives connections on this descriptor", []string{"open", "/proc/1/fd/4", "rw"}, "ENOENT|EPERM|EACCES"},
		{"LeakedDescriptors", "CVE-2024-21626: only the three standard descriptors are open", []string{"fds"}, `0=/dev/null 1=pipe 2=/dev/null`},
		{"Session", "a new session has no terminal", []string{"session"}, "true"},

		{"DockerConfig", "the user's credentials do not exist, even if all users may read them", []string{"cat", secret}, "ENOENT"},
		{"HostFileByParents", "/.. is /", []string{"cat", "/../../../../../.." + secret}, "ENOENT"},
		{"HostFileByOwnRoot", "its root is its own root", []string{"cat", "/proc/self/root" + secret}, "ENOENT"},
		{"HostEnvironment", "the environment has only the variables of the spec", []string{"env"}, ""},
		{"HostName", "the host's name is hidden", []string{"hostname"}, sandbox.DefaultHostname},
		{"HostKernelMemory", "/proc/kcore is masked", []string{"cat", "/proc/kcore"}, "|ENOENT"},
		{"HostKeys", "/proc/keys is masked", []string{"cat", "/proc/keys"}, "|ENOENT"},
		{"Disks", "only harmless devices exist", []string{"list", "/dev"}, "fd full null random shm stderr stdin stdout urandom zero"},

		{"WriteRoot", "all runs share the root", []string{"write", "/new"}, "EROFS"},
		{"WriteProgram", "all runs share the root", []string{"write", "/hostile"}, "EROFS|ETXTBSY|EACCES"},
		{"WriteDev", "/dev is read-only", []string{"write", "/dev/new"}, "EROFS|EACCES"},
		{"WriteSysctl", "settings of the kernel are read-only", []string{"write", "/proc/sys/kernel/core_pattern"}, "EROFS|EACCES"},
		{"WriteNetworkSysctl", "settings of its own network are read-only too", []string{"write", "/proc/sys/net/ipv4/ip_forward"}, "EROFS|EACCES"},
		{"WriteSysRq", "sysrq could crash the host", []string{"write", "/proc/sysrq-trigger"}, "EROFS|EACCES|ENOENT"},
		{"WriteTmp", "/tmp is writable", []string{"write", "/tmp/new"}, "done"},
		{"WriteSharedMemory", "libraries need /dev/shm, which is /tmp", []string{"write", "/dev/shm/new"}, "done"},

		{"SeeProcesses", "it sees only its own processes", []string{"pids"}, `/proc/\d+`},
		{"SignalHost", "no process of the host has an id inside", []string{"signal", me, "9"}, "ESRCH|EPERM"},
		{"SignalAll", "it can signal only itself, which does not count", []string{"signal", "-1", "0"}, "ESRCH|EPERM|done"},

		{"HostLoopback", "its loopback is its own", []string{"dial", "tcp", loopback}, "ECONNREFUSED"},
		{"Outside", "no packet leaves the sandbox by UDP", []string{"route", "tcp", "192.0.2.1:80"}, "ENETUNREACH"},
		{"OutsideDatagram", "no packet leaves the sandbox by TCP", []string{"route", "udp", "192.0.2.1:53"}, "ENETUNREACH"},
		{"OutsideIPv6", "no packet leaves the sandbox by a route", []string{"route", "tcp", "[2001:db8::1]:80"}, "ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT"},
		{"HostAbstractSocket", "abstract socket names belong to a network namespace", []string{"dial", "unix", abstract}, "ECONNREFUSED|EPERM"},

		{
			"Capabilities", "it has no capability, and cannot gain one",
			[]string{"status", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"},
			"CapInh=0+ CapPrm=0+ CapEff=0+ CapBnd=0+ CapAmb=0+ NoNewPrivs=1 Seccomp=2",
		},
		{"Securebits", "user 0 has no powers, and its securebits are locked", []string{"securebits"}, "0xcf"},
		{"Watches", "inotify instances count for the caller's user", []string{"watch"}, "16 EMFILE"},
		{"Calls32", "system calls of 32-bit programs have other numbers", []string{"int80"}, "ENOSYS"},
	}
	denied := strings.Fields(`
		mount umount2 pivot_root chroot open_tree move_mount fsopen mount_setattr unshare setns clone-user clone-net clone3
		process_vm_readv process_vm_writev pidfd_getfd kcmp bpf keyctl add_key request_key userfaultfd perf_event_open
		io_uring_setup open_by_handle_at init_module kexec_load reboot sethostname settimeofday swapon syslog
		socket-vsock socket-packet socket-alg socket-diag socket-uevent socket-generic personality x32
		prlimit-init prlimit-core setpriority-init sched_setaffinity-init lease lease-wide
		tty-take tty-type tty-type-wide tty-paste sync syncfs io_setup shmget semget msgget mq_open`)
	attempts = append(attempts,
		attempt{"Calls", "the filter does not allow these calls", append([]string{"syscall"}, denied...), strings.Join(denied, "=ENOSYS ") + "=ENOSYS"},
		attempt{"RawSocket", "raw sockets need a capability", []string{"syscall", "socket-raw"}, "EPERM"},
		attempt{"RouteSocket", "C libraries list addresses with netlink", []string{"syscall", "socket-route"}, "done"})

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

// leakDescriptors opens descriptors without close-on-exec until the test ends. The
// process that starts xfn may leave such descriptors open.
func leakDescriptors(t *testing.T) {
	t.Helper()
	for _, open := range []func() (int, error){
		func() (int, error) { return unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0) },
		func() (int, error) { return unix.Eventfd(0, 0) },
		func() (int, error) { return unix.EpollCreate1(0) },
		func() (int, error) { return unix.InotifyInit1(0) },
	} {
		fd := e2e.Must(open())(t)
		t.Cleanup(func() { unix.Close(fd) })
	}
}

// hostListeners listens on the host like a service that a function must not
// reach, and returns the addresses.
func hostListeners(t *testing.T) (loopback, abstract string) {
	t.Helper()
	tcp := e2e.Open(net.Listen("tcp", "127.0.0.1:0"))(t)
	abstract = "@xfn-test-" + strconv.Itoa(os.Getpid())
	e2e.Open(net.Listen("unix", abstract))(t)
	return tcp.Addr().String(), abstract
}

// copyHostile copies the test program hostile inside of root under another name, and
// returns the path of the copy.
func copyHostile(t *testing.T, root, name string) string {
	t.Helper()
	data := e2e.Must(os.ReadFile(filepath.Join(root, "hostile")))(t)
	file := filepath.Join(root, name)
	e2e.NoError(t, os.WriteFile(file, data, 0o755))
	return file
}

func TestEscapeBySetuid(t *testing.T) {
	root := newRoot(t)
	e2e.NoError(t, os.Chmod(copyHostile(t, root, "setuid"), 0o755|os.ModeSetuid|os.ModeSetgid))
	said, code := play(t, acting(root, "setuid", "/setuid"))
	want := "Uid=65532\t65532\t65532\t65532 CapPrm=0000000000000000 CapEff=0000000000000000"
	e2e.Equal(t, "a setuid bit gives no other user", want, said)
	e2e.Equal(t, "the program with a setuid bit runs", 0, code)
}

// TestEscapeByFileCapability checks that a program file with capabilities gives a
// function no capabilities. Such a file names the host user id that is user 0 of the
// namespace (capabilities(7), "Namespaced file capabilities").
func TestEscapeByFileCapability(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to set file capabilities")
	}
	root := newRoot(t)
	file := copyHostile(t, root, "capable")
	const version3, effective, all = 0x03000000, 1, math.MaxUint32
	var value []byte
	for _, word := range []uint32{version3 | effective, all, 0, all, 0, sandbox.DefaultHostID} {
		value = binary.LittleEndian.AppendUint32(value, word)
	}
	if err := unix.Setxattr(file, "security.capability", value, 0); err != nil {
		t.Skipf("the file system has no capabilities: %v", err)
	}
	said, code := play(t, acting(root, "setuid", "/capable"))
	want := "Uid=65532\t65532\t65532\t65532 CapPrm=0000000000000000 CapEff=0000000000000000"
	e2e.Equal(t, "capabilities of a file have no effect", want, said)
	e2e.Equal(t, "the program with capabilities runs", 0, code)
}

// TestEscapeByInterpreter checks a script whose interpreter is /proc/self/exe, the
// program of the supervisor. The script must not change the program of later sandboxes:
// neither the caller's file, which only its owner can change, nor a copy in memory.
func TestEscapeByInterpreter(t *testing.T) {
	const refused = "chmod: operation not permitted\nwrite: (text file busy|operation not permitted|permission denied)\n"
	file := e2e.Must(hostile())(t)
	for _, tc := range []struct {
		name string
		mode os.FileMode
		want string
	}{
		// Landlock does not even permit to execute a file outside of the root.
		{"File", 0o755, "(starting a sandbox: executing \"/script\": permission denied|" + refused + "sealed: false invalid argument)\nhello\n"},
		{"Copy", 0o777, refused + "sealed: true <nil>\nhello\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "File" && !sandbox.MapsIDs() {
				t.Skip("the function's user owns the file")
			}
			root := newRoot(t)
			begin(t, acting(root, "hello"))
			e2e.NoError(t, os.WriteFile(filepath.Join(root, "script"), []byte("#!/proc/self/exe\n"), 0o755))
			caller := filepath.Join(t.TempDir(), "caller")
			e2e.NoError(t, os.WriteFile(caller, []byte(e2e.ReadFile(t, filepath.Join(filepath.Dir(file), "caller"))), 0o700))
			e2e.NoError(t, os.Chmod(caller, tc.mode)) // in spite of the umask
			said, err := exec.Command(caller, root).CombinedOutput()
			if err != nil || !regexp.MustCompile(`^`+tc.want+`$`).Match(said) {
				t.Errorf("the supervisor's program as an interpreter: got %q and error %v, want %q", said, err, tc.want)
			}
		})
	}
}

func TestEscapeByWorkingDirectory(t *testing.T) {
	root := newRoot(t)
	host, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0) // no O_CLOEXEC: the supervisor inherits the descriptor
	e2e.NoError(t, err)
	defer unix.Close(host)
	for _, self := range []string{"self", "1"} {
		for fd := 3; fd <= host+8; fd++ {
			spec := acting(root, "list", ".")
			spec.Dir = "/proc/" + self + "/fd/" + strconv.Itoa(fd)
			p, err := sandbox.Start(t.Context(), spec)
			if err == nil {
				p.Stop()
				t.Errorf("Start() in %q, a descriptor of the supervisor's: got no error", spec.Dir)
			} else {
				e2e.ErrorHas(t, fmt.Sprintf("the directory %q does not exist in the sandbox", spec.Dir), err, "does not exist")
			}
		}
	}
}

func TestEscapeByMountpoint(t *testing.T) {
	for _, tc := range []struct {
		reason, name, target string
		want                 string // part of the error; empty if the sandbox starts and does not follow the link
	}{
		{"an absolute link would lead to the host's directory", "proc", "/etc", "/proc in the root of the image is not a directory"},
		{"a relative link could lead out", "dev", "../../../../../etc", "/dev in the root of the image is not a directory"},
		{"a link within the root is refused too", "tmp", "hostile", "/tmp in the root of the image is not a directory"},
		{"a file is mounted only on a file", "etc/resolv.conf", "/etc/hostname", ""},
		{"a file is mounted only in a directory", "etc", "/etc", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := newRoot(t)
			link := filepath.Join(root, tc.name)
			e2e.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
			e2e.NoError(t, os.Symlink(tc.target, link))
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

// TestEscapeByMountRace replaces a directory of the root by a symbolic link again and
// again while sandboxes mount on it. Each sandbox must fail to start, or mount as usual
// (CVE-2021-30465).
func TestEscapeByMountRace(t *testing.T) {
	root := newRoot(t)
	begin(t, acting(root, "hello"))
	dir, link := filepath.Join(root, "dev"), filepath.Join(root, "link")
	e2e.NoError(t, errors.Join(os.Mkdir(dir, 0o755), os.Symlink("/etc", link)))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for range 20 {
		r, w := pipe(t)
		spec := acting(root, "mounts")
		spec.Stdout = w
		p, err := sandbox.Start(t.Context(), spec)
		w.Close()
		if err != nil {
			e2e.ErrorHas(t, "a sandbox that does not start fails at the exchanged directory", err, "/dev")
			continue
		}
		said := e2e.Must(io.ReadAll(r))(t)
		e2e.WantError(t, "a sandbox that starts can be awaited", e2e.Err(p.Wait()), "")
		if !strings.Contains(string(said), "\n/dev tmpfs ") || strings.Contains(string(said), "/etc") {
			t.Errorf("mounted in a race:\n%s", said)
		}
	}
}

func TestEscapeByForkBomb(t *testing.T) {
	spec := acting(newRoot(t), "fork-bomb")
	spec.Limits.PIDs = 64
	said, code := play(t, spec)
	count, errno, _ := strings.Cut(said, " ")
	// If the supervisor cannot create a thread, it ends, and the sandbox ends without
	// output.
	n, err := strconv.Atoi(count)
	if said != "" && (err != nil || n >= 64 || errno != "EAGAIN") || said == "" && code == 0 {
		t.Errorf("a fork bomb with 64 threads: got %q and exit code %d, want less than 64 processes and EAGAIN", said, code)
	}
}

func TestEscapeByMemory(t *testing.T) {
	root := newRoot(t)
	spec := acting(root, "hello")
	spec.Limits.Memory = 300 << 20
	by := begin(t, spec).Report().Memory.By
	for _, tc := range []struct {
		name   string
		act    []string
		counts bool // whether a resource limit counts this kind of memory
		want   string
	}{
		{"Own", []string{"memory", "512"}, true, "ENOMEM"},
		{"Shared", []string{"memory", "512", "shared"}, false, ""},
		{"File", []string{"memory", "512", "memfd"}, false, ""},
		{"SystemV", []string{"memory", "512", "sysv"}, true, "ENOSYS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if by == sandbox.Rlimit && !tc.counts {
				t.Skip("only a cgroup counts it, as documented at Limits")
			}
			spec := spec
			spec.Args = append([]string{"/hostile"}, tc.act...)
			// A process that the kernel kills at a cgroup limit writes nothing.
			if said, code := play(t, spec); said != tc.want && (said != "" || code == 0) {
				t.Errorf("%v with 300 MiB: got %q and exit code %d", tc.act, said, code)
			}
		})
	}
	spec.Args = []string{"/hostile", "memory", "64"}
	if said, code := play(t, spec); said != "done" || code != 0 {
		t.Errorf("64 MiB with 300 allowed: got %q and exit code %d", said, code)
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
			spec.UID, spec.GID = 0, 0 // user 0 may write to the root, if it is writable
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

// ownedByRange gives spec.Root to the host id that is user 0 in the sandbox.
func ownedByRange(t *testing.T, spec sandbox.Spec) sandbox.Spec {
	t.Helper()
	e2e.NoError(t, os.Chown(spec.Root, sandbox.DefaultHostID, sandbox.DefaultHostID))
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
	abi, want := begin(t, spec).Report().Landlock, "EPERM"
	if abi < 6 {
		want = "done" // only Landlock 6 prevents this connection, as SECURITY.md says
	}
	if said, _ := play(t, spec); said != want {
		t.Errorf("an abstract socket of the host, with Landlock %d: got %q, want %s", abi, said, want)
	}
}
