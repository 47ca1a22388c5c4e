//go:build linux

package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

func TestStartRefuses(t *testing.T) {
	root := t.TempDir()
	good := func(change func(*sandbox.Spec)) sandbox.Spec {
		s := acting(root, "hello")
		change(&s)
		return s
	}
	for _, tc := range []struct {
		name, reason string
		spec         sandbox.Spec
		want         string
	}{
		{"RelativeRoot", "the root must be an absolute path", good(func(s *sandbox.Spec) { s.Root = "root" }), `root "root" is not an absolute path`},
		{"NoProgram", "a spec needs a program", good(func(s *sandbox.Spec) { s.Args = nil }), "neither an entrypoint nor a command"},
		{"EmptyProgram", "the program needs a name", good(func(s *sandbox.Spec) { s.Args = []string{""} }), "neither an entrypoint nor a command"},
		{"RelativeDir", "the working directory must be an absolute path", good(func(s *sandbox.Spec) { s.Dir = "work" }), `working directory "work" is not an absolute path`},
		{"GreatID", "a user id above the range is not mapped", good(func(s *sandbox.Spec) { s.UID = 65536 }), "ids 65536:65532 are not between 0 and 65535"},
		{"NegativeID", "a group id below the range is not mapped", good(func(s *sandbox.Spec) { s.GID = -1 }), "ids 65532:-1 are not between 0 and 65535"},
		{"NegativeHostID", "a host user id is not negative", good(func(s *sandbox.Spec) { s.HostID = -1 }), "host id -1 is negative"},
		{"NegativeHostGID", "a host group id is not negative", good(func(s *sandbox.Spec) { s.HostGID = -2 }), "host id -2 is negative"},
		{"NegativeLimit", "a limit is not negative; 0 means the default", good(func(s *sandbox.Spec) { s.Limits.Memory = -1 }), "memory limit -1 is negative"},
		{"ZeroByte", "C ends a string at a zero byte", good(func(s *sandbox.Spec) { s.Env = []string{"A=\x00"} }), "contains a zero byte"},
		{"ZeroByteInRoot", "C ends a path at a zero byte", good(func(s *sandbox.Spec) { s.Root = "/\x00" }), "contains a zero byte"},
		{"Bytes", "JSON would replace bytes that are not UTF-8", good(func(s *sandbox.Spec) { s.Env = []string{"A=\xff"} }), `"A=\xff" is not UTF-8`},
		{"NoRoot", "the root must exist", good(func(s *sandbox.Spec) { s.Root = filepath.Join(root, "none") }), "no such file or directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := sandbox.Start(t.Context(), tc.spec)
			if err == nil {
				p.Stop()
			}
			if err == nil || !strings.HasPrefix(err.Error(), "starting a sandbox: ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Start(): got error %v, want %q: %s", err, tc.want, tc.reason)
			}
		})
	}
}

func TestStartFindsProgram(t *testing.T) {
	root := newRoot(t)
	for _, file := range []string{"bin/tool", "opt/tool", "opt/plain"} {
		mode := os.FileMode(0o755)
		if file == "opt/plain" {
			mode = 0o644
		}
		data := e2e.Must(os.ReadFile(filepath.Join(root, "hostile")))(t)
		e2e.NoError(t, errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755), os.WriteFile(filepath.Join(root, file), data, mode)))
	}
	for _, tc := range []struct {
		name, reason, program string
		env                   []string
		dir                   string
		want                  string // part of the error; empty for no error
	}{
		{"Absolute", "an absolute path is not changed", "/opt/tool", nil, "", ""},
		{"Relative", "a relative path starts at the working directory", "./tool", nil, "/opt", ""},
		{"UsualPath", "without PATH the usual directories are searched", "tool", nil, "", ""},
		{"ImagesPath", "the directories of PATH are searched", "tool", []string{"PATH=/nowhere:/opt"}, "", ""},
		{"NotInPath", "only the directories of PATH are searched", "tool", []string{"PATH=/nowhere"}, "", `executing "tool": not found in the directories "/nowhere"`},
		{"NotExecutable", "a file that is not executable is skipped", "plain", []string{"PATH=/opt"}, "", "not found in the directories"},
		{"Missing", "the kernel's error for a missing program is returned", "/none", nil, "", `executing "/none": no such file or directory`},
		{"Forbidden", "the kernel's error for a forbidden program is returned", "/opt/plain", nil, "", `executing "/opt/plain": permission denied`},
		{"NoDirectory", "a missing working directory is not created", "/opt/tool", nil, "/none", `the working directory "/none" does not exist`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := acting(root, "hello")
			spec.Args[0], spec.Env, spec.Dir = tc.program, tc.env, tc.dir
			if tc.want == "" {
				if said, _ := play(t, spec); said != "hello" {
					t.Errorf("%q: got %q: %s", tc.program, said, tc.reason)
				}
				return
			}
			begin(t, acting(root, "hello"))
			if _, err := sandbox.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q: got error %v, want %q: %s", tc.program, err, tc.want, tc.reason)
			}
		})
	}
}

