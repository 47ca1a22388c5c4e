package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/xfn-dev/xfn/internal/fsx"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

// Process starts functions as child processes. Compiling source needs GoEnv,
// and packages need Packages.
//
// A function from source is started with --insecure --network=unix
// --address=SOCKET. If its command line does not support --network, and on
// Windows, it listens on a free port of the loopback interface.
//
// A function leads a process group. The whole group is killed when the function
// is stopped or ends. On Linux and Windows it also ends when this process ends
// for any reason.
type Process struct {
	// Packages starts functions that are not source. It is nil on systems
	// that cannot run packages.
	Packages runtimes.Runtime
	// Env is added to the environment of functions from source; see
	// Environment. By default that contains only their home and temporary
	// directory.
	Env []string
	// GoEnv is the environment of the go command that compiles source.
	GoEnv []string
	// TempDir is the parent of each function's private directory; empty
	// means the system's default. If its path is too long for a unix
	// socket, /tmp replaces it.
	TempDir string
	// StartTimeout bounds the time from the start of a function to its first
	// answer. Zero means local.DefaultStartTimeout. Compiling is not bounded.
	StartTimeout time.Duration
	// MaxMessageSize is the largest answer in bytes. Zero means
	// grpc.DefaultMaxMessageSize.
	MaxMessageSize int
	// Progress receives an event before each long operation. It may be nil.
	Progress progress.Func
	// Output receives each line that a function writes to stdout or stderr,
	// without control characters. It may be nil, and must be safe for
	// concurrent use.
	Output func(function, line string)
}

var (
	_ runtimes.Runtime  = Process{}
	_ runtimes.Preparer = Process{}
)

// A program is an executable that runs as a function.
type program struct {
	path   string // path of the executable
	env    []string
	detail string // for users
}

// Prepare fetches the images of functions whose packages are references.
func (p Process) Prepare(ctx context.Context, fns ...runtimes.Function) error {
	preparer, ok := p.Packages.(runtimes.Preparer)
	if !ok {
		return nil
	}
	packages := slices.DeleteFunc(slices.Clone(fns), func(fn runtimes.Function) bool { return isSource(fn.Package) })
	return preparer.Prepare(ctx, packages...)
}

// isSource reports whether a package is a folder with source, and not a folder
// with an OCI image layout.
func isSource(pkg string) bool {
	info, err := os.Stat(pkg)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(pkg, "oci-layout"))
	return err != nil
}

// Start starts a function and returns once it answers. It compiles the Go main
// package if fn.Package is a directory with source. Otherwise Packages starts
// the function.
func (p Process) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	if isSource(fn.Package) {
		return p.startSource(ctx, fn)
	}
	if p.Packages != nil {
		return p.Packages.Start(ctx, fn)
	}
	return nil, fmt.Errorf("starting function %q: %w", fn.Name, noPackages(fn.Package))
}

// noPackages returns why a package cannot run here, with a hint at what can.
func noPackages(pkg string) error {
	if _, err := os.Stat(pkg); err != nil {
		err = fmt.Errorf("finding package %q: %w", pkg, fsx.Cause(err))
		return hint.Wrap(err, "give the runtime Process the path of a folder with a Go main package, with "+hint.Package+" NAME=PATH")
	}
	err := fmt.Errorf("%q: a package contains a program for Linux, and this system is %s", pkg, runtime.GOOS)
	return hint.Wrap(err, "give the folder of the function's Go source instead, or start the function yourself and use the runtime Development")
}

func (p Process) startSource(ctx context.Context, fn runtimes.Function) (_ *runtimes.Instance, err error) {
	dir, err := local.PrivateDir(p.TempDir)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close())
		}
	}()
	began := time.Now()
	prog, err := p.compile(ctx, fn.Package, dir.Path)
	compiled := time.Since(began)
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
		Compiled: compiled,
		Stop: func(ctx context.Context) error {
			return errors.Join(s.stop(ctx), dir.Close())
		},
		Done:  s.Done,
		Ended: s.Ended,
	}, nil
}

func (p Process) compile(ctx context.Context, source, dir string) (program, error) {
	p.Progress.Step("compiling " + source)
	prog := program{path: filepath.Join(dir, executableName()), detail: "built from " + source}
	prog.env = environment(dir, p.Env)
	return prog, gobuild.Build(ctx, gobuild.Options{
		Dir:    source,
		GOOS:   runtime.GOOS,
		GOARCH: runtime.GOARCH,
		Output: prog.path,
		Env:    p.GoEnv,
	})
}

// run starts prog and waits until it answers, over a unix socket if the
// function supports it.
func (p Process) run(ctx context.Context, name string, prog program, dir local.Dir) (*instance, error) {
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
		err = fmt.Errorf("running it: %w", fsx.Cause(err))
		return nil, errors.Join(err, client.Close())
	}
	f := &local.Function{Client: client, Done: c.done, Ended: func() error { return endedError{c.cmd.ProcessState, c.out} }}
	if err := f.Await(ctx, p.StartTimeout); err != nil {
		return nil, errors.Join(c.explain(ctx, err), client.Close())
	}
	return &instance{f, c}, nil
}
