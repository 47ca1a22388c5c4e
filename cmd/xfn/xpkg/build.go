package xpkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/sbom"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

// BuildCmd builds a package file.
type BuildCmd struct {
	PackageRoot string `once:"" short:"f" empty:"" default:"." placeholder:"DIR" surplus:"name the directory of crossplane.yaml with -f" help:"Directory with crossplane.yaml and the other files of the package. Default: the current one."`
	PackageFile string `short:"o" empty:"" placeholder:"FILE" meant:"name" help:"File to write. Default: a name from the package's name and digest, in the package root."`

	SBOM       string `writes:"sbom.json" name:"sbom" more:"" xor:"sbom" placeholder:"FILE" help:"Also write a software bill of materials: SPDX 2.3 in JSON. It lists the dependencies of the function, and the Debian packages in its image."`
	Provenance string `writes:"provenance.json" more:"" xor:"provenance" placeholder:"FILE" help:"Also write how the package was built: an in-toto statement with SLSA provenance 1.0. It has the flags that select the runtime image, and the dependencies by digest."`
	Split      bool   `more:"" xor:"split,sbom,provenance" help:"Write a file for each platform: NAME-linux-amd64.xpkg and so on."`
	Load       bool   `xor:"split" help:"Also load the package into the Docker engine. Its name there is the package's name."`

	rootFlags    `group:"Content of the package:"`
	contentFlags `group:"Content of the package:"`
	runtimeFlags `group:"Runtime image:"`

	SourceDateEpoch string `env:"SOURCE_DATE_EPOCH" hidden:""`
}

// Help is shown by --help.
func (BuildCmd) Help() string {
	return `The same input gives the same file, byte for byte. Docker, skopeo, crane, oras and the crossplane CLI can read it. Prints the name of the file and its digest in a registry.

Examples:

    xfn xpkg build -f package --embed-runtime-source . -o hello.xpkg
    xfn xpkg build -f package --embed-runtime-source . \
        --platform linux/amd64,linux/arm64 -o hello.xpkg
    xfn xpkg build -f package --embed-runtime-image-tarball runtime.tar
    xfn xpkg build -f package --embed-runtime-image runtime --load

More examples:

    xfn xpkg build -f package --embed-runtime-dir build -o hello.xpkg \
        --base-image registry.example.org/python:3.12 \
        --entrypoint python3 --entrypoint main.py
    xfn xpkg build -f package --ignore 'docs,**/kustomization.yaml' --lint=warn
    xfn xpkg build -f package --extensions-root extensions \
        -a org.opencontainers.image.version=v0.1.0
`
}

// InsteadOf returns what to do with a package file instead of building it.
func (BuildCmd) InsteadOf(word string) string {
	if filepath.Ext(word) != ".xpkg" {
		return ""
	}
	return "the package is built already: push it, as in xfn xpkg push -f " + hint.Word(word) + " registry.example.org/acme/hello:v0.1.0; or name the file to write with -o"
}

