package sandbox_test

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// small returns the path of a package that contains only the test function.
func small(t *testing.T) string {
	t.Helper()
	file := filepath.Join(filepath.Dir(program(t, "function")), "function.xpkg")
	smallOnce.Do(func() { writePackage(t, file, sizedPackage(t, t.TempDir(), program(t, "function"), programSize+1)) })
	return file
}

var smallOnce sync.Once

// TestEscapeByHolding checks a function that never returns: the call ends at its timeout,
// and Stop does not wait for the call.
func TestEscapeByHolding(t *testing.T) {
	fn := runtimes.Function{Name: "holds", Package: small(t), Annotations: map[string]string{sandbox.AnnotationTimeout: "50ms"}}
	instance := begin(t, sandbox.Sandbox{Cache: t.TempDir()}, fn)
	_, err := instance.RunFunction(t.Context(), "holds", &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: "hold"}})
	e2e.ErrorHas(t, "a call ends at its timeout", err, "no answer within 50ms")
}

// TestEscapeByNotServing checks that Start ends at its timeout if the function does not
// answer in time.
func TestEscapeByNotServing(t *testing.T) {
	fn := runtimes.Function{Name: "waits", Package: small(t), Annotations: map[string]string{sandbox.AnnotationEnv: "FLOOD=1"}}
	s := sandbox.Sandbox{Cache: t.TempDir(), LocalOptions: runtimes.LocalOptions{StartTimeout: time.Nanosecond}}
	_, err := s.Start(t.Context(), fn)
	functiontest.RequireSandbox(t, err)
	e2e.ErrorHas(t, "a start ends at its timeout", err, "no answer within 1ns")
	if n := len(err.Error()); n > 1<<20 {
		t.Errorf("the function's output makes an error of %d bytes", n)
	}
}

// TestEscapeByFlood checks a function that writes without end: it answers, its output
// uses a bounded amount of memory, and Stop ends it.
func TestEscapeByFlood(t *testing.T) {
	var lines atomic.Int64
	enough := make(chan struct{})
	s := sandbox.Sandbox{Cache: t.TempDir(), LocalOptions: runtimes.LocalOptions{Output: func(_, line string) {
		if len(line) > 1<<12 {
			t.Errorf("a line of %d bytes", len(line))
		}
		if lines.Add(1) == 10_000 {
			close(enough)
		}
	}}}
	instance := begin(t, s, runtimes.Function{Name: "floods", Package: small(t), Annotations: map[string]string{sandbox.AnnotationEnv: "FLOOD=1"}})
	e2e.Receive(t, enough)
	e2e.NoError(t, ask(t.Context(), instance))
	e2e.NoError(t, instance.Stop(t.Context()))
	instance.Stop = func(context.Context) error { return nil }
}

// TestRunnerHasOwnPorts checks that functions in this machine's network listen on
// different ports, although their default port is the same.
func TestRunnerHasOwnPorts(t *testing.T) {
	if other, err := net.Listen("tcp", "127.0.0.1:9443"); err == nil {
		defer other.Close()
	}
	fn := runtimes.Function{Name: "function", Package: small(t), Annotations: map[string]string{sandbox.AnnotationNetwork: "Runner"}}
	s := sandbox.Sandbox{Cache: t.TempDir()}
	first, second := begin(t, s, fn), begin(t, s, fn)
	for _, instance := range []*runtimes.Instance{first, second} {
		e2e.NoError(t, ask(t.Context(), instance))
	}
}
