package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/xfn-dev/xfn/function/functiontest"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
)

func start(t *testing.T, p process.Process, pkg string) *runtimes.Instance {
	t.Helper()
	fn, err := p.Start(t.Context(), runtimes.Function{Name: "f", Package: pkg})
	if err != nil {
		t.Fatal(err)
	}
	return fn
}

// assertReaped checks that a process is not even a zombie.
func assertReaped(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

func TestPackage(t *testing.T) {
	for _, b := range []functiontest.Behaviour{functiontest.Serves, functiontest.ServesTCP} {
		t.Run(string(b), func(t *testing.T) {
			line, tmp := newLifeline(t), shortDir(t)
			pkg := writeChild(t, b, line)
			fn := start(t, process.Process{TempDir: tmp}, pkg)
			assertAnswers(t, fn)
			if want := "the program of " + pkg + " for linux/" + host.Architecture; fn.Detail != want {
				t.Errorf("detail: got %q, want %q", fn.Detail, want)
			}
			assertPrivate(t, tmp)
			one := line.next(t)
			stop(t, fn)
			assertReaped(t, one.pid)
		})
	}
}

// Packages as they come: of several platforms, and as other tools write them.
func TestFormsOfPackages(t *testing.T) {
	line := newLifeline(t)
	img := imageOf(t, host, childConfig(functiontest.Serves, line), selfLayer(t))
	other := imageOf(t, v1.Platform{OS: "linux", Architecture: "s390x"}, v1.Config{}, program(t, "x"))
	docker := filepath.Join(t.TempDir(), "docker.xpkg")
	if err := tarball.WriteToFile(docker, nil, img); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, pkg string }{
		"Index":  {"the image for this machine is taken", write(t, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: other}, mutate.IndexAddendum{Add: img}))},
		"Docker": {"a Docker archive has no manifest and no annotations", docker},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fn, err := process.Process{TempDir: shortDir(t)}.Start(t.Context(), runtimes.Function{Name: "f", Package: tc.pkg})
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			assertAnswers(t, fn)
			stop(t, fn)
			line.next(t).awaitDeath(t)
		})
	}
}

func assertPrivate(t *testing.T, tmp string) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(tmp, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("got directories %q, %v", dirs, err)
	}
	info, err := os.Stat(dirs[0])
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the private directory: got %v, %v", info.Mode(), err)
	}
}

func TestLongTempDir(t *testing.T) {
	tmp := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	fn := start(t, process.Process{TempDir: tmp}, writeChild(t, functiontest.Serves, newLifeline(t)))
	assertAnswers(t, fn)
	stop(t, fn)
	assertEmpty(t, tmp)
}

func TestManyAtOnce(t *testing.T) {
	line, p := newLifeline(t), process.Process{TempDir: shortDir(t)}
	pkg := writeChild(t, functiontest.Serves, line)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			fn, err := p.Start(t.Context(), runtimes.Function{Name: "f", Package: pkg})
			if err != nil {
				t.Error(err)
				return
			}
			assertAnswers(t, fn)
			stop(t, fn)
		})
	}
	wg.Wait()
	for range 6 {
		line.next(t).awaitDeath(t)
	}
}

// Functions that fail do not disturb those that start at the same time.
func TestGoodAndBadAtOnce(t *testing.T) {
	line, p := newLifeline(t), process.Process{TempDir: shortDir(t)}
	good, bad := writeChild(t, functiontest.Serves, line), writeChild(t, functiontest.Crashes, line)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			fn, err := p.Start(t.Context(), runtimes.Function{Name: "good", Package: good})
			if err != nil {
				t.Error(err)
				return
			}
			assertAnswers(t, fn)
			stop(t, fn)
		})
		wg.Go(func() {
			if _, err := p.Start(t.Context(), runtimes.Function{Name: "bad", Package: bad}); err == nil || !strings.Contains(err.Error(), "exit status 3") {
				t.Errorf("got %v, want a crash", err)
			}
		})
	}
	wg.Wait()
	for range 6 {
		line.next(t).awaitDeath(t)
	}
}