// Run builds the package, and prints the files.
func (c *BuildCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	if err := CheckOutput(c.PackageFile); err != nil {
		return err
	}
	opts, err := c.build(ctx)
	if err != nil {
		return err
	}
	if c.EmbedRuntimeSource != "" {
		c.PackageRoot = rootOf(c.PackageRoot)
	}
	pkg, err := c.read(ctx, term)
	if err != nil {
		return err
	}
	if c.EmbedRuntimeSource != "" && !xpkg.NeedsRuntime(pkg.Meta.Kind) && c.Lint == "strict" {
		// lintRuntimes reports the same after the compilation.
		err := fmt.Errorf("the package in %q is a %s with a runtime image, which nothing would run", c.PackageRoot, pkg.Meta.Kind)
		next := "leave " + fromSource + " out, or build the package anyway with --lint=warn"
		if _, invalid := ParsePlatforms(c.Platform); invalid != nil {
			err, next = errors.Join(err, invalid), next+"; "+string(hint.Of(invalid))
		}
		return hint.Wrap(err, next)
	}
	if opts.Created, err = created(c.SourceDateEpoch); err != nil {
		return err
	}
	built, err := c.runtime(ctx, program, runtimeimage.Options{Created: opts.Created, Env: os.Environ(), TempDir: os.TempDir(), Beside: c.beside(), Progress: term.Progress})
	if err != nil {
		return err
	}
	runtimes := built.Images
	defer func() { err = errors.Join(err, runtimes.Close()) }()
	if xpkg.NeedsRuntime(pkg.Meta.Kind) && len(runtimes.All) == 0 {
		term.Warn("the package of the " + pkg.Meta.Kind + " has no runtime image: embed one with " + withRuntime(pkg.Meta.Name, filepath.Join(c.PackageRoot, "..")))
	}
	if err := c.lintRuntimes(term, pkg.Meta.Kind, runtimes.All); err != nil {
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
	if err := c.write(ctx, term, runtimes, targets); err != nil {
		return err
	}
	subject := sbom.Subject{Name: pkg.Meta.Name, Tool: "xfn-" + program.Version, Created: opts.Created}
	if err := c.describe(ctx, subject, artifact, built); err != nil {
		return err
	}
	if !c.Load {
		return nil
	}
	return terminal.Wrap(load(ctx, term, program, targets[0].Path, pkg.Meta.Name), "loading %q into Docker", targets[0].Path)
}

// rootOf returns the package root of a function's source: dir, or the folder of a template in
// it if dir has no metadata. The template for TypeScript has two packages.
func rootOf(dir string) string {
	for _, root := range []string{dir, filepath.Join(dir, "package"), filepath.Join(dir, "package-function")} {
		if isRoot(root) {
			return root
		}
	}
	return dir
}

// rootNear returns the package root of a file: the root that contains the file, or a root beside the
// file's folder. If there is no such root, it returns the usual name of a root.
func rootNear(file string) string {
	for _, dir := range []string{filepath.Dir(file), filepath.Join(filepath.Dir(file), "..")} {
		if root := rootOf(dir); isRoot(root) {
			return root
		}
	}
	return "package"
}

func (c *BuildCmd) read(ctx context.Context, term *terminal.Terminal) (*xpkg.Package, error) {
	opts := c.options()
	opts.Rules = rules(c.Cache, c.PackageRoot, opts.ExamplesRoot)
	opts.ExtensionsRoot, opts.Progress = c.ExtensionsRoot, progress.Func(term.Progress).Plain()
	c.checkIgnored(term, c.PackageRoot)
	pkg, err := xpkg.Read(ctx, afero.NewOsFs(), c.PackageRoot, opts)
	if err != nil {
		return nil, faults(term, c.PackageRoot, err)
	}
	Warn(term, pkg.Warnings)
	return pkg, nil
}

// beside returns the directory in which the package file is written through a
// temporary file, or "" if it is a device or pipe.
func (c *BuildCmd) beside() string {
	if c.PackageFile == "" {
		return c.PackageRoot
	}
	dir, _ := fsx.TemporaryDir(c.PackageFile)
	return dir
}

func (c *BuildCmd) lintRuntimes(term *terminal.Terminal, kind string, runtimes []v1.Image) error {
	found, err := xpkg.CheckRuntimes(kind, runtimes)
	if err != nil {
		return fmt.Errorf("building the package in %q: %w", c.PackageRoot, err)
	}
	warnings, err := c.Level().Apply(found)
	if err != nil {
		return faults(term, c.PackageRoot, fmt.Errorf("building the package in %q: %w", c.PackageRoot, err))
	}
	Warn(term, warnings)
	return nil
}

type contentFlags struct {
	OciAnnotation  []string `more:"" short:"a" sep:"none" placeholder:"KEY=VALUE" help:"Annotate each image and the index. Replaces annotations from crossplane.yaml. Repeatable, or separated by commas. Write \\, for a comma before text that looks like another KEY=."`
	ExtensionsRoot string   `more:"" placeholder:"DIR" help:"Directory whose folders become layers with their names, such as icons, readme and release-notes."`
}

func (f *contentFlags) build(ctx context.Context) (opts xpkg.BuildOptions, err error) {
	if opts.Annotations, err = flags.ImageAnnotations(f.OciAnnotation); err != nil {
		return opts, err
	}
	if f.ExtensionsRoot != "" {
		opts.Extensions, err = xpkg.ReadExtensions(ctx, f.ExtensionsRoot)
	}
	return opts, err
}

func (c *BuildCmd) targets(pkg *xpkg.Package, artifact xpkg.Artifact) ([]xpkg.Target, error) {
	path := func(a xpkg.Artifact) (string, error) {
		if c.PackageFile != "" {
			return c.PackageFile, nil
		}
		name, err := xpkg.DefaultFileName(pkg, a)
		return filepath.Join(c.PackageRoot, name), err
	}
	if c.Split {
		return xpkg.Split(artifact, path)
	}
	file, err := path(artifact)
	return []xpkg.Target{{Path: file, Artifact: artifact}}, err
}

func (c *BuildCmd) write(ctx context.Context, term *terminal.Terminal, runtimes *runtimeimage.Images, targets []xpkg.Target) error {
	var err error
	if c.Split {
		err = xpkg.WriteFiles(ctx, targets, progress.Func(term.Progress).Plain())
	} else {
		err = runtimes.WriteFile(ctx, targets[0].Path, targets[0].Artifact, term.Progress)
	}
	for _, t := range targets {
		if err == nil {
			err = printBuilt(term, t.Path, t.Artifact)
		}
	}
	return err
}

// A Described is a package whose SBOM and provenance are written.
type Described struct {
	sbom.Subject
	// Images are the images of the package, or the images that the package runs.
	Images []v1.Image
	// Materials are what the images contain besides the compiled source, for the SBOM and the
	// provenance. Used was only used to build them, and is in the provenance only.
	Materials, Used []language.Material
	// Command built the package, with Parameters.
	Command    sbom.Command
	Parameters map[string]any
}

// Write writes the SBOM and the provenance of a package to files, unless their paths are empty.
func (d Described) Write(ctx context.Context, sbomPath, provenancePath string) error {
	err := writeText("SBOM", sbomPath, func() ([]byte, error) {
		packages, err := sbom.Debian(ctx, d.Images)
		if err != nil {
			return nil, err
		}
		return sbom.Write(d.Subject, append(slices.Clone(d.Materials), packages...))
	})
	if err != nil {
		return err
	}
	return writeText("provenance", provenancePath, func() ([]byte, error) {
		return sbom.Provenance(d.Subject, d.Command, d.Parameters, append(slices.Clone(d.Materials), d.Used...))
	})
}

func writeText(what, path string, text func() ([]byte, error)) error {
	if path == "" {
		return nil
	}
	content, err := text()
	if err == nil {
		err = fsx.WriteFile(path, 0o644, content)
	}
	return terminal.Wrap(err, "writing %s %q", what, path)
}

func (c *BuildCmd) describe(ctx context.Context, s sbom.Subject, artifact xpkg.Artifact, built *language.Result) (err error) {
	if s.Digest, err = artifact.Digest(); err != nil {
		return err
	}
	d := Described{Subject: s, Images: built.Images.All, Materials: built.Materials, Command: sbom.PackageBuild, Parameters: c.parameters()}
	return d.Write(ctx, c.SBOM, c.Provenance)
}

// parameters returns the flags that select the runtime image. Credentials of
// registries are not among them.
func (c *BuildCmd) parameters() map[string]any {
	all := map[string]any{"packageRoot": c.PackageRoot}
	for name, value := range map[string]string{
		"runtimeSource": c.EmbedRuntimeSource, "runtimeDir": c.EmbedRuntimeDir, "runtimeImage": c.EmbedRuntimeImage,
		"runtimeTarball": c.EmbedRuntimeImageTarball, "runtimeLayout": c.EmbedRuntimeLayout, "runtimeRemote": c.EmbedRuntimeRemote,
		"language": c.Language, "baseImage": c.BaseImage, "ldflags": c.Ldflags,
	} {
		if value != "" {
			all[name] = value
		}
	}
	for name, values := range map[string][]string{"platforms": c.Platform, "goFlags": c.goFlags(), "entrypoint": c.Entrypoint} {
		if len(values) > 0 {
			all[name] = values
		}
	}
	return all
}
