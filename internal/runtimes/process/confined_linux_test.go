package process_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	xremote "github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
	sandboxes "github.com/xfn-dev/xfn/internal/runtimes/sandbox"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// beContained is a role of this test binary: it executes a program with the restrictions
// of a container engine. The first argument is a list of the capabilities, by number,
// that the program keeps as root, or "all".
const beContained = "process-test-contained"

// containedVar is set if the tests run with the restrictions of beContained. Its value is
// the text that an Instance's Detail must then contain.
const containedVar = "XFN_TEST_CONTAINED"

func init() {
	roles[beContained] = func(args []string) {
		runtime.LockOSThread() // capabilities belong to a thread
		keep, args := strings.Split(args[0], ","), args[1:]
		for c := 0; c <= unix.CAP_LAST_CAP && keep[0] != "all"; c++ {
			if !slices.Contains(keep, strconv.Itoa(c)) {
				_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) // ignore an error: the kernel may know fewer capabilities
			}
		}
		_, _ = io.WriteString(os.Stderr, functiontest.ExecContained(args[0], args, os.Environ()).Error())
		os.Exit(1)
	}
}

// confined returns a runtime for packages. All tests share its cache, so that each
// package is unpacked once. At the end of the test it asserts that no function left files
// in the cache or in the temporary directory.
func confined(t testing.TB) process.Process {
	t.Helper()
	dir := e2e.Must(shared())(t)
	return confinedWith(t, filepath.Join(dir, "cache"))
}

func confinedWith(t testing.TB, cache string) process.Process {
	t.Helper()
	tmp := t.TempDir()
	t.Cleanup(func() {
		for _, pattern := range []string{tmp + "/*", cache + "/roots/sha256/*/rootfs/tmp/*"} {
			if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		}
	})
	return process.Process{LocalOptions: runtimes.LocalOptions{TempDir: tmp}, Packages: sandboxes.Confined{Sandbox: sandboxes.Sandbox{
		Cache: cache, LocalOptions: runtimes.LocalOptions{TempDir: tmp, StartTimeout: time.Minute}, Pull: image.Options{Remote: xremote.New(xremote.Options{})},
	}}}
}

// TestPackages checks that functions from packages in each format answer, and that Detail
// says how the functions are confined.
func TestPackages(t *testing.T) {
	img := behaving(t, functiontest.Serves)
	other := imageOf(t, v1.Platform{OS: "linux", Architecture: "s390x"}, v1.Config{}, layerOf(t, map[string][]byte{"x": nil}))
	dir := t.TempDir()
	docker, folder := filepath.Join(dir, "docker.xpkg"), filepath.Join(dir, "layout")
	e2e.NoError(t, tarball.WriteToFile(docker, nil, img))
	l := e2e.Must(layout.Write(folder, empty.Index))(t)
	e2e.NoError(t, l.AppendImage(img))
	cases := map[string]struct {
		reason, pkg string
	}{
		"File":    {"a package file is started", write(t, img)},
		"TCP":     {"a function need not support --network", write(t, behaving(t, functiontest.ServesTCP))},
		"Stays":   {"a function that ignores the signal is killed", write(t, behaving(t, functiontest.Stays))},
		"Index":   {"the image for the platform of this machine is chosen", write(t, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: other}, mutate.IndexAddendum{Add: img}))},
		"Docker":  {"a Docker archive has no manifest and no annotations", docker},
		"Layout":  {"a folder with an OCI image layout is not source", folder},
		"AsRoot":  {"an image need not name a user", write(t, imageOf(t, host, v1.Config{Entrypoint: []string{"/function", "serves"}}, functionLayer(t)))},
		"Command": {"an image may have a command and no entrypoint", write(t, imageOf(t, host, v1.Config{Cmd: []string{"function", "serves"}, Env: []string{"PATH=/"}}, functionLayer(t)))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			fn := e2e.Must(confined(t).Start(t.Context(), runtimes.Function{Name: "f", Package: tc.pkg}))(t)
			assertAnswers(t, fn)
			want := ` as a process \(` + os.Getenv(containedVar) + `.*(Landlock \d+|no Landlock: .*), seccomp, memory 2048 MiB by rlimit, no outgoing connections\)$`
			if !strings.HasPrefix(fn.Detail, tc.pkg) || !regexp.MustCompile(want).MatchString(fn.Detail) {
				t.Errorf("detail: got %q, want %s", fn.Detail, want)
			}
			if !strings.HasPrefix(fn.Identity, "sha256:") {
				t.Errorf("identity: got %q, want the image's digest", fn.Identity)
			}
			stop(t, fn)
		})
	}
}

