package main

import (
	"os"
	"strings"
	"testing"
)

// TestVersionWithoutGit checks that programs of `go build` and of `make build` without
// git print the same version.
func TestVersionWithoutGit(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if want := "|| echo " + version + ")"; !strings.Contains(string(makefile), want) {
		t.Errorf("the Makefile has no %q", want)
	}
}
