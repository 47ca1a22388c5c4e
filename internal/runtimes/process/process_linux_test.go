package process_test

import (
	"context"
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

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
)

func start(t *testing.T, p process.Process, pkg string) *runtimes.Instance {
	t.Helper()
	return e2e.Must(p.Start(t.Context(), runtimes.Function{Name: "f", Package: pkg}))(t)
}

// begin starts a functiontest child, which connects to the lifeline.
func begin(t *testing.T, b functiontest.Behavior) (*runtimes.Instance, lifeline) {
	t.Helper()
	line := newLifeline(t)
	p := process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t)}}
	return start(t, p, writeChild(t, b, line)), line
}

// assertReaped asserts that a process no longer exists, not even as a zombie.
func assertReaped(t *testing.T, pid int) {
	t.Helper()
	e2e.ErrorIs(t, fmt.Sprintf("process %d still exists", pid), syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestSource(t *testing.T) {
	for _, b := range []functiontest.Behavior{functiontest.Serves, functiontest.ServesTCP} {
		t.Run(string(b), func(t *testing.T) {
			line, tmp := newLifeline(t), shortDir(t)
			pkg := writeChild(t, b, line)
			fn := start(t, process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: tmp}}, pkg)
			assertAnswers(t, fn)
			e2e.Equal(t, "the detail is the folder of the source", "built from "+pkg, fn.Detail)
			assertPrivate(t, tmp)
			one := line.next(t)
			stop(t, fn)
			assertReaped(t, one.pid)
		})
	}
}

func assertPrivate(t *testing.T, tmp string) {
	t.Helper()
	dirs := e2e.Glob(t, filepath.Join(tmp, "*"))
	if len(dirs) != 1 {
		t.Fatalf("got directories %q", dirs)
	}
	info, err := os.Stat(dirs[0])
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the private directory: got %v, %v", info.Mode(), err)
	}
}

func TestLongTempDir(t *testing.T) {
	tmp := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	e2e.NoError(t, os.Mkdir(tmp, 0o700))
	fn := start(t, process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: tmp}}, writeChild(t, functiontest.Serves, newLifeline(t)))
	assertAnswers(t, fn)
	stop(t, fn)
	e2e.Empty(t, tmp)
}

func TestManyAtOnce(t *testing.T) {
	line, p := newLifeline(t), process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t)}}
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
	e2e.Wait(t, &wg)
	for range 6 {
		line.next(t).awaitDeath(t)
	}
}

// TestGoodAndBadAtOnce checks that functions that fail do not affect functions
// that start at the same time.
func TestGoodAndBadAtOnce(t *testing.T) {
	line, p := newLifeline(t), process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t)}}
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
			e2e.ErrorHas(t, "a function that crashes is an error", e2e.Err(p.Start(t.Context(), runtimes.Function{Name: "bad", Package: bad})), "exit status 3")
		})
	}
	e2e.Wait(t, &wg)
	for range 6 {
		line.next(t).awaitDeath(t)
	}
}

// TestNoise checks a function that writes without end: its output in errors is bounded,
// and it can be stopped.
func TestNoise(t *testing.T) {
	var lines atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	p := process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t), Output: func(string, string) {
		if lines.Add(1) == 200_000 {
			cancel()
		}
	}}}
	noisy := writeSelf(t, beNoisy)
	_, err := p.Start(ctx, runtimes.Function{Name: "f", Package: noisy})
	e2e.ErrorIs(t, "canceling ends the start of a function that only writes", err, context.Canceled)

	p = process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t), StartTimeout: 2 * time.Second}}
	_, err = p.Start(t.Context(), runtimes.Function{Name: "f", Package: noisy})
	if err == nil || !strings.Contains(err.Error(), "no answer within 2s") {
		t.Fatalf("got %v, want a timeout", err)
	}
	e2e.Equal(t, "the error has only the last lines of the output", 20, strings.Count(err.Error(), "\n  noise "))
}

