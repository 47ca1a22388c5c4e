package sandbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// Confined starts functions on systems that forbid sandboxes. A function is an ordinary
// process of this machine, started from its image. It is restricted as far as possible
// without a namespace (see sandbox.Confine). The Instance's Detail describes the
// restrictions.
//
// A function is started with its image's command line, followed by --insecure and
// --address. It must listen at that address: a port of the host's loopback interface, to
// which every user of this machine can connect.
//
// Confined reads the annotations of Sandbox. It cannot enforce a CPU limit or provide a
// writable root, and says so in Detail.
type Confined struct{ Sandbox }

var (
	_ runtimes.Runtime  = Confined{}
	_ runtimes.Preparer = Confined{}
)

// Start pulls the function's image, unpacks it, and starts the function by
// sandbox.Confine. It returns once the function answers.
func (c Confined) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	from := c.images()
	from.confined = true
	return c.start(ctx, fn, from, c.run)
}

// run implements runFunc: it starts the function by sandbox.Confine.
func (c Confined) run(ctx context.Context, name string, spec sandbox.Spec, settings settings, all *fsx.Closers) (f *runtimes.LocalFunction, how string, err error) {
	spec.Args, spec.TempDir = append(spec.Args, runtimes.InsecureArgument()), c.TempDir
	err = onLoopback(ctx, spec, all, func(spec sandbox.Spec, address string, open *fsx.Closers) error {
		var report sandbox.Report
		var err error
		f, report, err = c.serve(ctx, name, sandbox.Confine, spec, address, open)
		how = "as a process (" + describeConfined(report, settings) + ")"
		return err
	})
	return f, how, err
}

// describeConfined returns a text for users: which restrictions apply to a confined
// function, and which do not.
func describeConfined(r sandbox.Report, s settings) string {
	root, user, network := "no chroot", fmt.Sprintf("user %d", r.HostID), "no outgoing connections"
	if r.Chroot {
		root = "chroot"
	}
	if r.HostID == 0 {
		user = "root without capabilities"
	}
	if r.Network == sandbox.Runner {
		network = "network of this machine"
	}
	parts := append([]string{root, user, landlockNote(r), "seccomp"}, limits(r)...)
	parts = append(parts, network)
	if s.limits.CPU > 0 {
		parts = append(parts, "no CPU limit")
	}
	if s.writable {
		parts = append(parts, "only TMPDIR is writable")
	}
	return strings.Join(parts, ", ")
}

// landlockNote returns a text for users: the version of Landlock or, without Landlock,
// what the function can do.
func landlockNote(r sandbox.Report) string {
	switch {
	case r.Landlock > 0:
		return fmt.Sprintf("Landlock %d", r.Landlock)
	case r.Chroot:
		return "no Landlock: it can change its unpacked image"
	default:
		return "no Landlock: it can read and change the files of this user"
	}
}
