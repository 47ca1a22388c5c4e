package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// maxOutput is how much a container may write to its standard output, in bytes:
// the bound of the alpha.
const maxOutput = 100 << 20

// Containers runs functions of the alpha, each call in a sandbox of its own: as
// the image says (ENTRYPOINT and CMD, user, environment, working directory), on
// a root that is read-only.
//
// A container may write 100 MiB to its standard output; more is an error. What
// it writes to its standard error is read and dropped, but for the last lines,
// which are in the error if it fails. It need not read its input. Where a request
// asks for no limit of memory there still is one: sandbox.DefaultMemory.
type Containers struct {
	// Cache is where images are kept, and unpacked.
	Cache string
	// Registry is that of images that name none. If it is empty, there is none.
	Registry string
	// Pull says how images are fetched, where a request brings no credentials.
	Pull image.Options
	// Files lets a request's image be an .xpkg file or a folder with an OCI
	// layout, too. It is for callers whose files these are: whoever calls from
	// elsewhere must not choose among this machine's.
	Files bool
	// HostUID and HostGID are the first of the 65536 user ids, and group ids,
	// that containers are given by a process that may do so. Zero means
	// sandbox.DefaultHostID, and for HostGID the same as HostUID.
	HostUID, HostGID int
	// Progress hears of what takes long, and what confines each container. It
	// may be nil, and must be safe for concurrent use.
	Progress progress.Func
	// Output gets each line that a container writes to stderr, without control
	// characters. It may be nil, and must be safe for concurrent use.
	Output func(image, line string)
}

var _ alpha.ContainerRunner = Containers{}

// RunContainer implements alpha.ContainerRunner. It pays no heed to req.Endpoint. A
// CPU limit is kept where the caller may make a cgroup, and so is a memory limit
// that is less than a resource limit can be: see sandbox.Limits.
func (c Containers) RunContainer(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
	req = req.Complete()
	ctx, cancel := context.WithTimeoutCause(ctx, req.Timeout, fmt.Errorf("it took longer than %s", req.Timeout))
	defer cancel()
	output, err := c.run(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("running container %q: %w", req.Image, err)
	}
	return output, nil
}

func (c Containers) run(ctx context.Context, req alpha.ContainerRequest) (output []byte, err error) {
	settings, err := requested(req)
	if err != nil {
		return nil, err
	}
	var stops stops
	defer func() { err = errors.Join(err, stops.all(context.WithoutCancel(ctx))) }()
	root, _, err := c.images(req.Auth).unpack(ctx, req.Image, settings.policy, &stops)
	if err != nil {
		return nil, because(ctx, err)
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

// execute runs a container to its end.
func (c Containers) execute(ctx context.Context, spec sandbox.Spec, req alpha.ContainerRequest) ([]byte, error) {
	var report *sandbox.Report
	b := batch{limit: maxOutput, stderr: local.Output{Name: "lines on stderr"}, started: func(r sandbox.Report) {
		report = &r
		c.Progress.Step(fmt.Sprintf("running %s in a sandbox (%s)", req.Image, describe(r)))
	}}
	if c.Output != nil {
		b.stderr.Each = func(line string) { c.Output(req.Image, line) }
	}
	code, err := b.run(ctx, spec, req.Input)
	switch {
	case report == nil:
		return nil, because(ctx, err)
	case err != nil:
		return nil, fmt.Errorf("%w%s", err, b.stderr.Quote())
	case code == 0:
		return b.output, nil
	}
	err = fmt.Errorf("it ended with exit code %d%s", code, b.stderr.Quote())
	return nil, adviseStarved(err, code, &b.stderr, *report)
}

// adviseStarved adds that a program may have ended for want of memory.
func adviseStarved(err error, code int, out *local.Output, report sandbox.Report) error {
	if report.Memory.By == sandbox.Nothing || !starved(code, out) {
		return err
	}
	return hint.Wrap(err, fmt.Sprintf("it may need more memory than its limit of %d MiB", report.Memory.Value>>20))
}

// starved tells whether a container looks as if it had ended for want of memory:
// the kernel kills for a cgroup, and programs complain at a resource limit.
func starved(code int, stderr *local.Output) bool {
	const killed = 128 + 9
	return code == killed || stderr.Contains("out of memory") || stderr.Contains("annot allocate memory")
}

// images returns where containers come from, by a request's credentials.
func (c Containers) images(auth *alpha.Auth) images {
	i := images{cache: c.Cache, registry: c.Registry, pull: c.Pull, files: c.Files, hostID: c.HostUID, hostGID: c.HostGID, progress: c.Progress}
	if auth == nil {
		return i
	}
	if i.pull.Remote == nil {
		i.pull.Remote = remote.New(remote.Options{})
	}
	i.pull.Remote = i.pull.Remote.As(authn.AuthConfig{
		Username: auth.Username, Password: auth.Password, Auth: auth.Auth,
		IdentityToken: auth.IdentityToken, RegistryToken: auth.RegistryToken,
	})
	return i
}

// requested reads what a request says of how its container is to run.
func requested(req alpha.ContainerRequest) (s settings, err error) {
	if req.Timeout < 0 {
		return s, fmt.Errorf("%s is no time to run in", req.Timeout)
	}
	if s.policy, err = image.ParsePolicy(string(req.PullPolicy)); err != nil {
		return s, err
	}
	if err := s.readNetwork(string(req.Network)); err != nil {
		return s, err
	}
	if req.Memory != "" {
		if s.limits.Memory, err = positive(req.Memory, (*resource.Quantity).Value); err != nil {
			return s, fmt.Errorf("memory limit: %w", err)
		}
	}
	if req.CPU != "" {
		if s.limits.CPU, err = positive(req.CPU, (*resource.Quantity).MilliValue); err != nil {
			return s, fmt.Errorf("CPU limit: %w", err)
		}
	}
	return s, nil
}

// because returns why ctx ended, if it has, and else err.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
