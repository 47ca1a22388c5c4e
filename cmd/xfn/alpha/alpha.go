package alpha

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

// Cmd is the group. Its commands and flags have the names and the defaults that
// they had in the first xfn, but for the cache, which is that of all commands,
// and the registry, for which there is no default.
type Cmd struct {
	Debug    bool   `short:"d" help:"Print more of what happens, as --verbose does."`
	Registry string `short:"r" env:"XFN_REGISTRY,REGISTRY" placeholder:"HOST" help:"The registry of images that name none."`
	flags.Access

	Start StartCmd `cmd:"" default:"withargs" help:"Serve the runner that Crossplane v1.11 to v1.13 call. The default."`
	Run   RunCmd   `cmd:"" help:"Run a function once: give it a FunctionIO, and print its answer."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `The functions of Crossplane v1.11 to v1.13 are containers that read a FunctionIO from stdin and write one to stdout. Each call runs in a sandbox of its own, with no daemon and no root.

Examples:

    xfn alpha run registry.example.org/acme/function-hello:v1 io.yaml
    xfn alpha start
`
}

// containerFlags say how containers run.
type containerFlags struct {
	CacheDir   string `short:"c" env:"XFN_CACHE_DIR" placeholder:"DIR" help:"Where images are kept, and unpacked. Default: xfn in the user's directory for caches."`
	MapRootUID int    `name:"map-root-uid" default:"100000" placeholder:"ID" help:"The first of the 65536 user ids of this machine that containers get, if xfn may give any away (as root may). Default: ${default}."`
	MapRootGID int    `name:"map-root-gid" default:"100000" placeholder:"ID" help:"The same for groups. Default: ${default}."`
}

// maxMapRoot is the last id that 65535 more come after. The very last one means
// nobody to the kernel.
const maxMapRoot = math.MaxUint32 - 1 - 65535

// containers returns what runs containers. Its errors are those of flags, but
// for systems that have none.
func (c *Cmd) containers(f containerFlags, term *terminal.Terminal, program terminal.Program) (sandbox.Containers, error) {
	if runtime.GOOS != "linux" {
		return sandbox.Containers{}, fmt.Errorf("running containers on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	for flag, id := range map[string]int{"--map-root-uid": f.MapRootUID, "--map-root-gid": f.MapRootGID} {
		if id <= 0 || int64(id) > maxMapRoot {
			return sandbox.Containers{}, &terminal.UsageError{Err: fmt.Errorf("reading %s: %d is no id that containers may begin with: they get 65536, and never this machine's root", flag, id)}
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
