package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// ImageCmd makes a container image of this program.
type ImageCmd struct {
	Reference string `arg:"" optional:"" help:"Where to push to: REGISTRY/REPOSITORY:TAG. Default: only write the file."`

	OutputFile string            `short:"o" placeholder:"FILE" help:"File to write, which docker load and skopeo can read."`
	Program    map[string]string `mapsep:"none" placeholder:"OS/ARCH=FILE" help:"The xfn program for a platform, as in linux/arm64=arm64/xfn. Repeatable. Default: this program."`
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
	ref, to, err := c.target(term, p)
	if err != nil {
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
	images, err := runtimeimage.FromPrograms(ctx, base, programs, runtimeimage.Config{Labels: c.Label, Env: []string{"XFN_CACHE_DIR=/tmp/xfn"}, NoPort: true}, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, images.Close()) }()
	artifact, err := xpkg.Index(images.All...)
	if err != nil {
		return err
	}
	if c.OutputFile != "" && !c.DryRun {
		if err := images.WriteFile(ctx, c.OutputFile, artifact, term.Progress); err != nil {
			return err
		}
		if err := c.printFile(term, artifact); err != nil {
			return err
		}
	}
	if c.Reference == "" {
		return nil
	}
	start := time.Now()
	res, err := push.Artifact(ctx, ref, artifact, to)
	if err != nil {
		return err
	}
	return c.print(term, push.CopyResult{Result: res}, time.Since(start))
}

// target returns where and how to push. Both are zero if the image is only written to a file.
func (c *ImageCmd) target(term *terminal.Terminal, p terminal.Program) (ref name.Tag, to push.Options, err error) {
	switch {
	case c.Reference != "":
		if ref, err = c.Target(c.Reference); err != nil {
			return ref, to, err
		}
		if to, err = c.options(term, p, ref); err != nil {
			return ref, to, err
		}
	case c.OutputFile == "":
		return ref, to, &terminal.UsageError{Err: hint.Wrap(errors.New("expected a reference to push to, or a file to write with -o"), "as in xfn image registry.example.org/acme/xfn:v0.1.0, or xfn image -o xfn.tar")}
	case len(c.Tag)+len(c.MountFrom) > 0 || c.DryRun:
		return ref, to, &terminal.UsageError{Err: errors.New("--tag, --mount-from and --dry-run need a reference to push to")}
	}
	return ref, to, CheckOutput(c.OutputFile)
}

// printFile prints the name and digest of the file. With --format json and a reference, it
// prints nothing, because the push prints the only JSON value of the output.
func (c *ImageCmd) printFile(term *terminal.Terminal, artifact xpkg.Artifact) error {
	switch {
	case c.Format.Format != "json" || term.IsStdout(c.OutputFile):
		return printBuilt(term, c.OutputFile, artifact)
	case c.Reference != "":
		return nil
	}
	digest, err := artifact.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest of %q: %w", c.OutputFile, err)
	}
	return manifest.WriteJSON(term.Stdout, "  ", imageFile{c.OutputFile, digest.String()})
}

// imageFile is the output of xfn image with --format json and no reference.
type imageFile struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
}

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
	for _, of := range slices.Sorted(maps.Keys(files)) {
		platform, err := programPlatform(of, files[of])
		if err != nil {
			return nil, &terminal.UsageError{Err: err}
		}
		all = append(all, runtimeimage.Program{Platform: *platform, File: files[of], Path: imagePath})
	}
	return all, nil
}

// machines maps the names of architectures in the output of uname to Go's names.
var machines = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i386": "386", "i686": "386"}

func programPlatform(platform, file string) (*v1.Platform, error) {
	err := fmt.Errorf("reading --program %q: expected OS/ARCH=FILE", platform+"="+file)
	system, arch, both := strings.Cut(platform, "/")
	switch {
	case !both && slices.Contains(systems, platform):
		return nil, hint.Wrap(err, fmt.Sprintf("name the architecture, too, as in --program %s/amd64=%s", platform, file))
	case !both:
		system, arch = "linux", platform
	}
	arch = cmp.Or(machines[arch], arch)
	if meant := system + "/" + arch; meant != platform && slices.Contains(architectures, arch) {
		return nil, hint.Wrap(err, fmt.Sprintf("did you mean --program %s=%s?", meant, file))
	}
	p, parseErr := ParsePlatform(platform)
	switch {
	case parseErr == nil:
		return p, nil
	case both:
		return nil, hint.Wrap(err, hint.Of(parseErr))
	default:
		return nil, hint.Wrap(err, "write --program linux/amd64=FILE")
	}
}