func TestFunctionGetsItsSpec(t *testing.T) {
	root := newRoot(t)
	t.Setenv("SECRET", "value of the caller")
	limits := otherLimits(t)
	for _, tc := range []struct {
		name, reason string
		act          []string
		change       func(*sandbox.Spec)
		want         string
	}{
		{"Environment", "only the variables of the spec are set", []string{"env"}, func(s *sandbox.Spec) { s.Env = []string{"A=1", "B=2"} }, "A=1,B=2"},
		{"Hostname", "the function has the host name of the spec", []string{"hostname"}, func(s *sandbox.Spec) { s.Hostname = "other" }, "other"},
		{"Directory", "the function has the working directory of the spec", []string{"cwd"}, func(s *sandbox.Spec) { s.Dir = "/tmp" }, "/tmp"},
		{"IDs", "the function has the user and group ids of the spec; the supervisor is process 1", []string{"ids"}, func(s *sandbox.Spec) { s.UID, s.GID = 7, 8 }, "7:8 "},
		{"Resolver", "the resolver configuration of the spec is used if the root has none", []string{"cat", "/etc/resolv.conf"}, func(s *sandbox.Spec) { s.Resolver = []byte("nameserver 192.0.2.53") }, "nameserver 192.0.2.53"},
		{"Files", "the function has the limit of open files of the spec", []string{"rlimits"}, func(s *sandbox.Spec) { s.Limits.Files = 99 }, "99 " + limits},
		{"DefaultFiles", "the limit of open files has a default", []string{"rlimits"}, func(*sandbox.Spec) {}, "1024 " + limits},
		{"StdoutByName", "programs can open /dev/stderr by name", []string{"reopen"}, func(*sandbox.Spec) {}, "done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := acting(root, tc.act...)
			tc.change(&spec)
			_, spec.Stderr = pipe(t)
			if said, code := play(t, spec); !strings.HasPrefix(said, tc.want) || code != 0 {
				t.Errorf("%v: got %q and exit code %d, want %q: %s", tc.act, said, code, tc.want, tc.reason)
			}
		})
	}
}

// otherLimits returns the expected limits of a function for core files, message queues
// and pending signals, given the limits of this process.
func otherLimits(t *testing.T) string {
	t.Helper()
	var core unix.Rlimit
	e2e.NoError(t, unix.Getrlimit(unix.RLIMIT_CORE, &core))
	return fmt.Sprintf("%d 0 1024", min(core.Max, 1))
}

// TestFunctionHasNoGroups checks that a function does not inherit supplementary groups,
// if the caller may drop groups.
func TestFunctionHasNoGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can set and drop groups")
	}
	before := e2e.Must(os.Getgroups())(t)
	e2e.NoError(t, syscall.Setgroups([]int{4242}))
	t.Cleanup(func() {
		e2e.NoError(t, syscall.Setgroups(before))
	})
	said, _ := play(t, acting(newRoot(t), "ids"))
	if !strings.HasPrefix(said, "65532:65532 ") || !strings.HasSuffix(said, " []") {
		t.Errorf("ids and groups: got %q, want 65532:65532 and no groups", said)
	}
}

func TestNamespaces(t *testing.T) {
	said, _ := play(t, acting(newRoot(t), "namespaces"))
	inside := strings.Fields(said)
	if len(inside) != 7 {
		t.Fatalf("namespaces of the function: got %q", said)
	}
	for _, one := range inside {
		kind, _, _ := strings.Cut(one, ":")
		if host, err := os.Readlink("/proc/self/ns/" + kind); err != nil || host == one {
			t.Errorf("the function is in the host's namespace %s (%v)", one, err)
		}
	}
}

