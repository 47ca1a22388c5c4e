// Package startup has what must happen before the other packages of the program are
// initialized. It runs the supervisor of a sandbox, which needs few of them. It delays the
// first run of the garbage collector, and lets the collector run more often in a large heap.
package startup

import (
	"os"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// Go initializes a package after its imports, and sorts packages that are ready by path. The
// imports of package startup are few, so that it is initialized before most other packages.
func init() {
	if code, is := sandbox.Supervise(os.Args); is {
		os.Exit(code)
	}
	delayCollection()
}
