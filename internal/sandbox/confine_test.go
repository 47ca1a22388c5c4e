//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// confinedRoot returns a root directory for functions that Confine starts. The functions'
// user may write to it.
func confinedRoot(t testing.TB) string {
	t.Helper()
	root := newRoot(t)
	if sandbox.Becomes() {
		e2e.NoError(t, os.Chown(root, sandbox.DefaultHostID+65532, sandbox.DefaultHostID+65532))
	}
	return root
}

// confining returns a Spec for Confine. It runs one action of the test program hostile.
func confining(t testing.TB, root string, act ...string) sandbox.Spec {
	t.Helper()
	spec := acting(root, act...)
	spec.Port, spec.TempDir = freePort(t), t.TempDir()
	return spec
}

func freePort(t testing.TB) int {
	t.Helper()
	address := e2e.Must(runtimes.FreeAddress(t.Context()))(t)
	return int(netip.MustParseAddrPort(address).Port())
}

// chroots reports whether functions that Confine starts get their own root.
func chroots() bool { return unix.Chroot("/") == nil }

// landlockVersion returns the Landlock ABI version of the kernel, or 0 without Landlock.
func landlockVersion() int {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// TestConfinedEscape runs forbidden actions of a hostile function that Confine starts. If
// root runs the test, the function has its own root and user. TestAsOrdinaryUser repeats
// the test as another user: then the function has neither.
func TestConfinedEscape(t *testing.T) {
	root := confinedRoot(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "config.json")
	credentials := filepath.Join(outside, ".docker", "config.json")
	e2e.NoError(t, errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Mkdir(filepath.Dir(credentials), 0o755), os.WriteFile(credentials, []byte("secret"), 0o644)))
	t.Setenv("HOME", outside)
	loopback, abstract := hostListeners(t)
	socket := filepath.Join(outside, "docker.sock")
	e2e.Open(net.Listen("unix", socket))(t)
	_, hostPort, err := net.SplitHostPort(loopback)
	e2e.NoError(t, err)
	parent := "/proc/" + strconv.Itoa(os.Getpid())
	// seenRoot is the function's root as the function sees it. host is the error of
	// opening a file of the host.
	seenRoot, host := root, "EACCES"
	if chroots() {
		seenRoot, host = "", "ENOENT"
	}

	for _, tc := range []struct {
		name, reason string
		act          []string
		want         string // a regular expression for the whole output
		landlock     int    // the Landlock version that the case needs
	}{
		{"HostFile", "the host's files do not exist, or are closed", []string{"cat", secret}, host, 1},
		{"HostFileByParents", "/.. is /", []string{"cat", "/../../../../../.." + secret}, host, 1},
		{"HostDirectory", "the host's directories cannot be listed", []string{"list", outside}, host, 1},
		{"DockerConfig", "the user's credentials are not readable", []string{"cat", credentials}, host, 1},
		{"Passwords", "files that only root may read are not readable", []string{"cat", "/etc/shadow"}, "ENOENT|EACCES", 0},
		{"Environment", "the environment has only the variables of the spec, and TMPDIR", []string{"env"}, "TMPDIR=[^,]*/xfn-[a-z0-9]+", 0},
		{"LeakedDescriptors", "CVE-2024-21626: only the three standard descriptors are open", []string{"open-fds"}, "0 1 2", 0},

		{"ParentMemory", "access to the caller's memory would give access to the caller", []string{"open", parent + "/mem", "rw"}, host, 1},
		{"ParentEnvironment", "environments contain secrets", []string{"cat", parent + "/environ"}, host, 1},
		{"ParentDescriptors", "the links in /proc/PID/fd lead to open files of the caller", []string{"list", parent + "/fd"}, host, 1},
		{"ParentProgramWrite", "CVE-2019-5736", []string{"open", parent + "/exe", "w"}, host + "|ETXTBSY", 1},
		{"ParentProgramRead", "CVE-2019-5736 begins with opening /proc/self/exe", []string{"open", parent + "/exe", "r"}, host, 1},
		{"ParentProgramLink", "the location of the program reveals names of the host", []string{"open", parent + "/exe", "link"}, "ENOENT|EACCES", 1},
		{"ParentRoot", "/proc belongs to the host", []string{"list", parent + "/root"}, "ENOENT|EACCES", 1},
		{"ParentSignal", "the caller cannot be signalled", []string{"signal", strconv.Itoa(os.Getpid()), "28"}, "EPERM", 6},
		{"ParentLimits", "the caller's limits cannot be set", []string{"syscall", "prlimit-other"}, "ENOSYS", 0},
		{"OwnLimits", "a process may read its own limits", []string{"syscall", "prlimit-own"}, "done", 0},
		{"ParentTrace", "tracing a process gives control over it", []string{"syscall", "ptrace"}, "ENOSYS", 0},

		{"WriteRoot", "all runs share the root", []string{"write", seenRoot + "/new"}, "EACCES", 1},
		{"WriteProgram", "all runs share the root", []string{"write", seenRoot + "/hostile"}, "EACCES|ETXTBSY", 1},
		{"WriteHost", "writing outside of the root fails", []string{"write", outside + "/new"}, host, 1},
		{"WriteTmp", "/tmp does not belong to the function", []string{"write", "/tmp/xfn-test-new"}, "EACCES", 1},
		{"WriteOwnTmp", "TMPDIR belongs to the function", []string{"write", "$TMPDIR/new"}, "done", 0},
		{"WriteSysctl", "settings of the kernel are read-only", []string{"write", "/proc/sys/kernel/core_pattern"}, "ENOENT|EACCES", 0},

		{"HostLoopback", "local servers trust local clients", []string{"dial", "tcp4", loopback}, "EPERM", 0},
		{"HostLoopbackMultipath", "Landlock does not treat MPTCP as TCP", []string{"mptcp", hostPort}, "EPERM", 0},
		{"HostSocket", "access to Docker's socket gives root", []string{"dial", "unix", socket}, "EPERM", 0},
		{"HostAbstractSocket", "abstract socket names belong to the host", []string{"dial", "unix", abstract}, "EPERM", 0},
		{"ListenElsewhere", "it may listen on no other port", []string{"listen", "127.0.0.1:0"}, "EACCES", 4},
		{"ListenElsewhereMultipath", "no other protocol is available", []string{"listen", "127.0.0.1:0", "mptcp"}, "EACCES", 4},

		{
			"Powers", "it has no capability, and cannot gain one",
			[]string{"powers"},
			regexp.QuoteMeta("capabilities=[{0 0 0} {0 0 0}] no_new_privs=1 seccomp=2"), 0,
		},
		{"Calls32", "system calls of 32-bit programs have other numbers", []string{"int80"}, "ENOSYS", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if landlockVersion() < tc.landlock {
				t.Skipf("needs Landlock version %d", tc.landlock)
			}
			said, code := playBy(t, sandbox.Confine, confining(t, root, tc.act...))
			if !regexp.MustCompile(`^(`+tc.want+`)$`).MatchString(said) || code != 0 {
				t.Errorf("%v: got %q and exit code %d, want %q: %s", tc.act, said, code, tc.want, tc.reason)
			}
		})
	}
	for call, want := range map[string]string{
		"mount": "ENOSYS", "chroot": "ENOSYS", "unshare": "ENOSYS", "setns": "ENOSYS", "clone-user": "ENOSYS", "clone3": "ENOSYS",
		"process_vm_writev": "ENOSYS", "pidfd_getfd": "ENOSYS", "kcmp": "ENOSYS", "bpf": "ENOSYS", "keyctl": "ENOSYS",
		"userfaultfd": "ENOSYS", "perf_event_open": "ENOSYS", "io_uring_setup": "ENOSYS", "open_by_handle_at": "ENOSYS",
		"socket-vsock": "ENOSYS", "socket-packet": "ENOSYS", "socket-alg": "ENOSYS", "x32": "ENOSYS",
		"socket-raw": "EPERM", "socket-unix": "EPERM", "socket-unix-dgram": "EPERM", "socket-udp": "EPERM", "socket-udp6": "EPERM",
		"socket-mptcp": "EPERM", "socket-sctp": "EPERM", "connect": "EPERM", "fastopen": "EPERM", "fastopen-msg": "EPERM",
		"shmget": "ENOSYS", "mq_open": "ENOSYS",
	} {
		t.Run("Call/"+call, func(t *testing.T) {
			if said, _ := playBy(t, sandbox.Confine, confining(t, root, "syscall", call)); said != want {
				t.Errorf("%s: got %q, want %q", call, said, want)
			}
		})
	}
	e2e.Error(t, "the function wrote to the host's /tmp", e2e.Err(os.Stat("/tmp/xfn-test-new")))
}

