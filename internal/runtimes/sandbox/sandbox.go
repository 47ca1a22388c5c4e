package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// port is the port inside of the sandbox where function SDKs listen by default.
const port = 9443

// Sandbox starts functions in containers. A function is started with its image's command
// line (ENTRYPOINT and CMD), followed by --insecure. It must listen on port 9443 of the
// loopback interface of its own network. With the network Runner, it must listen at an
// address of this machine, which follows as --address.
type Sandbox struct {
	// Cache is the directory of pulled and unpacked images.
	Cache string
	// Registry is the default registry of package names. If it is empty, a
	// name must contain a registry.
	Registry string
	// Pull configures how images are fetched.
	Pull image.Options
	runtimes.LocalOptions
	// Env is added to the environment of every image, each as "name=value". Variables in
	// the annotation AnnotationEnv override it.
	Env []string
}

var (
	_ runtimes.Runtime  = Sandbox{}
	_ runtimes.Preparer = Sandbox{}
	_ runtimes.Prober   = Sandbox{}
)

// Probe returns an error that says why the system forbids sandboxes, or nil if it permits
// them.
func (s Sandbox) Probe(context.Context) error { return sandbox.Probe() }

// Prepare pulls the images of functions whose packages are references. If some images are
// not in the cache and must not be pulled, an image.MissingError names them all.
func (s Sandbox) Prepare(ctx context.Context, fns ...runtimes.Function) (err error) {
	var requests []image.Request
	for _, fn := range fns {
		if lock.IsPath(fn.Package) {
			continue
		}
		settings, err := parseSettings(fn.Annotations)
		var request image.Request
		if err == nil {
			request, err = s.images().request(fn.Package, settings.policy)
		}
		if err != nil {
			return fmt.Errorf("starting function %q: %w", fn.Name, err)
		}
		request.Position = fn.PackagePosition
		requests = append(requests, request)
	}
	if len(requests) == 0 {
		return nil
	}
	store, err := image.Open(s.Cache)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, err = store.Images(ctx, requests, s.Pull)
	return err
}

// Start pulls the function's image, unpacks it, and runs it in a sandbox with
// the settings of its annotations. It returns once the function answers.
func (s Sandbox) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	return s.start(ctx, fn, s.images(), s.run)
}

// advise adds a hint to the error of a failed start: how to make the start possible, or
// which runtime to use instead.
func advise(err error) error {
	var forbidden *sandbox.NamespaceError
	switch {
	case errors.As(err, &forbidden):
		return hint.Wrap(err, allowNamespaces(forbidden)+", or use "+hint.Runtime+" Docker, or "+hint.Runtime+" Process, which needs no user namespaces")
	case errors.As(err, new(*sandbox.ProgramError)):
		return hint.Wrap(err, "run xfn as root, or with CAP_SYS_CHROOT, so that the function can run in the root of its image; or link the function statically (for Go: CGO_ENABLED=0); or start the function yourself and use the runtime Development")
	case errors.Is(err, errNoProgram):
		return hint.Wrap(err, "build the package with a runtime: xpkg build "+hint.EmbedRuntimeSource+" or "+hint.EmbedRuntimeTarball)
	default:
		return err
	}
}

// allowNamespaces returns a hint that says how to permit user namespaces on this system.
func allowNamespaces(err *sandbox.NamespaceError) hint.Hint {
	if key, ok := strings.CutPrefix(err.Setting, "/proc/sys/"); ok && err.Value != "" {
		allowing := map[string]string{"0": "1", "1": "0"}[err.Value]
		if strings.HasPrefix(key, "user/") {
			allowing = "10000"
		}
		return hint.Hint("allow user namespaces with sysctl -w " + strings.ReplaceAll(key, "/", ".") + "=" + allowing)
	}
	return "allow user namespaces (see user_namespaces(7); in a container, its seccomp profile forbids them)"
}

// A runFunc starts the function that a spec describes, and returns once the function
// answers. how describes its restrictions for users.
type runFunc func(ctx context.Context, name string, spec sandbox.Spec, s settings, open *fsx.Closers) (f *runtimes.LocalFunction, how string, err error)