// TestMounts checks the complete list of mounts, except for the masks over /proc.
func TestMounts(t *testing.T) {
	always := []string{
		"/tmp tmpfs rw,nosuid,nodev", "/dev tmpfs ro,nosuid,noexec",
		"/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",
		"/proc proc rw,nosuid,nodev,noexec", "/proc/sys proc ro,nosuid,nodev,noexec",
	}
	for _, tc := range []struct {
		name     string
		laid     bool // whether the root already contains the mount points
		writable bool
		root     string
	}{
		{"Plain", true, false, "/ host's ro,nosuid,nodev"},
		{"Overlay", false, false, "/ overlay ro,nosuid,nodev"},
		{"Writable", true, true, "/ overlay rw,nosuid,nodev"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := newRoot(t)
			if tc.laid {
				layDirs(t, root)
			}
			spec := acting(root, "mounts")
			spec.Writable = tc.writable
			said, _ := play(t, spec)
			var got []string
			for _, line := range strings.Split(said, "\n") {
				place, kind, isDir := strings.Cut(line, " ")
				mask := strings.HasPrefix(place, "/proc/") && place != "/proc/sys"
				if !mask {
					got = append(got, line)
				} else if isDir && !strings.HasSuffix(kind, " ro,nosuid,nodev,noexec") {
					t.Errorf("%s is not read-only", line)
				}
			}
			want := append([]string{tc.root}, always...)
			slices.Sort(want)
			slices.Sort(got)
			e2e.Equal(t, "the function sees only these mounts", want, got)
		})
	}
}

// layDirs creates the mount points in the root, so that the sandbox needs no overlay.
func layDirs(t *testing.T, root string) {
	t.Helper()
	for _, dir := range []string{"dev", "proc", "tmp"} {
		e2e.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
}

// TestRootOfAnyName checks that the path of a root on the host may contain any bytes.
func TestRootOfAnyName(t *testing.T) {
	root := newRoot(t)
	strange := root + "\xff,a:b\\c"
	e2e.NoError(t, os.Rename(root, strange))
	if said, _ := play(t, acting(strange, "hello")); said != "hello" {
		t.Errorf("in the root %q: got %q", strange, said)
	}
}

// TestResolverIsLaidOver checks that the function sees Spec.Resolver as /etc/resolv.conf,
// and that the image's own file is not changed.
func TestResolverIsLaidOver(t *testing.T) {
	root := newRoot(t)
	file := filepath.Join(root, "etc", "resolv.conf")
	layDirs(t, root)
	e2e.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	e2e.NoError(t, os.WriteFile(file, []byte("image's"), 0o644))
	spec := acting(root, "cat", "/etc/resolv.conf")
	spec.Resolver = []byte("caller's")
	if said, _ := play(t, spec); said != "caller's" {
		t.Errorf("with a resolver: got %q", said)
	}
	spec.Resolver = nil
	if said, _ := play(t, spec); said != "image's" {
		t.Errorf("without: got %q", said)
	}
}

func TestWritable(t *testing.T) {
	root := newRoot(t)
	spec := acting(root, "write", "/new")
	spec.UID, spec.GID, spec.Writable = 0, 0, true
	if os.Geteuid() == 0 {
		spec = ownedByRange(t, spec)
	}
	if said, _ := play(t, spec); said != "done" {
		t.Errorf("writing to a writable root: got %q", said)
	}
	e2e.ErrorIs(t, "after writing to a writable root: the file is in the shared root", e2e.Err(os.Stat(filepath.Join(root, "new"))), os.ErrNotExist)
}

func TestReport(t *testing.T) {
	spec := acting(newRoot(t), "hello")
	spec.Limits = sandbox.Limits{Memory: 256 << 20, Tmp: 1 << 20, PIDs: 100}
	got := begin(t, spec).Report()
	want := sandbox.Report{
		Memory: sandbox.Limit{Value: 256 << 20, By: got.Memory.By}, PIDs: sandbox.Limit{Value: 100, By: got.PIDs.By},
		Tmp: 1 << 20, Landlock: landlockVersion(), Proc: true, HostID: os.Geteuid(), IDs: 1,
	}
	if os.Geteuid() == 0 {
		want.HostID, want.IDs = sandbox.DefaultHostID, 65536
	}
	e2e.Equal(t, "the report has the limits and protections in force", want, got)
	for _, l := range []sandbox.Limit{got.Memory, got.PIDs} {
		if l.By == sandbox.Nothing {
			t.Errorf("Report(): %+v is not enforced, although a resource limit could enforce it", l)
		}
	}
	if r := begin(t, acting(spec.Root, "hello")).Report(); r.Memory.Value != sandbox.DefaultMemory || r.PIDs.Value != sandbox.DefaultPIDs || r.Tmp != sandbox.DefaultTmp {
		t.Errorf("Report() of a spec without limits: got %+v, want the defaults", r)
	}
	if os.Geteuid() != 0 {
		small := spec
		small.Limits.Memory = 1
		if r := begin(t, small).Report(); r.Memory.By == sandbox.Rlimit && r.Memory.Value != 256<<20 {
			t.Errorf("Report() of a limit that is too small to start anything: got %+v", r.Memory)
		}
	}
}

// TestSupervisorDescriptors checks from outside of the sandbox that the supervisor has no
// descriptor of the host and no terminal, and that its user cannot read its memory.
func TestSupervisorDescriptors(t *testing.T) {
	leakDescriptors(t)
	serving(t, newRoot(t))
	supervisors := 0
	for _, e := range e2e.Must(os.ReadDir("/proc"))(t) {
		dir := filepath.Join("/proc", e.Name())
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || string(line) != "xfn-sandbox\x00" {
			continue
		}
		if stat := statOf(t, dir); stat[parentField] != itoa(os.Getpid()) {
			continue // a supervisor that another test program started
		} else if stat[sessionField] != e.Name() {
			t.Errorf("the supervisor %s is in the session %s", e.Name(), stat[sessionField])
		}
		supervisors++
		assertClosed(t, dir)
		assertHoldsLittle(t, dir)
	}
	e2e.Equal(t, "the number of supervisors", 1, supervisors)
}

// assertClosed asserts that the supervisor's own user cannot read its memory, even
// without Landlock: the files in dir, its directory in /proc, do not belong to that user.
func assertClosed(t *testing.T, dir string) {
	t.Helper()
	var st unix.Stat_t
	e2e.NoError(t, unix.Stat(filepath.Join(dir, "environ"), &st))
	user := os.Geteuid()
	if user == 0 {
		user = sandbox.DefaultHostID + 65532
	}
	if int(st.Uid) == user {
		t.Errorf("the supervisor's environment belongs to its user %d", st.Uid)
	}
}

func assertHoldsLittle(t *testing.T, dir string) {
	t.Helper()
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		if os.Geteuid() == 0 {
			t.Error(err)
		}
		return // only root can list the supervisor's descriptors
	}
	polled := map[string]int{}
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		if strings.HasPrefix(to, "anon_inode:[event") {
			polled[to]++ // a descriptor of the Go runtime
		} else if err == nil && to != "/dev/null" && !strings.HasPrefix(to, "socket:") {
			t.Errorf("the supervisor has %s open", to)
		}
	}
	e2e.Equal(t, "the supervisor has only descriptors for polling", map[string]int{"anon_inode:[eventpoll]": 1, "anon_inode:[eventfd]": 1}, polled)
	want := e2e.Must(os.Executable())(t)
	var program unix.Stat_t
	e2e.NoError(t, unix.Stat(want, &program))
	if int(program.Uid) == os.Geteuid() && !sandbox.MapsIDs() { // the function's user owns the file
		want = "/memfd:xfn-sandbox (deleted)"
	}
	if exe, err := os.Readlink(filepath.Join(dir, "exe")); err != nil || exe != want {
		t.Errorf("the supervisor runs from %q (%v), want %q", exe, err, want)
	}
}

