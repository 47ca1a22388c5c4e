package main

import (
	"fmt"
	"runtime"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
)

// version is set by the linker (see Makefile).
var version = "dev"

type versionCmd struct{}

// Help is shown by --help.
func (versionCmd) Help() string {
	return "Example:\n\n    xfn version\n"
}

// Run prints the version.
func (versionCmd) Run(term *terminal.Terminal, p terminal.Program) error {
	_, err := fmt.Fprintf(term.Stdout, "%s %s %s/%s %s\n", p.Name, p.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	return err
}