// A function that writes without end is read, bounded, and stopped.
func TestNoise(t *testing.T) {
	var lines atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	p := process.Process{TempDir: shortDir(t), Output: func(string, string) {
		if lines.Add(1) == 200_000 {
			cancel()
		}
	}}
	config := v1.Config{Entrypoint: []string{"/usr/bin/function", beNoisy}}
	_, err := p.Start(ctx, runtimes.Function{Name: "f", Package: write(t, imageOf(t, host, config, selfLayer(t)))})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a cancellation", err)
	}

	p = process.Process{TempDir: shortDir(t), StartTimeout: 2 * time.Second}
	_, err = p.Start(t.Context(), runtimes.Function{Name: "f", Package: write(t, imageOf(t, host, config, selfLayer(t)))})
	if err == nil || !strings.Contains(err.Error(), "no answer within 2s") {
		t.Fatalf("got %v, want the time-out", err)
	}
	if got := strings.Count(err.Error(), "\n  noise "); got != 20 {
		t.Errorf("got %d lines of noise, want the last 20", got)
	}
}

func TestBadFunctions(t *testing.T) {
	var last []string
	for n := range 19 {
		last = append(last, fmt.Sprintf("  line %d\n", n+12))
	}
	cases := map[string]struct {
		reason    string
		behaviour functiontest.Behaviour
		timeout   time.Duration
		want      string
	}{
		"Crashes": {"status and last lines are shown", functiontest.Crashes, 0, `starting function "f": it ended by itself (exit status 3); its last output:` + "\n" + strings.Join(last, "") + "  no heart to go on"},
		"Hangs":   {"a function has its time to answer", functiontest.Hangs, 2 * time.Second, "no answer within 2s: "},
		"Babbles": {"what is no gRPC is quoted at once", functiontest.Babbles, 0, "where gRPC was expected; it wrote no output"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			line := newLifeline(t)
			p := process.Process{TempDir: shortDir(t), StartTimeout: tc.timeout}
			_, err := p.Start(t.Context(), runtimes.Function{Name: "f", Package: writeChild(t, tc.behaviour, line)})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
			one := line.next(t)
			one.awaitDeath(t)
			assertReaped(t, one.pid)
		})
	}
}

func TestBadPackages(t *testing.T) {
	named := func(entrypoint ...string) v1.Config { return v1.Config{Entrypoint: entrypoint} }
	function := named("/usr/bin/function")
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: imageOf(t, v1.Platform{OS: "linux", Architecture: "s390x"}, function, program(t, "x"))},
		mutate.IndexAddendum{Add: imageOf(t, v1.Platform{OS: "linux", Architecture: "riscv64"}, function, program(t, "x"))})
	notPackage := filepath.Join(t.TempDir(), "x.xpkg")
	if err := os.WriteFile(notPackage, []byte("no tar"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason, pkg string
		want, hint  string
	}{
		"NoTar":       {"a file that is no package", notPackage, `opening "` + notPackage + `"`, ""},
		"Platforms":   {"the platforms that are there are named", write(t, index), "it has no image for linux/" + host.Architecture + ", only for linux/s390x, linux/riscv64", "--platform linux/" + host.Architecture},
		"NoRuntime":   {"a package may be without runtime", write(t, imageOf(t, v1.Platform{}, v1.Config{}, program(t, "x"))), "it has no runtime image", "--embed-runtime-source"},
		"NoEntry":     {"an image may say nothing to run", write(t, imageOf(t, host, v1.Config{}, program(t, "x"))), "its image has no entrypoint", "--embed-runtime-source"},
		"NoFile":      {"the entrypoint may not exist", write(t, imageOf(t, host, named("/function"), program(t, "x"))), `the image has no file "/function"`, ""},
		"NotOnPath":   {"a bare name that is nowhere", write(t, imageOf(t, host, named("python"), program(t, "x"))), `the image has no program "python" on its PATH`, ""},
		"Script":      {"a script needs its image", write(t, imageOf(t, host, function, program(t, "#!/bin/sh\n"))), `its entrypoint "/usr/bin/function" is a script`, "CGO_ENABLED=0"},
		"NoProgram":   {"something else is no program", write(t, imageOf(t, host, function, program(t, "hello"))), `its entrypoint "/usr/bin/function" is not a Linux program`, "CGO_ENABLED=0"},
		"Empty":       {"an empty file is no program", write(t, imageOf(t, host, function, program(t, ""))), `is not a Linux program`, "CGO_ENABLED=0"},
		"WrongCPU":    {"a program for another processor does not start", write(t, imageOf(t, host, function, program(t, foreignProgram()))), "running it: exec format error", ""},
		"NoLibraries": {"a program whose loader is missing is explained", write(t, imageOf(t, host, function, program(t, dynamicProgram()))), "running it: no such file or directory", "CGO_ENABLED=0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := process.Process{TempDir: shortDir(t)}.Start(t.Context(), runtimes.Function{Name: "f", Package: tc.pkg})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), `starting function "f": `) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
			if got := hint.Of(err); !strings.Contains(got, tc.hint) {
				t.Errorf("%s: got hint %q, want %q", tc.reason, got, tc.hint)
			}
		})
	}
}

