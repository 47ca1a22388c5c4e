package sandboxtest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// Allowed skips a test if err says that the system forbids sandboxes. It fails
// the test instead if XFN_REQUIRE, a comma-separated list, contains "sandbox".
// It ignores nil and every other error.
func Allowed(t testing.TB, err error) {
	t.Helper()
	var forbidden *sandbox.NamespaceError
	if !errors.As(err, &forbidden) {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("XFN_REQUIRE"), ","), "sandbox") {
		t.Fatalf("XFN_REQUIRE requires sandboxes: %v", err)
	}
	t.Skip(err)
}

// Supervise must be the first call of a TestMain whose test program can become
// a supervisor. It ends a supervisor at once: after os.Exit the race detector
// would wait a second for reports.
func Supervise() {
	if code, is := sandbox.Supervise(os.Args); is {
		syscall.Exit(code)
	}
}