// TestPackageByReference checks that Prepare pulls a package reference into the cache,
// and that the function then starts without a network.
func TestPackageByReference(t *testing.T) {
	text := remotetest.Serve(t, remotetest.Handler()) + "/acme/f:v1"
	ref := e2e.Must(name.ParseReference(text))(t)
	e2e.NoError(t, remote.Write(ref, behaving(t, functiontest.Serves)))
	p, fn := confinedWith(t, t.TempDir()), runtimes.Function{Name: "f", Package: text}
	source := runtimes.Function{Name: "source", Package: writeModule(t, "package main\n")} // a folder with source: Prepare must not fetch it
	packages := p.Packages.(sandboxes.Confined)
	packages.Pull.Offline = true
	p.Packages = packages
	if err := p.Prepare(t.Context(), fn, source); !errors.As(err, new(*image.MissingError)) {
		t.Errorf("Prepare() of an image that is not in the cache, offline: got %v", err)
	}
	packages.Pull.Offline = false
	e2e.NoError(t, process.Process{Packages: packages}.Prepare(t.Context(), fn, source))
	assertAnswersAndStops(t, p, fn)
}

func assertAnswersAndStops(t *testing.T, p process.Process, fn runtimes.Function) {
	t.Helper()
	instance := e2e.Must(p.Start(t.Context(), fn))(t)
	assertAnswers(t, instance)
	stop(t, instance)
}

// TestPackageOfItsRoot checks images whose program needs the image's root directory. Such
// a function starts if the caller may change the root. Otherwise the error says why it
// does not start, and the hint names alternatives.
func TestPackageOfItsRoot(t *testing.T) {
	shell := dynamic(t, "/bin/sh")
	cases := map[string]struct {
		reason string
		argv   []string
		layer  v1.Layer
		want   string
	}{
		"Script":  {"an interpreter of the image needs its root", []string{"/script"}, layerOf(t, map[string][]byte{"script": []byte("#!/function serves\n")}), `the entrypoint "/script" is a script, and its interpreter is only in the image`},
		"Dynamic": {"libraries of the image need its root", []string{"/bin/sh", "-c", `exec /function serves "$@"`, "sh"}, layerOf(t, shell), `the entrypoint "/bin/sh" is dynamically linked, and its libraries are only in the image`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := confined(t)
			fn := runtimes.Function{Name: "f", Package: write(t, imageOf(t, host, v1.Config{Entrypoint: tc.argv}, functionLayer(t), tc.layer))}
			if unix.Chroot("/") == nil { // this call changes nothing: it tests whether chroot is permitted
				assertAnswersAndStops(t, p, fn)
				return
			}
			_, err := p.Start(t.Context(), fn)
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), `starting function "f": `) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
			if got := string(hint.Of(err)); !strings.Contains(got, "CAP_SYS_CHROOT") || !strings.Contains(got, "CGO_ENABLED=0") || !strings.Contains(got, "Development") {
				t.Errorf("%s: got hint %q", tc.reason, got)
			}
		})
	}
}

func TestBadPackages(t *testing.T) {
	function := v1.Config{Entrypoint: []string{"/function", "serves"}}
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: imageOf(t, v1.Platform{OS: "linux", Architecture: "s390x"}, function)},
		mutate.IndexAddendum{Add: imageOf(t, v1.Platform{OS: "linux", Architecture: "riscv64"}, function)})
	noPackage := filepath.Join(t.TempDir(), "x.xpkg")
	e2e.NoError(t, os.WriteFile(noPackage, []byte("not a tar"), 0o600))
	cases := map[string]struct{ reason, pkg, want, hint string }{
		"NoTar":        {"a file that is not a package is an error", noPackage, `opening "` + noPackage + `"`, ""},
		"Missing":      {"a missing file is an error", "none.xpkg", `opening "none.xpkg": no such file or directory`, ""},
		"Platforms":    {"the error lists the platforms of the index", write(t, index), "linux/s390x", ""},
		"NoEntrypoint": {"an image needs an entrypoint or a command", write(t, imageOf(t, host, v1.Config{}, functionLayer(t))), "the image has no entrypoint", "{embed-runtime-source}"},
		"NoProgram":    {"the entrypoint must exist", write(t, imageOf(t, host, v1.Config{Entrypoint: []string{"/none"}}, functionLayer(t))), `"/none"`, ""},
		"Crashes":      {"the error quotes the last output", write(t, behaving(t, functiontest.Crashes)), "the function ended unexpectedly (exit code 3); its last output:\n  line 12\n", ""},
		"Babbles":      {"an answer that is not gRPC is an error", write(t, behaving(t, functiontest.Babbles)), "where gRPC was expected", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := confined(t).Start(t.Context(), runtimes.Function{Name: "f", Package: tc.pkg})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), `starting function "f": `) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
			e2e.Has(t, tc.reason, string(hint.Of(err)), tc.hint)
		})
	}
	t.Run("Hangs", func(t *testing.T) {
		p := confined(t)
		packages := p.Packages.(sandboxes.Confined)
		packages.StartTimeout = time.Second
		_, err := packages.Start(t.Context(), runtimes.Function{Name: "f", Package: write(t, behaving(t, functiontest.Hangs))})
		e2e.ErrorHas(t, "a function must answer within the timeout", err, "no answer within 1s")
	})
	t.Run("Cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := confined(t).Start(ctx, runtimes.Function{Name: "f", Package: write(t, behaving(t, functiontest.Serves))})
		e2e.ErrorIs(t, "a start with a canceled context is an error", err, context.Canceled)
	})
}