func TestEntrypoints(t *testing.T) {
	child := functiontest.ChildArgs(functiontest.Serves, "")
	with := func(name string) []string { return append([]string{name}, child...) }
	cases := map[string]struct {
		reason string
		config v1.Config
	}{
		"Absolute": {"a path", v1.Config{Entrypoint: with("/usr/bin/function")}},
		"Relative": {"a path from the working directory", v1.Config{Entrypoint: with("./function"), WorkingDir: "/usr/bin"}},
		"BareName": {"a name on the usual PATH", v1.Config{Entrypoint: with("function")}},
		"OnPath":   {"a name on the image's PATH", v1.Config{Entrypoint: with("function"), Env: []string{"PATH=/nowhere:/usr/bin"}}},
		"Cmd":      {"only a command", v1.Config{Cmd: with("/usr/bin/function")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fn := start(t, process.Process{TempDir: shortDir(t)}, write(t, imageOf(t, host, tc.config, selfLayer(t))))
			assertAnswers(t, fn)
			stop(t, fn)
		})
	}
}

func TestWhatAFunctionIsGiven(t *testing.T) {
	t.Setenv("XFN_TEST_SECRET", "s3cret")
	var mu sync.Mutex
	var lines []string
	tmp := shortDir(t)
	p := process.Process{
		Env:     []string{"LANG=C", "ADDED=by user", "IMAGE=overruled"},
		TempDir: tmp,
		Output: func(function, line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, function+" "+line)
		},
	}
	config := v1.Config{
		Entrypoint: []string{"/usr/bin/function", beTalker, "own"},
		Env:        []string{"IMAGE=says", "KEPT=yes", "PATH=/image", "SSL_CERT_FILE=/image/certs", "HOME=/image", "bare"},
	}
	_, err := p.Start(t.Context(), runtimes.Function{Name: "f", Package: write(t, imageOf(t, host, config, selfLayer(t)))})
	if err == nil || !strings.Contains(err.Error(), "it ended by itself (exit status 0)") {
		t.Errorf("got %v, want that it ended", err)
	}
	args := lines[0]
	if !strings.HasPrefix(args, "f args: "+beTalker+" own --insecure --network=unix --address="+tmp) || !strings.HasSuffix(args, "/fn.sock") {
		t.Errorf("arguments: got %q", args)
	}
	if !strings.HasPrefix(lines[1], "f dir: xfn-") {
		t.Errorf("directory: got %q", lines[1])
	}
	for _, want := range []string{
		"f env: KEPT=yes", "f env: LANG=C", "f env: ADDED=by user", "f env: IMAGE=overruled", "f env: HOME=DIR", "f env: TMPDIR=DIR",
		"f odd: [31mred\ufffd end", "f no newline", "f long: " + strings.Repeat("x", 2042), "f " + strings.Repeat("x", 2048), "f " + strings.Repeat("x", 910),
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %.60q in %.2000q", want, lines)
		}
	}
	for _, bad := range []string{"XFN_TEST_SECRET", "/image", "bare"} {
		if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, bad) }) {
			t.Errorf("%q got through: %.2000q", bad, lines)
		}
	}
}

func TestLargeAnswer(t *testing.T) {
	fn := start(t, process.Process{TempDir: shortDir(t), MaxMessageSize: 100}, writeChild(t, functiontest.Serves, newLifeline(t)))
	_, err := fn.RunFunction(t.Context(), "f", request(t, `{"response": {"meta": {"tag": "`+strings.Repeat("x", 200)+`"}}}`))
	if err == nil || !strings.Contains(err.Error(), "more than the limit of 100") {
		t.Errorf("got %v, want the limit", err)
	}
	stop(t, fn)
}

// Unpacking, starting, one call, stopping.
func BenchmarkPackage(b *testing.B) {
	l, err := self()
	if err != nil {
		b.Fatal(err)
	}
	entrypoint := append([]string{"/usr/bin/function"}, functiontest.ChildArgs(functiontest.Serves, "")...)
	pkg := write(b, imageOf(b, host, v1.Config{Entrypoint: entrypoint}, l))
	req := request(b, `{"response": {}}`)
	for b.Loop() {
		fn, err := process.Process{}.Start(b.Context(), runtimes.Function{Name: "f", Package: pkg})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := fn.RunFunction(b.Context(), "f", req); err != nil {
			b.Fatal(err)
		}
		if err := fn.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
