package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Requires reports whether XFN_REQUIRE, a comma-separated list, has a service.
func Requires(service string) bool {
	return slices.Contains(strings.Split(os.Getenv("XFN_REQUIRE"), ","), service)
}

// Missing skips the test, which needs a service that is missing for a reason. It fails the test
// instead if XFN_REQUIRE has the service.
func Missing(t testing.TB, service, format string, args ...any) {
	t.Helper()
	if Requires(service) {
		t.Fatalf("XFN_REQUIRE requires "+service+": "+format, args...)
	}
	t.Skipf(format, args...)
}
