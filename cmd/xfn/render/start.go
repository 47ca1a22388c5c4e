package render

import (
	"os"
	"runtime"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/pull"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/development"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
	"github.com/xfn-dev/xfn/session"
)

// started returns the runtimes that this machine has.
func (f runtimeFlags) started(term *terminal.Terminal, program terminal.Program) (map[session.Runtime]runtimes.Runtime, error) {
	var output func(function, line string)
	if term.Verbose {
		output = func(function, line string) { term.Note(function + " says: " + line) }
	}
	all := map[session.Runtime]runtimes.Runtime{
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
	if runtime.GOOS == "linux" {
		dir, err := f.Path()
		if err != nil {
			return nil, err
		}
		client := remote.New(remote.Options{UserAgent: program.UserAgent()})
		all[session.Sandbox] = sandbox.Sandbox{
			Cache:          dir,
			Registry:       f.Registry,
			Pull:           pull.Options{Remote: client, Progress: term.Progress, Offline: f.Offline},
			TempDir:        os.TempDir(),
			MaxMessageSize: f.MaxMessageSize << 20,
			Progress:       term.Progress,
			Output:         output,
		}
	}
	return all, nil
}
