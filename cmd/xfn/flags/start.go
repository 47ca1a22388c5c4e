package flags

import (
	"os"
	"runtime"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/development"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
	"github.com/xfn-dev/xfn/internal/session"
)

// start adds the runtimes of this machine to the config of a session.
func (f Runtimes) start(config *session.Config, term *terminal.Terminal, program terminal.Program) error {
	options := local.Options{TempDir: os.TempDir(), MaxMessageSize: f.MaxMessageSize << 20, Progress: term.Progress}
	if term.Verbose {
		options.Output = func(function, line string) { term.Note(function + " says: " + line) }
	}
	processes := process.Process{Options: options, Env: process.Environment(os.Environ()), GoEnv: os.Environ()}
	dir, err := f.Path()
	if err != nil {
		return err
	}
	client := f.Client(program)
	config.Runtimes = map[session.Runtime]runtimes.Runtime{
		session.Process: processes,
		session.Docker: docker.New(docker.Config{
			Environment: dockerengine.FromEnviron(os.Environ()),
			UserAgent:   program.UserAgent(),
			Dir:         dir,
			Registry:    f.Registry,
			Remote:      client,
			Offline:     f.Offline,
			Pin:         f.Pin(),
			Options:     options,
		}),
		session.Development: development.Development{MaxMessageSize: f.MaxMessageSize << 20},
	}
	config.Dependencies = Versions{Lock: f.Lock, Parse: f.Reference, Remote: client, Offline: f.Offline, Cache: dir}
	config.Locked = f.Locked
	if runtime.GOOS != "linux" {
		return nil
	}
	pulling := image.Options{Remote: client, Progress: term.Progress, Offline: f.Offline, Pin: f.Pin()}
	sandboxes := sandbox.Sandbox{Cache: dir, Registry: f.Registry, Pull: pulling, Options: options}
	processes.Packages = sandbox.Confined{Sandbox: sandboxes}
	config.Runtimes[session.Process], config.Runtimes[session.Sandbox] = processes, sandboxes
	config.Containers = sandbox.Containers{Cache: dir, Registry: f.Registry, Pull: pulling, Files: true, Progress: term.Progress}
	return nil
}