func TestBadFunctions(t *testing.T) {
	var last []string
	for n := range 19 {
		last = append(last, fmt.Sprintf("  line %d\n", n+12))
	}
	cases := map[string]struct {
		reason   string
		behavior functiontest.Behavior
		timeout  time.Duration
		want     string
	}{
		"Crashes": {"the error contains the exit status and the last lines", functiontest.Crashes, 0, `starting function "f": the function ended unexpectedly (exit status 3); its last output:` + "\n" + strings.Join(last, "") + "  a simulated crash"},
		"Hangs":   {"a function must answer within the timeout", functiontest.Hangs, 2 * time.Second, "no answer within 2s: "},
		"Babbles": {"an answer that is not gRPC is quoted immediately", functiontest.Babbles, 0, "where gRPC was expected; it wrote no output"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			line := newLifeline(t)
			p := process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t), StartTimeout: tc.timeout}}
			e2e.ErrorHas(t, tc.reason, e2e.Err(p.Start(t.Context(), runtimes.Function{Name: "f", Package: writeChild(t, tc.behavior, line)})), tc.want)
			one := line.next(t)
			one.awaitDeath(t)
			assertReaped(t, one.pid)
		})
	}
}

func TestLargeAnswer(t *testing.T) {
	fn := start(t, process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t), MaxMessageSize: 100}}, writeChild(t, functiontest.Serves, newLifeline(t)))
	_, err := fn.RunFunction(t.Context(), "f", request(t, `{"response": {"meta": {"tag": "`+strings.Repeat("x", 200)+`"}}}`))
	e2e.ErrorHas(t, "a response above the limit is an error", err, "more than the limit of 100")
	stop(t, fn)
}

func TestWhatAFunctionIsGiven(t *testing.T) {
	t.Setenv("XFN_TEST_SECRET", "s3cret")
	var mu sync.Mutex
	var lines []string
	tmp := shortDir(t)
	p := process.Process{
		Env:   []string{"LANG=C", "ADDED=by user"},
		GoEnv: goEnv(t),
		LocalOptions: runtimes.LocalOptions{TempDir: tmp, Output: func(function, line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, function+" "+line)
		}},
	}
	_, err := p.Start(t.Context(), runtimes.Function{Name: "f", Package: writeSelf(t, beTalker, "own")})
	e2e.ErrorHas(t, "the error says how the process ended", err, "the function ended unexpectedly (exit status 0)")
	args := lines[0]
	if !strings.HasPrefix(args, "f args: "+beTalker+" own --insecure --network=unix --address="+tmp) || !strings.HasSuffix(args, "/fn.sock") {
		t.Errorf("arguments: got %q", args)
	}
	if !strings.HasPrefix(lines[1], "f dir: xfn-") {
		t.Errorf("directory: got %q", lines[1])
	}
	for _, want := range []string{
		"f env: LANG=C", "f env: ADDED=by user", "f env: HOME=DIR", "f env: TMPDIR=DIR",
		"f odd: [31mred\ufffd end", "f no newline", "f long: " + strings.Repeat("x", 2042), "f " + strings.Repeat("x", 2048), "f " + strings.Repeat("x", 910),
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("line %.60q is missing in %.2000q", want, lines)
		}
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "XFN_TEST_SECRET") }) {
		t.Errorf("a secret is in the environment: %.2000q", lines)
	}
}

// TestSlowCompiler checks that a note says so if the compiler needs long. The compiler here waits for
// the note.
func TestSlowCompiler(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for progress.Silence")
	}
	t.Parallel()
	bin := t.TempDir()
	pipe := filepath.Join(bin, "pipe")
	e2e.NoError(t, syscall.Mkfifo(pipe, 0o600))
	e2e.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\nread line < "+pipe+"\necho $line\nexit 1\n"), 0o700))
	report := func(e progress.Event) {
		if e.Kind == progress.Note {
			_ = os.WriteFile(pipe, []byte(e.Text+"\n"), 0o600) // Otherwise ctx ends.
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*progress.Silence)
	defer cancel()
	p := process.Process{GoEnv: []string{"PATH=" + bin}, LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t), Progress: report}}
	e2e.ErrorHas(t, "the compiler prints the note", e2e.Err(p.Start(ctx, runtimes.Function{Name: "f", Package: "./testdata/literal"})), `still compiling function "f": `)
}
