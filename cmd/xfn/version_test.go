package main

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestVersionWithoutGit checks that programs of `go build` and of `make build` without
// git print the same version.
func TestVersionWithoutGit(t *testing.T) {
	makefile := e2e.ReadFile(t, "../../Makefile")
	if want := "|| echo " + version + ")"; !strings.Contains(makefile, want) {
		t.Errorf("the Makefile has no %q", want)
	}
}
