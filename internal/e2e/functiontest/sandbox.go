package functiontest

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// RequireSandbox skips the test if err says that the system forbids sandboxes. If the
// comma-separated list XFN_REQUIRE contains "sandbox", the test fails instead. RequireSandbox
// does nothing if err is nil or any other error.
func RequireSandbox(t testing.TB, err error) {
	t.Helper()
	if errors.As(err, new(*sandbox.NamespaceError)) {
		e2e.Missing(t, "sandbox", "%v", err)
	}
}

// Supervise must be the first call of TestMain in each test program that starts
// sandboxes. If this process is a supervisor, Supervise ends it without os.Exit: after
// os.Exit the race detector would wait a second for reports.
func Supervise() {
	if code, is := sandbox.Supervise(os.Args); is {
		syscall.Exit(code)
	}
}