// start unpacks a function's image from the source from, and starts the function with run.
func (s Sandbox) start(ctx context.Context, fn runtimes.Function, from images, run runFunc) (_ *runtimes.Instance, err error) {
	var open fsx.Closers
	defer func() {
		if err != nil {
			err = fmt.Errorf("starting function %q: %w", fn.Name, advise(errors.Join(err, open.Close())))
		}
	}()
	settings, err := parseSettings(fn.Annotations)
	if err != nil {
		return nil, err
	}
	settings.env = slices.Concat(s.Env, settings.env)
	root, id, err := from.unpack(ctx, fn.Package, settings.policy, &open)
	if err != nil {
		return nil, err
	}
	meta := runtimes.UnpackedMetadata(root.Path)
	spec, err := specOf(root, settings)
	if errors.Is(err, errNoProgram) && meta.Kind != "" && meta.Kind != "Function" {
		err = fmt.Errorf("expected the package of a Function, got the package of %s %q", meta.Kind, meta.Name)
		return nil, hint.Wrap(err, "name the package of the function")
	}
	if err != nil {
		return nil, err
	}
	f, how, err := run(ctx, fn.Name, spec, settings, &open)
	if err != nil {
		return nil, err
	}
	return &runtimes.Instance{
		Runner:       settings.bounded(f),
		Detail:       fn.Package + " " + how,
		Identity:     id.String(),
		Capabilities: meta.Capabilities,
		Inputs:       meta.Inputs,
		Stop:         func(context.Context) error { return open.Close() },
		Done:         f.Done,
		Ended:        f.Ended,
	}, nil
}

func (s Sandbox) images() images {
	return images{cache: s.Cache, registry: s.Registry, pull: s.Pull, files: true, progress: s.Progress}
}

// run implements runFunc: it starts the function by sandbox.Start.
func (s Sandbox) run(ctx context.Context, name string, spec sandbox.Spec, _ settings, all *fsx.Closers) (f *runtimes.LocalFunction, how string, err error) {
	spec.Args, spec.Port = append(spec.Args, runtimes.InsecureArgument()), port
	start := func(spec sandbox.Spec, open *fsx.Closers) error {
		target, err := s.listen(&spec, open)
		if err != nil {
			return err
		}
		var report sandbox.Report
		f, report, err = s.serve(ctx, name, sandbox.Start, spec, target, open)
		how = "in a sandbox (" + describe(report) + ")"
		return err
	}
	if spec.Network == sandbox.Runner {
		err = onLoopback(ctx, spec, all, func(spec sandbox.Spec, _ string, open *fsx.Closers) error { return start(spec, open) })
	} else {
		err = start(spec, all)
	}
	return f, how, err
}

// onLoopback calls start with a free port of the loopback interface, for a function in this
// machine's network. On the default port another process might listen, and would receive the
// requests.
func onLoopback(ctx context.Context, spec sandbox.Spec, all *fsx.Closers, start func(spec sandbox.Spec, address string, open *fsx.Closers) error) error {
	return runtimes.StartOnLoopback(ctx, func(address string) error {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		one := spec
		if one.Port, err = strconv.Atoi(port); err != nil {
			return err
		}
		one.Args = append(slices.Clone(spec.Args), runtimes.Argument("address", address))
		var own fsx.Closers
		if err := start(one, address, &own); err != nil {
			return errors.Join(err, own.Close())
		}
		all.Add(&own)
		return nil
	})
}

// serve starts a function, and returns once the function answers at the gRPC target.
func (s Sandbox) serve(ctx context.Context, name string, start startFunc, spec sandbox.Spec, target string, open *fsx.Closers) (*runtimes.LocalFunction, sandbox.Report, error) {
	client, err := grpc.Dial(target, grpc.Options{MaxMessageSize: s.MaxMessageSize})
	if err != nil {
		return nil, sandbox.Report{}, err
	}
	open.Add(client)
	c, err := launch(ctx, start, spec, s.NewOutput(name))
	if err != nil {
		return nil, sandbox.Report{}, err
	}
	open.Add(c)
	f := &runtimes.LocalFunction{Client: client, Done: c.done, Ended: c.ended}
	if err := f.Await(ctx, s.StartTimeout); err != nil {
		return nil, sandbox.Report{}, c.explain(ctx, err)
	}
	return f, c.process.Report(), nil
}

// listen creates a unix socket, whose connections the supervisor forwards to the
// function. target is the gRPC target of the socket.
func (s Sandbox) listen(spec *sandbox.Spec, open *fsx.Closers) (target string, err error) {
	dir, err := runtimes.MakeSocketDir(s.TempDir)
	if err != nil {
		return "", err
	}
	open.Add(dir)
	path := dir.Socket()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return "", fmt.Errorf("listening on %q: %w", path, err)
	}
	open.Add(listener)
	spec.Listener = listener
	return dir.Target(), nil
}
