package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// Containers runs functions of alpha Crossplane, each call in its own sandbox. The image
// determines the command line (ENTRYPOINT and CMD), user, environment and working
// directory. The root is read-only.
//
// A container may write 100 MiB to its standard output; if it writes more, the call
// fails. If a container fails, the error contains the last lines of its standard error. A
// container need not read its input. Without a memory limit in the request,
// sandbox.DefaultMemory applies.
type Containers struct {
	// Cache is the directory of pulled and unpacked images.
	Cache string
	// Registry is the default registry of image names. If it is empty, a
	// name must contain a registry.
	Registry string
	// Pull configures how images are fetched. The credentials of a request replace its
	// credentials.
	Pull image.Options
	// Files permits images that are paths of .xpkg files or of folders with an OCI
	// layout. Set it only if the caller of RunContainer owns these files: a remote caller
	// must not read files of this machine.
	Files bool
	// HostUID and HostGID are the first of the 65536 user ids and group ids for
	// containers, if this process may assign ids. If HostUID is zero, it is
	// sandbox.DefaultHostID. If HostGID is zero, it is HostUID.
	HostUID, HostGID int
	// Progress receives an event before each long operation, and one with the
	// restrictions of each container. It may be nil, and must be safe for concurrent use.
	Progress progress.Func
	// Output receives each line that a container writes to stderr, without control
	// characters. It may be nil, and must be safe for concurrent use.
	Output func(image, line string)
}

var _ alpha.ContainerRunner = Containers{}

// RunContainer implements alpha.ContainerRunner. It ignores req.Endpoint. Without a
// cgroup it cannot enforce a CPU limit, and enforces a memory limit only as a resource
// limit with a minimum: see sandbox.Limits.
func (c Containers) RunContainer(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
	req = req.Complete()
	ctx, cancel := context.WithTimeoutCause(ctx, req.Timeout, fmt.Errorf("timed out after %s", req.Timeout))
	defer cancel()
	output, err := c.run(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("running container %q: %w", req.Image, err)
	}
	return output, nil
}

func (c Containers) run(ctx context.Context, req alpha.ContainerRequest) (output []byte, err error) {
	settings, err := requestSettings(req)
	if err != nil {
		return nil, err
	}
	var open fsx.Closers
	defer func() { err = errors.Join(err, open.Close()) }()
	root, _, err := c.images(req.Auth).unpack(ctx, req.Image, settings.policy, &open)
	if err != nil {
		return nil, causeOr(ctx, err)
	}
	spec, err := specOf(root, settings)
	if err != nil {
		return nil, err
	}
	spec.HostID, spec.HostGID = c.HostUID, c.HostGID
	b, err := c.execute(ctx, spec, req)
	if forbidden := (*sandbox.NamespaceError)(nil); errors.As(err, &forbidden) {
		err = hint.Wrap(err, allowNamespaces(forbidden))
	}
	return b, err
}

// execute runs the program of a container and returns what it wrote to its standard output.
func (c Containers) execute(ctx context.Context, spec sandbox.Spec, req alpha.ContainerRequest) ([]byte, error) {
	var report *sandbox.Report
	b := batch{stderr: proc.Output{Name: "lines on stderr"}, started: func(r sandbox.Report) {
		report = &r
		c.Progress.Step(fmt.Sprintf("running %s in a sandbox (%s)", req.Image, describe(r)))
	}}
	if c.Output != nil {
		b.stderr.Each = func(line string) { c.Output(req.Image, line) }
	}
	code, err := b.run(ctx, spec, req.Input)
	switch {
	case report == nil:
		return nil, causeOr(ctx, err)
	case err != nil:
		return nil, fmt.Errorf("%w%s", err, b.stderr.Quote())
	case code == 0:
		return b.output, nil
	}
	err = fmt.Errorf("the program ended with exit code %d%s", code, b.stderr.Quote())
	return nil, hintMemory(err, code, &b.stderr, *report)
}

// hintMemory adds a hint if a program may have ended because it ran out of memory.
func hintMemory(err error, code int, out *proc.Output, report sandbox.Report) error {
	if report.Memory.By == sandbox.Nothing || !outOfMemory(code, out) {
		return err
	}
	return hint.Wrap(err, fmt.Sprintf("the program may need more memory than its limit of %d MiB", report.Memory.Value>>20))
}

