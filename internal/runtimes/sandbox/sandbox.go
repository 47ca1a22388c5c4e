package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// port is where functions listen, inside: the address that function SDKs have
// by default.
const port = 9443

// Sandbox starts functions in containers. A function is started as its image
// says (ENTRYPOINT and CMD), with --insecure after its own arguments, and has to
// listen on port 9443 of the loopback interface, which is a network of its own.
// With the network Runner, --address says on which port of this machine.
type Sandbox struct {
	// Cache is where images are kept, and unpacked.
	Cache string
	// Registry is that of packages that name none. If it is empty, there is none.
	Registry string
	// Pull says how images are fetched.
	Pull image.Options
	// TempDir is where each function's private directory is made; empty is the
	// system's choice. If it is too long for the path of a unix socket, /tmp
	// takes its place.
	TempDir string
	// StartTimeout bounds the time from the start of a function to its first
	// answer. Zero means local.DefaultStartTimeout. Pulling and unpacking are
	// not bounded.
	StartTimeout time.Duration
	// MaxMessageSize is the largest answer in bytes. Zero means
	// grpc.DefaultMaxMessageSize.
	MaxMessageSize int
	// Env is added to the environment of every image, each as "name=value". The
	// annotations of a function are added after it.
	Env []string
	// Progress hears of what takes long. It may be nil.
	Progress progress.Func
	// Output gets each line that a function writes to stdout or stderr, without
	// control characters. It may be nil, and must be safe for concurrent use.
	Output func(function, line string)
}

var (
	_ runtimes.Runtime  = Sandbox{}
	_ runtimes.Preparer = Sandbox{}
	_ runtimes.Prober   = Sandbox{}
)

// Probe says why the system forbids sandboxes, if it does.
func (s Sandbox) Probe(context.Context) error { return sandbox.Probe() }

// Prepare pulls the images of functions whose packages are references. A
// image.MissingError names all of them that may not be fetched.
func (s Sandbox) Prepare(ctx context.Context, fns ...runtimes.Function) (err error) {
	var requests []image.Request
	for _, fn := range fns {
		if isLocal(fn.Package) {
			continue
		}
		settings, err := settingsOf(fn.Annotations)
		if err != nil {
			return fmt.Errorf("starting function %q: %w", fn.Name, err)
		}
		request, err := s.images().request(fn.Package, settings.policy)
		if err != nil {
			return fmt.Errorf("starting function %q: %w", fn.Name, err)
		}
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

// Start pulls the function's image, unpacks it, and runs it in a sandbox, as its
// annotations say. It returns once the function answers.
func (s Sandbox) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	instance, err := s.start(ctx, fn)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, advise(err))
	}
	return instance, nil
}

// advise adds what to try next.
func advise(err error) error {
	var forbidden *sandbox.NamespaceError
	switch {
	case errors.As(err, &forbidden):
		return hint.Wrap(err, allowNamespaces(forbidden)+", or use "+hint.Runtime+" Docker, or "+hint.Runtime+" Process with a confinement that needs none")
	case errors.Is(err, errNoProgram):
		return hint.Wrap(err, "build the package with a runtime: xpkg build "+hint.EmbedRuntimeSource+" or "+hint.EmbedRuntimeTarball)
	default:
		return err
	}
}

// allowNamespaces says how to have the system allow sandboxes.
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

func (s Sandbox) start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	return s.startBy(ctx, fn, s.images(), s.run)
}

