package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
)

func TestDiesInCall(t *testing.T) {
	fn, line := begin(t, functiontest.DiesInCall)
	for _, moment := range []string{"the function ends during a call", "the function ends after a call"} {
		_, err := fn.RunFunction(t.Context(), "f", request(t, `{}`))
		want := `calling function "f": the function ended unexpectedly (signal: killed); its last output:` + "\n  a simulated crash in a call"
		e2e.Equal(t, moment+", and the error says how", want, fmt.Sprint(err))
	}
	stop(t, fn)
	line.next(t).awaitDeath(t)
}

func TestStopKills(t *testing.T) {
	t.Run("Impatient", func(t *testing.T) {
		fn, line := begin(t, functiontest.Stays)
		one := line.next(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e2e.NoError(t, fn.Stop(ctx))
		assertReaped(t, one.pid)
	})
	t.Run("Patient", func(t *testing.T) {
		fn, line := begin(t, functiontest.Stays)
		one := line.next(t)
		stop(t, fn)
		assertReaped(t, one.pid)
	})
	t.Run("Group", func(t *testing.T) {
		fn, line := begin(t, functiontest.Forks)
		parent, child := line.next(t), line.next(t)
		stop(t, fn)
		parent.awaitDeath(t)
		child.awaitDeath(t)
	})
	t.Run("Orphans", func(t *testing.T) {
		fn, line := begin(t, functiontest.Forks)
		parent, child := line.next(t), line.next(t)
		e2e.NoError(t, syscall.Kill(parent.pid, syscall.SIGKILL))
		parent.awaitDeath(t)
		child.awaitDeath(t) // the child must end before Stop is called
		stop(t, fn)
	})
}

func TestCancel(t *testing.T) {
	t.Run("BeforeStart", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t)}}.Start(ctx, runtimes.Function{Name: "f", Package: writeChild(t, functiontest.Serves, newLifeline(t))})
		e2e.ErrorIs(t, "a start with a canceled context is an error", err, context.Canceled)
	})
	for name, tc := range map[string]struct {
		cause error
		want  string
	}{
		"WhileItStarts": {context.Canceled, "context canceled"},
		"TimeOut":       {errors.New("took too long"), "took too long; it wrote no output"},
	} {
		t.Run(name, func(t *testing.T) {
			line, tmp := newLifeline(t), shortDir(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			failed := make(chan error, 1)
			pkg := writeChild(t, functiontest.Hangs, line)
			go func() {
				_, err := process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: tmp}}.Start(ctx, runtimes.Function{Name: "f", Package: pkg})
				failed <- err
			}()
			one := line.next(t)
			cancel(tc.cause)
			e2e.Equal(t, "canceling a start is an error with the cause", `starting function "f": `+tc.want, fmt.Sprint(e2e.Receive(t, failed)))
			assertReaped(t, one.pid)
			e2e.Empty(t, tmp)
		})
	}
	t.Run("DuringACall", func(t *testing.T) {
		line, tmp := newLifeline(t), shortDir(t)
		fn := start(t, process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: tmp}}, writeChild(t, functiontest.HangsInCall, line))
		one := line.next(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("took too long"))
		defer cancel()
		e2e.Equal(t, "a call after its deadline is an error with the cause", `calling function "f": took too long`, fmt.Sprint(e2e.Err(fn.RunFunction(ctx, "f", request(t, `{}`)))))
		e2e.NoError(t, fn.Stop(ctx))
		assertReaped(t, one.pid)
		e2e.Empty(t, tmp)
	})
}

// TestKilledUser checks that a function ends when the process that started it is killed.
func TestKilledUser(t *testing.T) {
	line := newLifeline(t)
	user := exec.CommandContext(e2e.Context(t), "/proc/self/exe", beUser, writeChild(t, functiontest.Serves, line), t.TempDir())
	user.Env = goEnv(t)
	e2e.NoError(t, e2e.Err(user.StdinPipe()))
	out := e2e.Must(user.StdoutPipe())(t)
	e2e.NoError(t, user.Start())
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "ready\n" {
		t.Errorf("the starting process wrote %q, %v", said, err)
	}
	one := line.next(t)
	e2e.NoError(t, user.Process.Kill())
	_ = e2e.Await(t, user.Wait)
	one.awaitDeath(t)
}

func TestStopAfterDeath(t *testing.T) {
	fn, line := begin(t, functiontest.Serves)
	one := line.next(t)
	e2e.NoError(t, syscall.Kill(one.pid, syscall.SIGTERM))
	one.awaitDeath(t)
	e2e.ErrorHas(t, "the error says how the process ended", e2e.Err(fn.RunFunction(t.Context(), "f", request(t, `{}`))), `calling function "f": the function ended unexpectedly (exit status 0)`)
	stop(t, fn)
	assertReaped(t, one.pid)
}

// beDaemon is a role of this test binary: a function that starts a child process in
// another session, which keeps stderr open.
const beDaemon = "process-test-daemon"

func init() {
	roles[beDaemon] = func(args []string) {
		cmd := exec.Command("/proc/self/exe", functiontest.ChildArgs(functiontest.Hangs, args[0])...)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		functiontest.RunChild(context.Background(), append(functiontest.ChildArgs(functiontest.Serves, ""), args[1:]...), os.Stderr)
	}
}

// TestDaemon checks that a child process in another session, which keeps stderr open,
// does not delay Stop. Stop does not end it; only a sandbox could.
func TestDaemon(t *testing.T) {
	line := newLifeline(t)
	fn := start(t, process.Process{GoEnv: goEnv(t), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t)}}, writeSelf(t, beDaemon, line.path))
	assertAnswers(t, fn)
	daemon := line.next(t)
	stop(t, fn)
	e2e.WantError(t, "the daemon can be killed, so it outlives the function", syscall.Kill(daemon.pid, syscall.SIGKILL), "")
	daemon.awaitDeath(t)
}