// TestConfinedLeavesAttributes checks that a function cannot change the mode and times of
// the host's files. No version of Landlock restricts these system calls: a function with
// the host's root and the caller's user could use them on all files of the caller.
func TestConfinedLeavesAttributes(t *testing.T) {
	root := confinedRoot(t)
	file := filepath.Join(t.TempDir(), "key")
	e2e.NoError(t, os.WriteFile(file, []byte("secret"), 0o600))
	before := e2e.Must(os.Stat(file))(t)
	want := "EPERM"
	if chroots() {
		want = "ENOENT"
	}
	for _, act := range []string{"chmod", "touch"} {
		if said, _ := playBy(t, sandbox.Confine, confining(t, root, act, file)); said != want {
			t.Errorf("%s of the host's file: got %q, want %q", act, said, want)
		}
	}
	after, err := os.Stat(file)
	if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("got %v, %v", after, err)
	}
}

func TestConfinedGetsItsSpec(t *testing.T) {
	root := confinedRoot(t)
	e2e.NoError(t, errors.Join(
		os.Mkdir(filepath.Join(root, "work"), 0o755), os.Symlink("/work", filepath.Join(root, "absolute")),
		os.Symlink("/hostile", filepath.Join(root, "work", "tool")), os.Symlink("../../../../../../hostile", filepath.Join(root, "parents")),
	))
	work, id := filepath.Join(root, "work"), os.Geteuid()
	if chroots() {
		work = "/work"
	}
	if sandbox.Becomes() {
		id = sandbox.DefaultHostID + 65532
	}
	port := freePort(t)
	for _, tc := range []struct {
		name, reason string
		act          []string
		change       func(*sandbox.Spec)
		want         string
	}{
		{"Environment", "it has the user of the spec", []string{"env"}, func(s *sandbox.Spec) { s.Env = []string{"A=1", "TMPDIR=/image"} }, "A=1,TMPDIR=[^,]*/xfn-[a-z0-9]+"},
		{"IDs", "it has the groups that the image's user has on the host, or the caller's groups", []string{"ids"}, func(*sandbox.Spec) {}, fmt.Sprintf(`%d:%[1]d \d+ .*`, id)},
		{"Files", "resource limits are set", []string{"rlimits"}, func(s *sandbox.Spec) { s.Limits.Files = 99 }, "99 " + otherLimits(t)},
		{"Directory", "the working directory is inside of the root", []string{"cwd"}, func(s *sandbox.Spec) { s.Dir = "/work" }, regexp.QuoteMeta(work)},
		{"DirectoryByLink", "relative links are resolved inside of the root", []string{"cwd"}, func(s *sandbox.Spec) { s.Dir = "/absolute" }, regexp.QuoteMeta(work)},
		{"ProgramByLink", "absolute links are resolved inside of the root", []string{"hello"}, func(s *sandbox.Spec) { s.Args[0] = "/work/tool" }, "hello"},
		{"ProgramByParents", "no link leads out of the root", []string{"hello"}, func(s *sandbox.Spec) { s.Args[0] = "/parents" }, "hello"},
		{"RelativeProgram", "a relative program starts in the working directory", []string{"hello"}, func(s *sandbox.Spec) { s.Args[0], s.Dir = "./tool", "/absolute" }, "hello"},
		{"Path", "the program is found in the image's PATH", []string{"hello"}, func(s *sandbox.Spec) { s.Args[0], s.Env = "tool", []string{"PATH=/nowhere:/work"} }, "hello"},
		{"Listen", "it may listen on its own port", []string{"listen", "127.0.0.1:" + itoa(port)}, func(s *sandbox.Spec) { s.Port = port }, "done"},
		{"ListenMultipath", "it may listen on all addresses, as Go does by default", []string{"listen", "127.0.0.1:" + itoa(port), "mptcp"}, func(s *sandbox.Spec) { s.Port = port }, "done"},
		{"RunnerListen", "it may use any port with the caller's network", []string{"listen", "127.0.0.1:0"}, func(s *sandbox.Spec) { s.Network = sandbox.Runner }, "done"},
		{"RunnerSocket", "it may use UDP with the caller's network", []string{"syscall", "socket-udp"}, func(s *sandbox.Spec) { s.Network = sandbox.Runner }, "done"},
		{"RunnerUnix", "it may not connect to a unix socket of a daemon", []string{"syscall", "socket-unix"}, func(s *sandbox.Spec) { s.Network = sandbox.Runner }, "EPERM"},
		{"Memory", "a resource limit bounds its memory", []string{"memory", "512"}, func(s *sandbox.Spec) { s.Limits.Memory = 300 << 20 }, "ENOMEM"},
		{"MemoryBelow", "it may use the memory of its limit", []string{"memory", "32"}, func(s *sandbox.Spec) { s.Limits.Memory = 300 << 20 }, "done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := confining(t, root, tc.act...)
			tc.change(&spec)
			said, code := playBy(t, sandbox.Confine, spec)
			if !regexp.MustCompile(`^(`+tc.want+`)$`).MatchString(said) || code != 0 {
				t.Errorf("%v: got %q and exit code %d, want %q: %s", tc.act, said, code, tc.want, tc.reason)
			}
		})
	}
	loopback, _ := hostListeners(t)
	spec := confining(t, root, "dial", "tcp4", loopback)
	spec.Network = sandbox.Runner
	if said, _ := playBy(t, sandbox.Confine, spec); said != "done" {
		t.Errorf("the host's loopback with the caller's network: got %q", said)
	}
}

