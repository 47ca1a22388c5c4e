package functiontest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// RequireSandbox skips the test if err says that the system forbids sandboxes. If the
// comma-separated list XFN_REQUIRE contains "sandbox", the test fails instead. RequireSandbox
// does nothing if err is nil or any other error.
func RequireSandbox(t testing.TB, err error) {
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