// TestPackageAnnotations checks that each annotation has its effect, or that Detail says
// that it has no effect.
func TestPackageAnnotations(t *testing.T) {
	pkg := write(t, behaving(t, functiontest.Serves))
	cases := map[string]struct{ reason, annotation, value, want, wantErr string }{
		"Memory":   {"a resource limit enforces the memory limit", sandboxes.AnnotationMemory, "512Mi", "memory 512 MiB by rlimit", ""},
		"CPU":      {"the CPU limit cannot be enforced", sandboxes.AnnotationCPU, "1", "no CPU limit", ""},
		"Writable": {"a shared root stays read-only", sandboxes.AnnotationWritable, "true", "only TMPDIR is writable", ""},
		"Network":  {"the annotation permits the machine's network", sandboxes.AnnotationNetwork, "Runner", "by rlimit, network of this machine)", ""},
		"Wrong":    {"an invalid value is an error", sandboxes.AnnotationNetwork, "None", "", `unknown network "None"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fn := runtimes.Function{Name: "f", Package: pkg, Annotations: map[string]string{tc.annotation: tc.value}}
			instance, err := confined(t).Start(t.Context(), fn)
			if tc.wantErr != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.wantErr)
				return
			}
			e2e.NoError(t, err)
			assertAnswers(t, instance)
			e2e.Has(t, tc.reason, instance.Detail, tc.want)
			stop(t, instance)
		})
	}
}

func TestManyPackagesAtOnce(t *testing.T) {
	p, pkg := confined(t), write(t, behaving(t, functiontest.Serves))
	var instances []*runtimes.Instance
	for range 4 { // all instances have the same root
		fn := e2e.Must(p.Start(t.Context(), runtimes.Function{Name: "f", Package: pkg}))(t)
		instances = append(instances, fn)
	}
	for _, fn := range instances {
		assertAnswers(t, fn)
		stop(t, fn)
	}
}

// TestSandboxIsForbidden checks that the error of the runtime Sandbox says that
// namespaces are forbidden, and that its hint names the runtime Process.
func TestSandboxIsForbidden(t *testing.T) {
	if os.Getenv(containedVar) == "" {
		t.Skip("TestInContainer runs this")
	}
	pkg := write(t, behaving(t, functiontest.Serves))
	_, err := confined(t).Packages.(sandboxes.Confined).Sandbox.Start(t.Context(), runtimes.Function{Name: "f", Package: pkg})
	if !errors.As(err, new(*sandbox.NamespaceError)) || !errors.Is(err, syscall.EPERM) {
		t.Errorf("got %v, want a NamespaceError", err)
	}
	if got := string(hint.Of(err)); !strings.Contains(got, "{runtime} Process") || !strings.Contains(got, "user namespaces") {
		t.Errorf("got hint %q", got)
	}
}

// TestInContainer repeats the tests of packages with the restrictions of a container
// engine, where no process can create a namespace. It runs them as root with Docker's
// capabilities, with one capability and with none, and as an ordinary user.
func TestInContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("it repeats the tests of packages as other users")
	}
	if os.Getenv(containedVar) != "" {
		t.Skip("this test runs in such a confinement already")
	}
	shared, self := e2e.Must(shared())(t), e2e.Must(os.Executable())(t)
	const user = 54321
	for name, tc := range map[string]struct {
		id              int
		keep, confining string
	}{
		"Root":           {0, "0,1,3,4,5,6,7,8,10,13,18,27,29,31", `chroot, user 1\d{5},`},
		"OnlyChroot":     {0, strconv.Itoa(unix.CAP_SYS_CHROOT), `chroot, root without capabilities,`},
		"NoCapabilities": {0, "none", `no chroot, root without capabilities,`},
		"User":           {user, "all", `no chroot, user 54321,`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := tc.id
			if os.Geteuid() != 0 {
				t.Skip("only root can change the user")
			}
			dir := e2e.Must(os.MkdirTemp("", "user"))(t)
			e2e.NoError(t, errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, id, id)))
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			program := filepath.Join(dir, "test")
			// Another process writes the copy. If this process wrote it, a child that another
			// test starts meanwhile could keep the file open, and the kernel would not run it.
			e2e.NoError(t, exec.Command("cp", self, program).Run())
			cmd := exec.CommandContext(e2e.Context(t), program, beContained, tc.keep, program, "-test.v", "-test.count=1", "-test.run=Package|TestSandboxIsForbidden")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), containedVar+"="+tc.confining, builtVar+"="+filepath.Join(shared, "function"), "TMPDIR="+dir, "HOME="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
			out, err := cmd.CombinedOutput()
			for _, test := range []string{"TestSandboxIsForbidden", "TestPackages", "TestPackageOfItsRoot"} {
				if !slices.Contains(strings.Fields(string(out)), test) || !strings.Contains(string(out), "--- PASS: "+test+" ") {
					t.Errorf("%s as user %d failed", test, id)
				}
			}
			if err != nil || t.Failed() {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