func TestConfineRefuses(t *testing.T) {
	root := confinedRoot(t)
	for _, tc := range []struct {
		name, reason string
		change       func(*sandbox.Spec)
		want         string
	}{
		{"NoProgram", "an image may have no entrypoint", func(s *sandbox.Spec) { s.Args = nil }, "neither an entrypoint nor a command"},
		{"NoRoot", "the cache may have been pruned", func(s *sandbox.Spec) { s.Root = filepath.Join(root, "none") }, "no such file or directory"},
		{"Missing", "the error names the program", func(s *sandbox.Spec) { s.Args[0] = "/none" }, `"/none"`},
		{"NotInPath", "only the directories of PATH are searched", func(s *sandbox.Spec) { s.Args[0] = "none" }, `executing "none": not found in the directories`},
		{"NoDirectory", "a missing working directory is not created", func(s *sandbox.Spec) { s.Dir = "/none" }, `the working directory "/none" does not exist`},
		{"OutOfRoot", "a program outside of the root does not exist", func(s *sandbox.Spec) { s.Args[0] = "/../../../../../../bin/true" }, `no such file or directory`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := confining(t, root, "hello")
			tc.change(&spec)
			p, err := sandbox.Confine(t.Context(), spec)
			if err == nil {
				p.Stop()
			}
			if err == nil || !strings.HasPrefix(err.Error(), "confining a process: ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Confine(): got error %v, want %q: %s", err, tc.want, tc.reason)
			}
			assertNothingLeft(t, spec)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "Confine() with a context that has ended", e2e.Err(sandbox.Confine(ctx, confining(t, root, "hello"))), context.Canceled)
}

