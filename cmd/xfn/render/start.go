package render

import (
	"os"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/development"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
	"github.com/xfn-dev/xfn/session"
)

// started returns the runtimes that this machine has.
func (f runtimeFlags) started(term *terminal.Terminal) map[session.Runtime]runtimes.Runtime {
	var output func(function, line string)
	if term.Verbose {
		output = func(function, line string) { term.Note(function + " says: " + line) }
	}
	return map[session.Runtime]runtimes.Runtime{
		session.Process: process.Process{
			Env:            process.Environment(os.Environ()),
			GoEnv:          os.Environ(),
			TempDir:        os.TempDir(),
			MaxMessageSize: f.MaxMessageSize << 20,
			Progress:       term.Progress,
			Output:         output,
		},
		session.Development: development.Development{MaxMessageSize: f.MaxMessageSize << 20},
	}
}
