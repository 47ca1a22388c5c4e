package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/xfn-dev/xfn/internal/ioerror"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/gobuild"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

// Process starts functions as child processes. The zero value is ready to use
// for packages; compiling source needs GoEnv.
//
// A function is started as its image says (ENTRYPOINT, or else CMD), with
// --insecure --network=unix --address=SOCKET after its own arguments. One
// whose command line does not know --network, and any function on Windows, is
// given a free port of the loopback interface.
//
// A function leads a process group, which is killed whole when the function
// is stopped or ends. On Linux and Windows it does not outlive this process
// either, however that ends.
type Process struct {
	// Env is added to the environment of functions, which is otherwise what
	// the image says, and a home and temporary directory of their own; see
	// Environment.
	Env []string
	// GoEnv is the environment of the go command that compiles source.
	GoEnv []string
	// TempDir is where each function's private directory is made; empty is
	// the system's choice. If it is too long for the path of a unix socket,
	// /tmp takes its place.
	TempDir string
	// StartTimeout bounds the time from the start of a function to its first
	// answer. Zero means local.DefaultStartTimeout. Compiling and unpacking are not bounded.
	StartTimeout time.Duration
	// MaxMessageSize is the largest answer in bytes. Zero means
	// grpc.DefaultMaxMessageSize.
	MaxMessageSize int
	// Progress hears of what takes long. It may be nil.
	Progress progress.Func
	// Output gets each line that a function writes to stdout or stderr,
	// without control characters. It may be nil, and must be safe for
	// concurrent use.
	Output func(function, line string)
}

var _ runtimes.Runtime = Process{}

// A program is what is run as a function.
type program struct {
	path   string   // of the executable
	args   []string // without the name
	env    []string
	detail string // for people
	digest string // of the image, if it is from one
	hint   string // what to do if it does not start; empty if nothing is known
}

// advise adds what is known to keep such a program from starting.
func (prog program) advise(err error) error {
	if prog.hint == "" {
		return err
	}
	return hint.Wrap(err, prog.hint)
}

// Start compiles or unpacks the function at the path fn.Package: a directory
// with a Go main package, or an .xpkg file with an image for Linux and this
// machine's architecture. It then starts it and returns once it answers.
func (p Process) Start(ctx context.Context, fn runtimes.Function) (_ *runtimes.Instance, err error) {
	dir, err := local.PrivateDir(p.TempDir)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	prog, err := p.prepare(ctx, fn.Package, dir)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	s, err := p.run(ctx, fn.Name, prog, dir)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	return &runtimes.Instance{
		Runner:   s,
		Detail:   prog.detail,
		Identity: prog.digest,
		Stop: func(ctx context.Context) error {
			return errors.Join(s.stop(ctx), os.RemoveAll(dir))
		},
	}, nil
}

func (p Process) prepare(ctx context.Context, pkg, dir string) (program, error) {
	info, err := os.Stat(pkg)
	if err != nil {
		err = fmt.Errorf("finding package %q: %w", pkg, ioerror.Cause(err))
		return program{}, hint.Wrap(err, "the runtime Process takes the path of an .xpkg file or of a folder with a Go main package: --package NAME=PATH")
	}
	if info.IsDir() {
		return p.compile(ctx, pkg, dir)
	}
	return p.unpack(ctx, pkg, dir)
}

func (p Process) compile(ctx context.Context, source, dir string) (program, error) {
	p.Progress.Step("compiling " + source)
	prog := program{path: filepath.Join(dir, executableName()), detail: "built from " + source}
	prog.env = environment(nil, dir, p.Env)
	return prog, gobuild.Build(ctx, gobuild.Options{
		Dir:    source,
		GOOS:   runtime.GOOS,
		GOARCH: runtime.GOARCH,
		Output: prog.path,
		Env:    p.GoEnv,
	})
}

// run starts prog and waits until it answers, over a unix socket if it can.
func (p Process) run(ctx context.Context, name string, prog program, dir string) (*instance, error) {
	if local.SocketsWork {
		s, err := p.launch(ctx, name, prog, unixAddress(dir))
		if !refusesNetworkFlag(err) {
			return s, err
		}
	}
	addr, err := loopbackAddress(ctx)
	if err != nil {
		return nil, err
	}
	return p.launch(ctx, name, prog, addr)
}

func (p Process) launch(ctx context.Context, name string, prog program, addr address) (*instance, error) {
	client, err := grpc.Dial(addr.target, grpc.Options{MaxMessageSize: p.MaxMessageSize})
	if err != nil {
		return nil, err
	}
	out := &local.Output{Each: func(line string) {
		if p.Output != nil {
			p.Output(name, line)
		}
	}}
	c, err := startChild(ctx, prog, addr, out)
	if err != nil {
		err = fmt.Errorf("running it: %w", ioerror.Cause(err))
		return nil, errors.Join(prog.advise(err), client.Close())
	}
	f := &local.Function{Client: client, Done: c.done, Ended: func() error { return endedError{c.cmd.ProcessState, c.out} }}
	if err := f.Await(ctx, p.StartTimeout); err != nil {
		err = c.explain(ctx, err)
		if ctx.Err() == nil {
			err = prog.advise(err)
		}
		return nil, errors.Join(err, client.Close())
	}
	return &instance{f, c}, nil
}