// privateDirs returns the private directories that exist for functions of the spec.
func privateDirs(t *testing.T, spec sandbox.Spec) []string {
	t.Helper()
	var found []string
	for _, dir := range []string{spec.TempDir, filepath.Join(spec.Root, "tmp")} {
		names := e2e.Must(filepath.Glob(filepath.Join(dir, "*")))(t)
		found = append(found, names...)
	}
	return found
}

func assertNothingLeft(t *testing.T, spec sandbox.Spec) {
	t.Helper()
	if left := privateDirs(t, spec); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestConfinedProgramOfItsRoot checks that scripts and dynamically linked programs run
// only if the function has its own root.
func TestConfinedProgramOfItsRoot(t *testing.T) {
	root := confinedRoot(t)
	for name, text := range map[string]string{"script": "#!/hostile hello\n", "text": "hello"} {
		e2e.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o755))
	}
	copyProgram(t, root, "/bin/sh")
	for _, tc := range []struct {
		program      []string
		said, reason string // said is the output with an own root, reason the error without one
	}{
		{[]string{"/script"}, "hello", `the entrypoint "/script" is a script, and its interpreter is only in the image`},
		{[]string{"/bin/sh", "-c", "echo hello"}, "hello", `the entrypoint "/bin/sh" is dynamically linked, and its libraries are only in the image`},
		{[]string{"/text"}, "", `the entrypoint "/text" is not a Linux program`},
	} {
		spec := confining(t, root)
		spec.Args = tc.program
		if chroots() && tc.said != "" {
			if said, code := playBy(t, sandbox.Confine, spec); said != tc.said || code != 0 {
				t.Errorf("%q in its root: got %q and exit code %d", tc.program, said, code)
			}
			continue
		}
		_, err := sandbox.Confine(t.Context(), spec)
		var unfit *sandbox.ProgramError
		if chroots() {
			e2e.ErrorHas(t, fmt.Sprintf("%q is not a program", tc.program), err, "exec format error")
		} else if !errors.As(err, &unfit) || unfit.Reason != tc.reason {
			t.Errorf("%q outside of its root: got error %v, want %q", tc.program, err, tc.reason)
		}
		assertNothingLeft(t, spec)
	}
}

