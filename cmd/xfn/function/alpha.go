package function

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// AlphaCmd is the command group xfn alpha, which has the commands and flags of the original
// xfn, with two changes: it shares the cache of the other commands of xfn, and --registry
// has no default.
type AlphaCmd struct {
	Debug    bool   `short:"d" help:"Print more details, as --verbose does."`
	Registry string `short:"r" env:"XFN_REGISTRY,REGISTRY" placeholder:"HOST" help:"Registry of image names without a registry."`
	flags.Access

	Start AlphaStartCmd `cmd:"" default:"withargs" help:"Serve the runner that Crossplane v1.11 to v1.13 call. The default."`
	Run   AlphaRunCmd   `cmd:"" help:"Run a function once with a FunctionIO, and print its output."`
}

// Help is shown by --help.
func (AlphaCmd) Help() string {
	return `The functions of Crossplane v1.11 to v1.13 are containers that read a FunctionIO from stdin and write one to stdout. Each call runs in its own sandbox, without a daemon and without root.

Examples:

    xfn alpha run registry.example.org/acme/function-hello:v1 io.yaml
    xfn alpha start
`
}

type containerFlags struct {
	CacheDir   string `short:"c" env:"XFN_CACHE_DIR" placeholder:"DIR" help:"Directory of pulled and unpacked images. Default: xfn in the user's cache directory."`
	MapRootUID int    `name:"map-root-uid" default:"100000" placeholder:"ID" help:"The first of 65536 user ids of this machine for containers, if xfn has the permission to assign ids (as root has). Default: ${default}."`
	MapRootGID int    `name:"map-root-gid" default:"100000" placeholder:"ID" help:"The first of 65536 group ids of this machine for containers, with the same permission. Default: ${default}."`
}

// maxMapRoot is the highest first id of a range of 65536 user or group ids. The kernel
// does not accept the highest 32-bit number as an id.
const maxMapRoot = math.MaxUint32 - 1 - 65535

// ProvideContainers returns a runner that calls functions in containers. It returns an error for
// invalid flags, and on systems without sandboxes. Kong calls it for the methods Run.
func (f containerFlags) ProvideContainers(c *AlphaCmd, term *terminal.Terminal, program terminal.Program) (sandbox.Containers, error) {
	if runtime.GOOS != "linux" {
		return sandbox.Containers{}, fmt.Errorf("running containers on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	for _, first := range []struct {
		flag string
		id   int
	}{{"--map-root-uid", f.MapRootUID}, {"--map-root-gid", f.MapRootGID}} {
		if first.id <= 0 || int64(first.id) > maxMapRoot {
			return sandbox.Containers{}, &terminal.UsageError{Err: fmt.Errorf("%s must be positive and at most %d, since containers get 65536 ids, got %d", first.flag, int64(maxMapRoot), first.id)}
		}
	}
	dir, err := flags.Cache{CacheDir: f.CacheDir}.Path()
	if err != nil {
		return sandbox.Containers{}, err
	}
	term.Verbose = term.Verbose || c.Debug
	var output func(img, line string)
	if term.Verbose {
		output = func(img, line string) { term.Note(img + " says: " + line) }
	}
	return sandbox.Containers{
		Cache:    dir,
		Registry: c.Registry,
		Pull:     image.Options{Remote: c.Client(program), Progress: term.Progress},
		HostUID:  f.MapRootUID,
		HostGID:  f.MapRootGID,
		Progress: term.Progress,
		Output:   output,
	}, nil
}
