package function

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// RunCmd runs a function and serves it.
type RunCmd struct {
	Image string `arg:"" help:"Reference of an image, or an .xpkg file or a folder with an OCI layout."`

	Address        string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Address to listen on, or unix:PATH; with port 0 the system chooses one. Default: ${default}."`
	StartTimeout   time.Duration `more:"" positive:"" default:"30s" help:"Timeout of the function's start, after its image is unpacked. Default: ${default}."`
	MaxMessageSize int           `more:"" limits:"1 2047 MiB" default:"64" placeholder:"MIB" help:"Maximum size of the function's response, in MiB."`
	Offline        bool          `help:"Do not use the network: an image that is not in the cache is an error."`
	flags.Cache
	flags.Registries
	flags.Lock
	settings
}

// Help is shown by --help.
func (RunCmd) Help() string {
	return `The function runs in a sandbox, as for a render, and is served in plaintext to every client that can connect, until Ctrl-C or until it ends by itself. The first line of output is the address; the function's output goes to stderr.

Examples:

    xfn run function-hello.xpkg
    xfn run registry.example.org/acme/function-hello:v1 \
        --address=unix:hello.sock
    xfn function call 127.0.0.1:9443 -f request.yaml
`
}

// Run serves until it is interrupted or the function ends.
func (c *RunCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	if err := c.check(); err != nil {
		return &terminal.UsageError{Err: err}
	}
	if err := c.Load(); err != nil {
		return err
	}
	starter, err := c.sandbox(term, program)
	if err != nil {
		return err
	}
	listener, err := flags.ListenAt(ctx, c.Address)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // The server may have closed it.

	if lock.IsPath(c.Image) || !c.Locked { // With --locked, other names are references.
		if err := checkPackage(c.Image); err != nil {
			return err
		}
	}
	pkg := c.Image
	if _, err := os.Stat(pkg); err == nil && !lock.IsPath(pkg) && !c.Locked {
		pkg = "./" + pkg // The runtime treats a path without "./" as an image reference.
	}
	fn, err := starter.Start(ctx, runtimes.Function{Name: c.Image, Package: pkg, Annotations: c.annotations()})
	if _, invalid := c.Reference(pkg); err != nil && invalid != nil && strings.Contains(pkg, ":") {
		err = &terminal.UsageError{Err: err} // Without a tag it may be the path of a file that does not exist.
	}
	if err != nil && manifest.IsYAML(c.Image) {
		return hint.Wrap(err, "name the file of a package, as xfn xpkg build writes it")
	}
	if b, unknown := find(c.Image); err != nil && unknown == nil {
		return hint.Wrap(err, "serve the builtin with xfn function serve "+b.Name+", or write the reference of an image in full")
	}
	if near := manifest.Similar(afero.NewOsFs(), c.Image); err != nil && near != "" && !strings.Contains(c.Image, ":") {
		return hint.Wrap(err, near) // No file has this name, and a reference has a tag.
	}
	if err != nil {
		return err
	}
	defer func() { err = terminal.Close(ctx, fn.Stop, err) }()
	if err := announce(term, flags.DialTarget(listener.Addr()), fn); err != nil {
		return err
	}
	return c.serve(ctx, listener, fn)
}

// checkPackage returns an error for a directory that is not an OCI image layout, such as the source
// of a function.
func checkPackage(path string) error {
	_, err := os.Stat(filepath.Join(path, "oci-layout"))
	if info, missing := os.Stat(path); missing != nil || !info.IsDir() || err == nil {
		return nil
	}
	err = fmt.Errorf("expected a package or an image, got the directory %q", path)
	return hint.Wrap(err, fmt.Sprintf("build a package of the source first, as in xfn xpkg build -f %s --embed-runtime-source %s -o hello.xpkg; or render with the source: xfn render xr.yaml composition.yaml --package NAME=%[2]s", hint.Word(filepath.Join(path, "package")), hint.Word(path)))
}