// copyProgram copies a program of this machine, and the libraries that it loads, to root.
func copyProgram(t *testing.T, root, program string) {
	t.Helper()
	out, err := exec.CommandContext(e2e.Context(t), "ldd", program).Output()
	if err != nil {
		t.Skipf("no dynamically linked %s on this machine: %v", program, err)
	}
	for _, file := range append(regexp.MustCompile(`/\S+`).FindAllString(string(out), -1), program) {
		data := e2e.Must(os.ReadFile(file))(t)
		e2e.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
		e2e.NoError(t, os.WriteFile(filepath.Join(root, file), data, 0o755))
	}
}

// TestConfinedRunsAreSeparate checks that a function cannot open the private files of
// another function from the same image, even if both have the same user.
func TestConfinedRunsAreSeparate(t *testing.T) {
	if landlockVersion() < 1 {
		t.Skip("needs Landlock")
	}
	root := confinedRoot(t)
	r, w := pipe(t)
	first := confining(t, root, "block")
	first.Stdout = w
	p := beginBy(t, sandbox.Confine, first)
	lines(t, r)()
	dirs := privateDirs(t, first)
	if len(dirs) != 1 {
		t.Fatalf("got private directories %q, want one", dirs)
	}
	file := filepath.Join(dirs[0], "own")
	e2e.NoError(t, errors.Join(os.WriteFile(file, []byte("secret"), 0o666), os.Chmod(file, 0o666)))
	if chroots() {
		file = strings.TrimPrefix(file, root)
	}
	for _, act := range []string{"cat", "write"} {
		if said, _ := playBy(t, sandbox.Confine, confining(t, root, act, file)); said != "EACCES" {
			t.Errorf("%s of another run's file: got %q, want EACCES", act, said)
		}
	}
	e2e.NoError(t, p.Stop())
	assertNothingLeft(t, first)
}

func TestConfinedReport(t *testing.T) {
	spec := confining(t, confinedRoot(t), "hello")
	spec.Limits.Memory = 1
	got := beginBy(t, sandbox.Confine, spec).Report()
	want := sandbox.Report{
		Memory: sandbox.Limit{Value: 256 << 20, By: sandbox.Rlimit}, Landlock: landlockVersion(), HostID: os.Geteuid(), IDs: 1, Chroot: chroots(),
	}
	if sandbox.Becomes() {
		want.HostID = sandbox.DefaultHostID + 65532
		want.PIDs = sandbox.Limit{Value: sandbox.DefaultPIDs, By: sandbox.Rlimit}
	}
	e2e.Equal(t, "the report has the limits and protections in force", want, got)
}

func TestConfinedForkBomb(t *testing.T) {
	if !sandbox.Becomes() {
		t.Skip("the user's own processes do not count")
	}
	spec := confining(t, confinedRoot(t), "fork-bomb")
	spec.Limits.PIDs, spec.HostID = 64, 300000
	said, code := playBy(t, sandbox.Confine, spec)
	count, errno, _ := strings.Cut(said, " ")
	if n, err := strconv.Atoi(count); said != "" && (err != nil || n >= 64 || errno != "EAGAIN") || said == "" && code == 0 {
		t.Errorf("a fork bomb with 64 threads: got %q and exit code %d", said, code)
	}
}

