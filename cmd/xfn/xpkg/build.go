package xpkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

// BuildCmd builds a package file.
type BuildCmd struct {
	PackageRoot  string   `short:"f" default:"." placeholder:"DIR" help:"Directory with crossplane.yaml and what else the package holds. Default: the current one."`
	ExamplesRoot string   `short:"e" default:"./examples" placeholder:"DIR" help:"Directory of examples; need not exist. Default: ${default}."`
	PackageFile  string   `short:"o" placeholder:"FILE" help:"File to write. Default: a name made of the package's and its digest, in the package root."`
	Ignore       []string `placeholder:"GLOB" help:"Files in the package root to leave out. Repeatable."`

	EmbedRuntimeSource       string   `xor:"runtime" placeholder:"DIR" help:"Compile the Go main package in DIR and embed it as the runtime image."`
	EmbedRuntimeImage        string   `xor:"runtime" placeholder:"NAME" help:"Embed an image that the Docker engine has, by name or id."`
	EmbedRuntimeImageTarball string   `xor:"runtime" placeholder:"FILE" help:"Embed the runtime image in a tarball of docker save."`
	Platform                 []string `placeholder:"OS/ARCH" help:"Platforms to compile for, as linux/amd64,linux/arm64. Default: linux and this machine's architecture."`

	Load bool `help:"Give the package to the Docker engine, too, under the package's name."`

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
`
}

// Run builds, and prints what was written.
func (c *BuildCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	pkg, err := xpkg.Read(ctx, afero.NewOsFs(), c.PackageRoot, xpkg.ReadOptions{ExamplesRoot: c.ExamplesRoot, Ignore: c.Ignore})
	if err != nil {
		return err
	}
	made, err := created(c.SourceDateEpoch)
	if err != nil {
		return err
	}
	runtimes, err := c.runtimes(ctx, program, runtimeimage.Options{Created: made, Env: os.Environ(), TempDir: os.TempDir(), Progress: term.Progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runtimes.Close()) }()
	if pkg.Meta.Kind == "Function" && len(runtimes.All) == 0 {
		term.Warn("the function's package has no runtime image: embed one by --embed-runtime-source, --embed-runtime-image or --embed-runtime-image-tarball")
	}
	artifact, err := xpkg.Build(pkg, runtimes.All, xpkg.BuildOptions{Created: made})
	if err != nil {
		return fmt.Errorf("building the package in %q: %w", c.PackageRoot, err)
	}
	file := c.PackageFile
	if file == "" {
		name, err := xpkg.DefaultFileName(pkg, artifact)
		if err != nil {
			return err
		}
		file = filepath.Join(c.PackageRoot, name)
	}
	if err := xpkg.WriteFile(ctx, file, artifact, term.Progress); err != nil {
		return err
	}
	if err := printBuilt(term, file, artifact); err != nil || !c.Load {
		return err
	}
	return load(ctx, term, program, file, pkg.Meta.Name)
}

func (c *BuildCmd) runtimes(ctx context.Context, program terminal.Program, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	switch {
	case c.EmbedRuntimeSource != "":
		platforms, err := c.platforms()
		if err != nil {
			return nil, err
		}
		return runtimeimage.FromSource(ctx, c.EmbedRuntimeSource, platforms, opts)
	case len(c.Platform) > 0:
		return nil, &terminal.UsageError{Err: hint.Wrap(errors.New("--platform goes with --embed-runtime-source"), "an image has its own platform")}
	case c.EmbedRuntimeImage != "":
		return fromEngine(ctx, program, c.EmbedRuntimeImage, opts)
	case c.EmbedRuntimeImageTarball != "":
		return runtimeimage.FromTarball(ctx, c.EmbedRuntimeImageTarball, opts)
	default:
		return &runtimeimage.Images{}, nil
	}
}

func (c *BuildCmd) platforms() ([]v1.Platform, error) {
	names := c.Platform
	if len(names) == 0 {
		names = []string{"linux/" + runtime.GOARCH}
	}
	platforms := make([]v1.Platform, len(names))
	for i, name := range names {
		p, err := v1.ParsePlatform(name)
		if err != nil || p.OS == "" || p.Architecture == "" {
			return nil, &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("reading --platform %q: expected OS/ARCH", name), "use linux/amd64 or linux/arm64, say")}
		}
		platforms[i] = *p
	}
	return platforms, nil
}

// printBuilt prints the line by which a script learns what a command wrote.
func printBuilt(term *terminal.Terminal, file string, artifact xpkg.Artifact) error {
	digest, err := artifact.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest of %q: %w", file, err)
	}
	if _, err := fmt.Fprintf(term.Stdout, "%s %s\n", file, digest); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}
