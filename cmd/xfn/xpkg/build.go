package xpkg

import (
	"context"
	"errors"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

// BuildCmd builds a package file.
type BuildCmd struct {
	PackageRoot string `short:"f" default:"." placeholder:"DIR" help:"Directory with crossplane.yaml and what else the package holds. Default: the current one."`
	PackageFile string `short:"o" placeholder:"FILE" help:"File to write. Default: a name made of the package's and its digest, in the package root."`

	Split bool `xor:"split" help:"Write a file for each platform: NAME-linux-amd64.xpkg and so on."`
	Load  bool `xor:"split" help:"Give the package to the Docker engine, too, under the package's name."`

	rootFlags    `group:"What the package holds:"`
	contentFlags `group:"What the package holds:"`
	runtimeFlags `group:"Where its runtime image comes from:"`

	SourceDateEpoch string `env:"SOURCE_DATE_EPOCH" hidden:""`
}

// Help is shown by --help.
func (BuildCmd) Help() string {
	return `The same input gives the same file, byte for byte. Docker, skopeo, crane, oras and the crossplane CLI all read it. Prints the file's name and the digest that it will have in a registry.

Examples:

    xfn xpkg build -f package --embed-runtime-source . -o hello.xpkg
    xfn xpkg build -f package --embed-runtime-source . \
        --platform linux/amd64,linux/arm64 -o hello.xpkg
    xfn xpkg build -f package --embed-runtime-image-tarball runtime.tar
    xfn xpkg build -f package --embed-runtime-image runtime --load
    xfn xpkg build -f package --embed-runtime-dir build -o hello.xpkg \
        --base-image registry.example.org/python:3.12 \
        --entrypoint python3 --entrypoint main.py
    xfn xpkg build -f package --ignore 'docs,**/kustomization.yaml' --lint=warn
    xfn xpkg build -f package --extensions-root extensions \
        -a org.opencontainers.image.version=v0.1.0
`
}

// Run builds, and prints what was written.
func (c *BuildCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	if err := checkOutput(c.PackageFile); err != nil {
		return err
	}
	if err := c.checkTarget(); err != nil {
		return err
	}
	opts, err := c.build(ctx)
	if err != nil {
		return err
	}
	pkg, err := c.read(ctx, term)
	if err != nil {
		return err
	}
	if opts.Created, err = created(c.SourceDateEpoch); err != nil {
		return err
	}
	runtimes, err := c.images(ctx, program, runtimeimage.Options{Created: opts.Created, Env: os.Environ(), TempDir: os.TempDir(), Beside: c.beside(), Progress: term.Progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runtimes.Close()) }()
	if xpkg.NeedsRuntime(pkg.Meta.Kind) && len(runtimes.All) == 0 {
		term.Warn("the package of the " + pkg.Meta.Kind + " has no runtime image: embed one by --embed-runtime-source, --embed-runtime-dir, --embed-runtime-image or another --embed-runtime flag")
	}
	if err := c.judge(term, pkg.Meta.Kind, runtimes.All); err != nil {
		return err
	}
	artifact, err := xpkg.Build(pkg, runtimes.All, opts)
	if err != nil {
		return fmt.Errorf("building the package in %q: %w", c.PackageRoot, err)
	}
	targets, err := c.targets(pkg, artifact)
	if err != nil {
		return err
	}
	if err := c.write(ctx, term, runtimes, targets); err != nil || !c.Load {
		return err
	}
	return load(ctx, term, program, targets[0].Path, pkg.Meta.Name)
}

// read reads the package root, and prints what is wrong with it.
func (c *BuildCmd) read(ctx context.Context, term *terminal.Terminal) (*xpkg.Package, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	opts.ExtensionsRoot = c.ExtensionsRoot
	pkg, err := xpkg.Read(ctx, afero.NewOsFs(), c.PackageRoot, opts)
	if err != nil {
		return nil, faults(term, c.PackageRoot, err)
	}
	warn(term, pkg.Warnings)
	return pkg, nil
}

// beside is the directory that the package's file will be in, or none.
func (c *BuildCmd) beside() string {
	if c.PackageFile == "" {
		return c.PackageRoot
	}
	dir, _ := fsx.TemporaryDir(c.PackageFile)
	return dir
}

// judge prints what is wrong with the runtimes of a package.
func (c *BuildCmd) judge(term *terminal.Terminal, kind string, runtimes []v1.Image) error {
	level, err := xpkg.ParseLevel(c.Lint)
	if err != nil {
		return err
	}
	found, err := xpkg.CheckRuntimes(kind, runtimes)
	if err != nil {
		return fmt.Errorf("building the package in %q: %w", c.PackageRoot, err)
	}
	warnings, err := level.Judge(found)
	if err != nil {
		return faults(term, c.PackageRoot, fmt.Errorf("building the package in %q: %w", c.PackageRoot, err))
	}
	warn(term, warnings)
	return nil
}
