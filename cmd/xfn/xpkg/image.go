package xpkg

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// ImageCmd makes a container image of this program.
type ImageCmd struct {
	Reference string `arg:"" optional:"" help:"Where to push to: REGISTRY/REPOSITORY:TAG. Default: only write the file."`

	OutputFile string            `short:"o" placeholder:"FILE" help:"File to write, which docker load and skopeo can read."`
	Program    map[string]string `mapsep:"none" placeholder:"OS/ARCH=FILE" help:"An xfn of a release and its platform, such as linux/arm64=xfn. Repeatable. Default: this program."`
	BaseImage  string            `placeholder:"IMAGE" help:"Base image, for example with a shell and git. A tarball or OCI layout, a root file system (a folder or a tar of one), docker-daemon:NAME, or a reference. Default: an image with root certificates, a user and /tmp."`
	Label      map[string]string `more:"" mapsep:"none" placeholder:"KEY=VALUE" help:"Label of the image. Repeatable."`
	Offline    bool              `more:"" help:"Fetch no base image: use the cache."`
	targetFlags
	flags.Cache
}

// Help is shown by --help.
func (ImageCmd) Help() string {
	return `Adds xfn to a base image as /usr/local/bin/xfn, the entry point. The user is 65532. The image runs with a read-only root file system and without capabilities; functions from packages need a writable /tmp that allows programs. No Docker is needed. The same programs and base image give the same digest.

Examples:

    xfn image registry.example.org/acme/xfn:v0.1.0
    xfn image --program linux/amd64=amd64/xfn --program linux/arm64=arm64/xfn \
        registry.example.org/acme/xfn:v0.1.0
    xfn image --base-image debian-root -o xfn-ci.tar
`
}

// imagePath is the path of xfn in its image. It is in a folder of PATH.
const imagePath = "/usr/local/bin/xfn"

// Run makes the image, writes it and pushes it.
func (c *ImageCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) (err error) {
	if c.Reference == "" && c.OutputFile == "" {
		return &terminal.UsageError{Err: errors.New("expected a reference to push to, or a file to write with -o")}
	}
	if err := checkOutput(c.OutputFile); err != nil {
		return err
	}
	programs, err := c.programs()
	if err != nil {
		return err
	}
	opts := runtimeimage.Options{TempDir: os.TempDir(), Progress: term.Progress}
	for _, program := range programs {
		opts.Platforms = append(opts.Platforms, program.Platform)
	}
	from := runtimeFlags{BaseImage: c.BaseImage, Offline: c.Offline, registryFlags: c.registryFlags, Cache: c.Cache}
	base, err := from.base(ctx, p, "", opts)
	if err != nil {
		return err
	}
	images, err := runtimeimage.FromPrograms(ctx, base, programs, runtimeimage.Config{Labels: c.Label, Env: []string{"XFN_CACHE_DIR=/tmp/xfn"}}, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, images.Close()) }()
	artifact, err := xpkg.Index(images.All...)
	if err != nil {
		return err
	}
	if c.OutputFile != "" {
		if err := images.WriteFile(ctx, c.OutputFile, artifact, term.Progress); err != nil {
			return err
		}
		if err := printBuilt(term, c.OutputFile, artifact); err != nil {
			return err
		}
	}
	return c.push(ctx, term, p, artifact)
}

// push pushes the image, if there is a reference.
func (c *ImageCmd) push(ctx context.Context, term *terminal.Terminal, p terminal.Program, artifact xpkg.Artifact) error {
	if c.Reference == "" {
		return nil
	}
	ref, err := remote.ParseTag(c.Reference, c.Registry)
	if err != nil {
		return err
	}
	opts, err := c.options(p, ref)
	if err != nil {
		return err
	}
	opts.Progress = progress.Func(term.Progress).Plain()
	start := time.Now()
	res, err := push.Artifact(ctx, ref, artifact, opts)
	if err != nil {
		return err
	}
	return c.print(term, push.CopyResult{Result: res}, time.Since(start))
}

// programs returns the programs of --program, or this program.
func (c *ImageCmd) programs() (all []runtimeimage.Program, err error) {
	files := c.Program
	if len(files) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
		if runtime.GOOS != "linux" {
			return nil, hint.Wrap(fmt.Errorf("this program is for %s, and the image needs one for linux", runtime.GOOS), "name the program of a release with --program")
		}
		files = map[string]string{runtime.GOOS + "/" + runtime.GOARCH: self}
	}
	if c.BaseImage == "" {
		for _, file := range files {
			if isDynamic(file) {
				return nil, hint.Wrap(fmt.Errorf("%q needs a dynamic loader, which the minimal base image does not have", file), "use the program of a release, or compile with CGO_ENABLED=0")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		platform, err := ParsePlatform(name)
		if err != nil {
			return nil, err
		}
		all = append(all, runtimeimage.Program{Platform: *platform, File: files[name], Path: imagePath})
	}
	return all, nil
}

// isDynamic reports whether a file is an ELF executable with a dynamic loader.
func isDynamic(file string) bool {
	f, err := elf.Open(file)
	if err != nil {
		return false // FromPrograms says what is wrong with the file.
	}
	defer f.Close()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
