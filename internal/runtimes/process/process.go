package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// Process starts functions as child processes. To compile source code it needs GoEnv, and
// to start packages it needs Packages.
//
// A function from source code is started with --insecure --network=unix --address=SOCKET.
// On Windows, and if its command line does not support --network, it listens on a free
// port of the loopback interface instead.
//
// A function leads a process group, which is killed when the function is stopped or ends.
// On Linux and Windows the function also ends when this process ends for any reason.
type Process struct {
	runtimes.LocalOptions
	// Packages starts functions whose package is not a folder with source code. It is nil
	// on systems that cannot run packages.
	Packages runtimes.Runtime
	// Env is added to the environment of functions from source code; see the function
	// Environment. If Env is empty, that environment contains only the function's home
	// and temporary directory.
	Env []string
	// GoEnv is the environment of the go command that compiles source code.
	GoEnv []string
	// Programs is the folder in which compiled programs are kept; see gobuild.Options.Kept.
	Programs string
}

var (
	_ runtimes.Runtime  = Process{}
	_ runtimes.Preparer = Process{}
)

// Prepare makes Packages fetch the images of all functions whose package is not a folder
// with source code.
func (p Process) Prepare(ctx context.Context, fns ...runtimes.Function) error {
	packages := slices.DeleteFunc(slices.Clone(fns), func(fn runtimes.Function) bool { return runtimes.IsSource(fn.Package) })
	return runtimes.Prepare(ctx, p.Packages, packages...)
}

// Start starts a function and returns once the function answers. If fn.Package is a
// folder with source code, Start compiles its Go main package. Otherwise Packages starts
// the function.
func (p Process) Start(ctx context.Context, fn runtimes.Function) (instance *runtimes.Instance, err error) {
	switch {
	case runtimes.IsSource(fn.Package):
		instance, err = p.startSource(ctx, fn)
	case p.Packages != nil:
		return p.Packages.Start(ctx, fn)
	default:
		err = noPackages(fn.Package)
	}
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, err)
	}
	return instance, nil
}

// noPackages returns the error for a package that is not source code on a system that
// cannot run packages. The hint names alternatives.
func noPackages(pkg string) error {
	if _, err := os.Stat(pkg); err != nil {
		err = fmt.Errorf("finding package %q: %w", pkg, fsx.Cause(err))
		return hint.Wrap(err, "give the runtime Process the path of a folder with a Go main package, with "+hint.Package+" NAME=PATH")
	}
	err := fmt.Errorf("package %q contains a program for Linux, but this system is %s", pkg, runtime.GOOS)
	return hint.Wrap(err, "give the folder of the function's Go source instead, or start the function yourself and use the runtime Development")
}

func (p Process) startSource(ctx context.Context, fn runtimes.Function) (_ *runtimes.Instance, err error) {
	dir, err := runtimes.MakeSocketDir(p.TempDir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close())
		}
	}()
	p.Progress.Step("compiling " + fn.Package)
	program := filepath.Join(dir.Path, "function")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	began := time.Now()
	buildCtx, built := runtimes.WithBuildTimeout(ctx)
	stop := p.Progress.Late(fmt.Sprintf("still compiling function %q: with an empty cache of Go, this includes all dependencies", fn.Name))
	err = gobuild.Build(buildCtx, gobuild.Options{Dir: fn.Package, GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Output: program, Env: p.GoEnv, Kept: p.Programs})
	built()
	stop()
	compiled := time.Since(began)
	if err != nil {
		return nil, err
	}
	f, c, err := p.run(ctx, fn.Name, program, dir)
	if err != nil {
		return nil, err
	}
	meta := runtimes.SourceMetadata(fn.Package)
	return &runtimes.Instance{
		Runner:       f,
		Detail:       "built from " + fn.Package,
		Capabilities: meta.Capabilities,
		Inputs:       meta.Inputs,
		Compiled:     compiled,
		Stop: func(ctx context.Context) error {
			return errors.Join(f.Client.Close(), c.stop(ctx), dir.Close())
		},
		Done:  f.Done,
		Ended: f.Ended,
	}, nil
}

// run starts a program and waits until it answers: over a unix socket if the program
// supports it, and otherwise over the loopback interface.
func (p Process) run(ctx context.Context, name, program string, dir runtimes.SocketDir) (f *runtimes.LocalFunction, c *child, err error) {
	if runtimes.SocketsWork {
		f, c, err = p.launch(ctx, name, program, dir.Target(), runtimes.Argument("network", "unix"), runtimes.Argument("address", dir.Socket()))
		if !refusesNetworkFlag(err) {
			return f, c, err
		}
	}
	err = runtimes.StartOnLoopback(ctx, func(address string) (err error) {
		f, c, err = p.launch(ctx, name, program, address, runtimes.Argument("address", address))
		return err
	})
	return f, c, err
}

// launch starts a program with these arguments, and waits until it answers at
// the gRPC target.
func (p Process) launch(ctx context.Context, name, program, target string, args ...string) (*runtimes.LocalFunction, *child, error) {
	client, err := grpc.Dial(target, grpc.Options{MaxMessageSize: p.MaxMessageSize})
	if err != nil {
		return nil, nil, err
	}
	c, err := startChild(ctx, func() *exec.Cmd {
		cmd := exec.Command(program, append([]string{runtimes.InsecureArgument()}, args...)...)
		cmd.Dir = filepath.Dir(program)
		cmd.Env = environment(cmd.Dir, p.Env)
		return cmd
	}, p.NewOutput(name))
	if err != nil {
		err = fmt.Errorf("running the compiled program: %w", fsx.Cause(err))
		return nil, nil, errors.Join(err, client.Close())
	}
	f := &runtimes.LocalFunction{Client: client, Done: c.done, Ended: c.ended}
	if err := f.Await(ctx, p.StartTimeout); err != nil {
		return nil, nil, errors.Join(c.explain(ctx, err), client.Close())
	}
	return f, c, nil
}

// inheritedVars lists the environment variables of the user that a function inherits: the
// search path, locale, time zone and CA certificates.
var inheritedVars = []string{
	"PATH", "TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", // needed on Windows
}

// Environment returns the variables of environ, each as "KEY=value", that functions may
// read: the search path, locale, time zone, CA certificates and the system folders of
// Windows. All other variables may be secret.
func Environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(inheritedVars, proc.FoldKey(key))
	})
}

// environment returns the environment of a function: dir as its home and temporary
// directory, followed by the variables of the user. If a key has several values, the last
// applies.
func environment(dir string, user []string) []string {
	var env []string
	for _, key := range []string{"HOME", "TMPDIR", "TMP", "TEMP", "USERPROFILE"} {
		env = append(env, key+"="+dir)
	}
	return append(env, user...)
}
