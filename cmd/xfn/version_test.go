package main

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestVersionWithoutGit checks that programs of `go build` and of `make build` without
// git print the same version.
func TestVersionWithoutGit(t *testing.T) {
	makefile := e2e.ReadFile(t, "../../Makefile")
	e2e.Has(t, "without git, the Makefile has the version of go build", makefile, "|| echo "+version+")")
}
