package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// Confined starts functions on systems that forbid sandboxes. A function is a
// process of this machine, from the same image. It is restricted as far as
// possible without a namespace (see sandbox.Confine). The Instance's Detail
// describes the restrictions.
//
// A function is started with its image's command line, and --insecure and
// --address after it. It must listen at that address: a port of the host's
// loopback interface, to which every user of this machine can connect.
//
// Confined reads the same annotations as Sandbox. It cannot enforce a CPU limit
// or provide a writable root, and says so in Detail.
type Confined struct{ Sandbox }

var (
	_ runtimes.Runtime  = Confined{}
	_ runtimes.Preparer = Confined{}
)

// Start pulls the function's image, unpacks it and runs it confined. It returns
// once the function answers.
func (c Confined) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	from := c.images()
	from.confined = true
	instance, err := c.startWith(ctx, fn, from, c.run)
	if err != nil {
		return nil, fmt.Errorf("starting function %q: %w", fn.Name, adviseConfined(err))
	}
	return instance, nil
}

// adviseConfined adds a hint with the alternatives if the program cannot run
// confined.
func adviseConfined(err error) error {
	var unfit *sandbox.ProgramError
	if !errors.As(err, &unfit) {
		return advise(err)
	}
	return hint.Wrap(err, "run xfn as root, or with CAP_SYS_CHROOT, so that it may give the function its image's root; or link it statically (for Go: CGO_ENABLED=0); or start it yourself and use the runtime Development")
}

// run starts the function of a root and returns once it answers.
func (c Confined) run(ctx context.Context, name string, root *rootfs.Root, settings settings, stops *stops) (*local.Function, string, error) {
	spec, err := specOf(root, settings)
	if err != nil {
		return nil, "", err
	}
	spec.Args, spec.TempDir = append(spec.Args, local.Insecure()), c.TempDir
	target, err := chooseAddress(ctx, &spec)
	if err != nil {
		return nil, "", err
	}
	f, report, err := c.serve(ctx, name, sandbox.Confine, spec, target, stops)
	return f, "as a process (" + describeConfined(report, settings) + ")", err
}

// describeConfined describes for users which restrictions apply to a function,
// and which do not.
func describeConfined(r sandbox.Report, s settings) string {
	said := append([]string{rootNote(r), userNote(r), landlockNote(r), "seccomp"}, limits(r)...)
	if r.Network == sandbox.Runner {
		said = append(said, "network of this machine")
	} else {
		said = append(said, "no outgoing connections")
	}
	if s.limits.CPU > 0 {
		said = append(said, "no CPU limit")
	}
	if s.writable {
		said = append(said, "only TMPDIR is writable")
	}
	return strings.Join(said, ", ")
}

func rootNote(r sandbox.Report) string {
	if r.Chroot {
		return "chroot"
	}
	return "no chroot"
}

func userNote(r sandbox.Report) string {
	if r.HostID == 0 {
		return "root without capabilities"
	}
	return fmt.Sprintf("user %d", r.HostID)
}

// landlockNote describes the state of Landlock, and the effect if it is
// missing.
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