// TestConfinedStop checks that the end of a confined function ends its process group and
// removes its private directory.
func TestConfinedStop(t *testing.T) {
	root := confinedRoot(t)
	for _, end := range []struct {
		name string
		end  func(*sandbox.Process, context.CancelFunc) error
	}{
		{"Stop", func(p *sandbox.Process, _ context.CancelFunc) error { return p.Stop() }},
		{"Context", func(p *sandbox.Process, cancel context.CancelFunc) error { cancel(); _, err := p.Wait(); return err }},
	} {
		t.Run(end.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, w := pipe(t)
			spec := confining(t, root, "family")
			spec.Stdout = w
			p := e2e.Must(sandbox.Confine(ctx, spec))(t)
			w.Close()
			line := lines(t, r)
			for range 2 {
				e2e.Equal(t, "each process of the family is ready", "ready", line())
			}
			e2e.NoError(t, end.end(p, cancel))
			e2e.Equal(t, "stdout after the end", "", string(e2e.Must(io.ReadAll(r))(t)))
			assertNothingLeft(t, spec)
		})
	}
}

// callConfined is the main function of a process that a test kills. It starts a function
// with Confine, which inherits stdout, and waits.
func callConfined(root string) int {
	spec := acting(root, "block")
	spec.Stdout, spec.Port, spec.TempDir = os.Stdout, 9443, filepath.Dir(root)
	p, err := sandbox.Confine(context.Background(), spec)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	<-p.Done()
	return 1
}

func TestConfinedOutlivesNotItsCaller(t *testing.T) {
	root := confinedRoot(t)
	self := e2e.Must(os.Executable())(t)
	r, w := pipe(t)
	caller := exec.CommandContext(e2e.Context(t), self)
	caller.Env, caller.Stdout = append(os.Environ(), confinerVar+"="+root), w
	e2e.NoError(t, caller.Start())
	w.Close()
	if got := lines(t, r)(); got != "ready" {
		t.Fatalf("got %q", got)
	}
	e2e.NoError(t, caller.Process.Kill())
	_ = e2e.Await(t, caller.Wait) // ignore the error: the caller was killed
	e2e.Equal(t, "stdout after kill -9 of the caller", "", string(e2e.Must(io.ReadAll(r))(t)))
	if !chroots() {
		return // the private directory stays in the system's temporary directory
	}
	// The next run removes the private directory that the killed run left in the root.
	spec := confining(t, root, "hello")
	e2e.Equal(t, "a killed process leaves its private directory", 1, len(privateDirs(t, spec)))
	playBy(t, sandbox.Confine, spec)
	assertNothingLeft(t, spec)
}

// TestConfinedTmpIsNoLink checks that Confine does not follow a symbolic link that
// replaces the root's /tmp.
func TestConfinedTmpIsNoLink(t *testing.T) {
	if !chroots() {
		t.Skip("its private directory is not in its root")
	}
	root, outside := confinedRoot(t), t.TempDir()
	e2e.NoError(t, os.Symlink(outside, filepath.Join(root, "tmp")))
	_, err := sandbox.Confine(t.Context(), confining(t, root, "hello"))
	e2e.ErrorHas(t, "a link instead of /tmp is an error", err, "/tmp in the root of the image is not a directory")
	e2e.Empty(t, outside)
}

// keepCapability executes this test program again with only the capability of that
// number, or with none if the number is negative.
func keepCapability(number string) error {
	keep, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // capabilities belong to a thread
	for c := 0; c <= unix.CAP_LAST_CAP; c++ {
		if c != keep {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) // ignore an error: the kernel may know fewer capabilities
		}
	}
	if err := os.Unsetenv(capabilityVar); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

// TestConfinedAsBareRoot repeats the tests of Confine as root without the capabilities to
// change users, as in a container with dropped capabilities. The function is then root,
// and owns the files that it must not change.
func TestConfinedAsBareRoot(t *testing.T) {
	if testing.Short() {
		t.Skip("it repeats the tests of Confine")
	}
	if os.Geteuid() != 0 || !sandbox.Becomes() {
		t.Skip("needs a root user with capabilities")
	}
	program, err := plain()
	if err != nil {
		t.Fatalf("building the tests: %v", err)
	}
	file := filepath.Join(filepath.Dir(program), "hostile")
	for name, keep := range map[string]int{"Chroot": unix.CAP_SYS_CHROOT, "Nothing": -1} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(e2e.Context(t), program, "-test.v", "-test.count=1", "-test.run=^TestConfine")
			cmd.Env = append(os.Environ(), hostileVar+"="+file, capabilityVar+"="+itoa(keep))
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestConfinedEscape/ParentMemory ") {
				t.Errorf("%v:\n%s", err, failures(string(out)))
			}
		})
	}
}
