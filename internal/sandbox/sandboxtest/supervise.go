package sandboxtest

import (
	"os"
	"syscall"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// Supervise must be the first call of a TestMain whose test program can become
// a supervisor. It ends a supervisor at once: after os.Exit the race detector
// would wait a second for reports.
func Supervise() {
	if code, is := sandbox.Supervise(os.Args); is {
		syscall.Exit(code)
	}
}