// startBy unpacks a function's image, and has run run what is unpacked, and say
// how.
func (s Sandbox) startBy(
	ctx context.Context, fn runtimes.Function, from images,
	run func(context.Context, string, *rootfs.Root, settings, *stops) (*local.Function, string, error),
) (_ *runtimes.Instance, err error) {
	settings, err := settingsOf(fn.Annotations)
	if err != nil {
		return nil, err
	}
	settings.env = slices.Concat(s.Env, settings.env)
	var stops stops
	defer func() {
		if err != nil {
			err = errors.Join(err, stops.all(context.WithoutCancel(ctx)))
		}
	}()
	root, id, err := from.unpack(ctx, fn.Package, settings.policy, &stops)
	if err != nil {
		return nil, err
	}
	f, how, err := run(ctx, fn.Name, root, settings, &stops)
	if err != nil {
		return nil, err
	}
	return &runtimes.Instance{
		Runner:   settings.bounded(f),
		Detail:   fn.Package + " " + how,
		Identity: id.String(),
		Stop:     stops.all,
		Done:     f.Done,
		Ended:    f.Ended,
	}, nil
}

// images returns where functions come from.
func (s Sandbox) images() images {
	return images{cache: s.Cache, registry: s.Registry, pull: s.Pull, files: true, progress: s.Progress}
}

// run runs the function of a root in a sandbox until it answers.
func (s Sandbox) run(ctx context.Context, name string, root *rootfs.Root, settings settings, stops *stops) (*local.Function, string, error) {
	spec, err := specOf(root, settings)
	if err != nil {
		return nil, "", err
	}
	spec.Args, spec.Port = append(spec.Args, local.Insecure()), port
	if spec.Network == sandbox.Runner {
		if _, err := chooseAddress(ctx, &spec); err != nil {
			return nil, "", err
		}
	}
	target, err := s.listen(&spec, stops)
	if err != nil {
		return nil, "", err
	}
	f, report, err := s.serve(ctx, name, sandbox.Start, spec, target, stops)
	return f, "in a sandbox (" + describe(report) + ")", err
}

// chooseAddress has a function in this machine's network listen on a port of the
// loopback interface that is free, and returns its address. The one that it has
// by default may be another's, who would get to see what is sent there.
func chooseAddress(ctx context.Context, spec *sandbox.Spec) (string, error) {
	address, err := local.LoopbackAddress(ctx)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	spec.Port, err = strconv.Atoi(port)
	spec.Args = append(spec.Args, local.Flag("address", address))
	return address, err
}

// serve starts a function, and returns once it answers at target.
func (s Sandbox) serve(ctx context.Context, name string, start door, spec sandbox.Spec, target string, stops *stops) (*local.Function, sandbox.Report, error) {
	client, err := grpc.Dial(target, grpc.Options{MaxMessageSize: s.MaxMessageSize})
	if err != nil {
		return nil, sandbox.Report{}, err
	}
	stops.add(func(context.Context) error { return client.Close() })
	out := &local.Output{Each: func(line string) {
		if s.Output != nil {
			s.Output(name, line)
		}
	}}
	c, err := launch(ctx, start, spec, out)
	if err != nil {
		return nil, sandbox.Report{}, err
	}
	stops.add(func(context.Context) error { return c.stop() })
	f := &local.Function{Client: client, Done: c.done, Ended: c.ended}
	if err := f.Await(ctx, s.StartTimeout); err != nil {
		return nil, sandbox.Report{}, c.explain(ctx, err)
	}
	return f, c.process.Report(), nil
}

// listen makes the socket that the supervisor carries to the function.
func (s Sandbox) listen(spec *sandbox.Spec, stops *stops) (target string, err error) {
	dir, err := local.PrivateDir(s.TempDir)
	if err != nil {
		return "", err
	}
	stops.add(func(context.Context) error { return dir.Close() })
	path := dir.Socket()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return "", fmt.Errorf("listening on %q: %w", path, err)
	}
	stops.add(func(context.Context) error { return listener.Close() })
	spec.Listener = listener
	return "unix://" + path, nil
}

// stops are what ends a function, in the order in which it came to be.
type stops []func(context.Context) error

func (s *stops) add(stop func(context.Context) error) { *s = append(*s, stop) }

// all ends everything, the last first.
func (s *stops) all(ctx context.Context) error {
	var errs []error
	for i := len(*s) - 1; i >= 0; i-- {
		errs = append(errs, (*s)[i](ctx))
	}
	return errors.Join(errs...)
}