func (c *RunCmd) sandbox(term *terminal.Terminal, program terminal.Program) (sandbox.Sandbox, error) {
	if runtime.GOOS != "linux" {
		return sandbox.Sandbox{}, fmt.Errorf("running a function in a sandbox on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	dir, err := c.Path()
	return sandbox.Sandbox{
		Cache:    dir,
		Registry: c.Registry,
		Pull:     image.Options{Remote: c.Client(program), Progress: term.Progress, Offline: c.Offline, Pin: c.Pin()},
		Env:      c.Env,
		LocalOptions: runtimes.LocalOptions{
			TempDir:        os.TempDir(),
			StartTimeout:   c.StartTimeout,
			MaxMessageSize: c.MaxMessageSize << 20,
			Progress:       term.Progress,
			Output:         func(_, line string) { fmt.Fprintln(term.Stderr(), line) },
		},
	}, err
}

// announce prints where the function is served, in one line that scripts can read.
func announce(term *terminal.Terminal, target string, fn *runtimes.Instance) error {
	term.Note(fn.Detail)
	term.Note(fmt.Sprintf("to render with it, annotate its Function with render.crossplane.io/runtime: Development and %s: %s", runtimes.TargetAnnotation, target))
	return term.Printf("listening on %s\n", target)
}

func (c *RunCmd) serve(ctx context.Context, listener net.Listener, fn *runtimes.Instance) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	died := make(chan error, 1)
	go func() {
		defer close(died)
		select {
		case <-fn.Done:
			died <- fmt.Errorf("running function %q: %w", c.Image, fn.Ended())
			cancel()
		case <-ctx.Done():
		}
	}()
	err := grpc.Serve(ctx, listener, c.Image, fn, grpc.ServeOptions{})
	cancel()
	return errors.Join(<-died, err)
}

// settings are the flags for the function's sandbox. In a render, annotations
// of the Function configure it.
type settings struct {
	Network         string        `enum:"Isolated,Runner" default:"Isolated" placeholder:"NETWORK" help:"Network of the function: Isolated has only its own loopback interface, Runner is this machine's. Default: ${default}."`
	Env             []string      `short:"e" sep:"none" placeholder:"KEY=VALUE" help:"Add an environment variable to the variables of the image. Repeatable."`
	Memory          string        `placeholder:"QUANTITY" help:"Memory limit, such as 512Mi. Default: 2Gi."`
	CPU             string        `name:"cpu" placeholder:"QUANTITY" help:"CPU limit, such as 500m. Default: no limit."`
	Writable        bool          `help:"Let the function write to its root file system, in memory."`
	Timeout         time.Duration `placeholder:"DURATION" help:"Timeout of each call. Default: none."`
	ImagePullPolicy string        `enum:"IfNotPresent,Always,Never" default:"IfNotPresent" placeholder:"POLICY" help:"When to fetch the image: ${enum}. Default: ${default}."`
}

// flagOf maps each annotation of a Function to the flag of xfn run with the same effect.
var flagOf = map[string]string{
	sandbox.AnnotationNetwork:    "--network",
	sandbox.AnnotationMemory:     "--memory",
	sandbox.AnnotationCPU:        "--cpu",
	sandbox.AnnotationWritable:   "--writable",
	sandbox.AnnotationTimeout:    "--timeout",
	sandbox.AnnotationPullPolicy: "--image-pull-policy",
}

// annotations returns the settings as annotations of a Function. It leaves out the
// environment, because annotations cannot express all of its values.
func (s settings) annotations() map[string]string {
	all := map[string]string{
		sandbox.AnnotationNetwork:    s.Network,
		sandbox.AnnotationWritable:   strconv.FormatBool(s.Writable),
		sandbox.AnnotationPullPolicy: s.ImagePullPolicy,
	}
	if s.Memory != "" {
		all[sandbox.AnnotationMemory] = s.Memory
	}
	if s.CPU != "" {
		all[sandbox.AnnotationCPU] = s.CPU
	}
	if s.Timeout != 0 {
		all[sandbox.AnnotationTimeout] = s.Timeout.String()
	}
	return all
}

func (s settings) check() error {
	for _, pair := range s.Env {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return fmt.Errorf("reading --env: expected KEY=VALUE, got %q", pair)
		}
	}
	err := sandbox.Check(s.annotations())
	if wrong, ok := errors.AsType[*runtimes.AnnotationError](err); ok {
		return fmt.Errorf("reading %s: %w", flagOf[wrong.Annotation], wrong.Err)
	}
	return err
}