// outOfMemory reports whether a program seems to have ended because it ran out of memory.
// At a cgroup limit, the kernel kills the program. At a resource limit, the program
// usually writes an error message.
func outOfMemory(code int, stderr *proc.Output) bool {
	const killed = 128 + 9
	return code == killed || stderr.Contains("out of memory") || stderr.Contains("annot allocate memory")
}

// images returns the source of images for containers. It uses the credentials auth, if
// they are not nil.
func (c Containers) images(auth *alpha.Auth) images {
	i := images{cache: c.Cache, registry: c.Registry, pull: c.Pull, files: c.Files, hostID: c.HostUID, hostGID: c.HostGID, progress: c.Progress}
	if auth == nil {
		return i
	}
	i.pull.Remote = cmp.Or(i.pull.Remote, remote.New(remote.Options{})).As(authn.AuthConfig{
		Username: auth.Username, Password: auth.Password, Auth: auth.Auth,
		IdentityToken: auth.IdentityToken, RegistryToken: auth.RegistryToken,
	})
	return i
}

// requestSettings parses the settings of a request, or returns an error for the first
// that is invalid.
func requestSettings(req alpha.ContainerRequest) (s settings, err error) {
	if req.Timeout < 0 {
		return s, fmt.Errorf("the timeout must be positive, got %s", req.Timeout)
	}
	if s.policy, err = image.ParsePolicy(string(req.PullPolicy)); err != nil {
		return s, err
	}
	if s.network, err = parseNetwork(string(req.Network)); err != nil {
		return s, err
	}
	if req.Memory != "" {
		if s.limits.Memory, err = positive(req.Memory, (*resource.Quantity).Value); err != nil {
			return s, fmt.Errorf("memory limit: %w", err)
		}
	}
	if req.CPU != "" {
		if s.limits.CPU, err = parseCPU(req.CPU); err != nil {
			return s, fmt.Errorf("CPU limit: %w", err)
		}
	}
	return s, nil
}

// causeOr returns the cause of ctx if ctx has ended, and otherwise err.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// maxOutput is the maximum size of a container's standard output in bytes, as
// in alpha Crossplane.
const maxOutput = 100 << 20

// A batch is one run of a program in a sandbox. The program reads its input, writes an
// answer to its standard output, and ends. It may read and write in any order, or not at
// all, because run serves all streams concurrently.
type batch struct {
	// started is called once the program runs.
	started func(sandbox.Report)

	output []byte
	stderr proc.Output
}

// run runs the program of spec with the input. It returns the program's exit code after
// all processes of the sandbox have ended. It returns an error if the program was
// stopped, because ctx ended or because it wrote too much.
func (b *batch) run(ctx context.Context, spec sandbox.Spec, input []byte) (code int, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var read, write [3]*os.File
	for fd := range read {
		if read[fd], write[fd], err = os.Pipe(); err != nil {
			closeAll(append(read[:], write[:]...)...)
			return 0, fmt.Errorf("creating a pipe: %w", err)
		}
	}
	stdin, stdout, stderr := write[0], read[1], read[2]
	closeOurs := func() { closeAll(stdin, stdout, stderr) }
	defer closeOurs()
	spec.Stdin, spec.Stdout, spec.Stderr = read[0], write[1], write[2]
	process, err := sandbox.Start(ctx, spec)
	if err == nil {
		b.started(process.Report())
	}
	closeAll(spec.Stdin, spec.Stdout, spec.Stderr)
	if err != nil {
		return 0, err
	}
	// When ctx ends, another process may still have the program's ends of the pipes open.
	// Closing our ends ends the copies below.
	defer context.AfterFunc(ctx, closeOurs)()
	var copies sync.WaitGroup
	copies.Go(func() {
		_, _ = stdin.Write(input) // ignore an error: the program need not read its input
		_ = stdin.Close()
	})
	copies.Go(func() { b.collect(stdout, stop) })
	copies.Go(func() {
		_, _ = io.Copy(&b.stderr, stderr)
		b.stderr.Flush()
	})
	copies.Wait()
	code, err = process.Wait()
	if ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return code, err
}

// collect reads the program's standard output, and stops the program if it writes too much.
func (b *batch) collect(stdout *os.File, stop context.CancelCauseFunc) {
	var err error
	b.output, err = io.ReadAll(io.LimitReader(stdout, maxOutput+1))
	switch {
	case err != nil:
		stop(fmt.Errorf("reading the output of the program: %w", err))
	case len(b.output) > maxOutput:
		stop(fmt.Errorf("the program wrote more than %d bytes to its standard output", maxOutput))
	}
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // ignore an error: f may be nil or closed already
	}
}