// Indexes of fields of /proc/PID/stat, counted from the field after the process name.
const (
	parentField  = 1
	sessionField = 3
)

func statOf(t *testing.T, dir string) []string {
	t.Helper()
	data := e2e.Must(os.ReadFile(filepath.Join(dir, "stat")))(t)
	_, after, _ := strings.Cut(string(data), ") ")
	return strings.Fields(after)
}

// TestForbidden checks that the error names the cause if this machine lacks the user ids
// from Spec.HostID on.
func TestForbidden(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can ask for ids that do not exist")
	}
	spec := acting(newRoot(t), "hello")
	spec.HostID = math.MaxUint32 - 10
	_, err := sandbox.Start(t.Context(), spec)
	if !errors.As(err, new(*sandbox.NamespaceError)) || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Start() with ids that do not exist: got error %v, want a NamespaceError", err)
	}
}

func TestSuperviseElsewhere(t *testing.T) {
	for _, args := range [][]string{nil, {"xfn"}, {"xfn-sandbox"}, {"xfn-sandbox", "x"}} {
		if code, is := sandbox.Supervise(args); is || code != 0 {
			t.Errorf("Supervise(%q) in a process that is not a supervisor: got %d, %v", args, code, is)
		}
	}
}

func TestStdin(t *testing.T) {
	r, w := pipe(t)
	spec := acting(newRoot(t), "cat", "/dev/stdin")
	spec.Stdin = r
	e2e.NoError(t, e2e.Err(io.WriteString(w, "input")))
	w.Close()
	if said, _ := play(t, spec); said != "input" {
		t.Errorf("the function's stdin: got %q", said)
	}
}
