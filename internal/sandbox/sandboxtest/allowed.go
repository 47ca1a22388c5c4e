package sandboxtest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// Allowed skips a test where err says that the system forbids sandboxes, or
// fails it if XFN_REQUIRE, a comma-separated list, holds "sandbox". Of any other
// error, and of none, it takes no notice.
func Allowed(t testing.TB, err error) {
	t.Helper()
	var forbidden *sandbox.NamespaceError
	if !errors.As(err, &forbidden) {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("XFN_REQUIRE"), ","), "sandbox") {
		t.Fatalf("XFN_REQUIRE asks for sandboxes: %v", err)
	}
	t.Skip(err)
}
