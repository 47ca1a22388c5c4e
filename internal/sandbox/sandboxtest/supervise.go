package sandboxtest

import (
	"os"
	"syscall"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// Supervise is what a TestMain begins with, so that its program can be a
// supervisor. It ends one at once: with os.Exit the race detector would wait a
// second for reports.
func Supervise() {
	if code, is := sandbox.Supervise(os.Args); is {
		syscall.Exit(code)
	}
}
