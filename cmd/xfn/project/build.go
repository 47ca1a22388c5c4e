package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	packages "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/sbom"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

// BuildCmd builds the packages of a project.
type BuildCmd struct {
	fileFlags
	OutputDir      string   `writes:"_output/" short:"o" default:"_output" placeholder:"DIR" help:"Directory for the file, relative to the working directory. Default: ${default}."`
	Split          bool     `more:"" help:"Write one .xpkg file for each package, as xfn xpkg build does."`
	MaxConcurrency int      `more:"" positive:"" default:"8" placeholder:"N" help:"How many functions are built at a time. Default: ${default}."`
	Platform       []string `more:"" placeholder:"OS/ARCH" help:"Platforms of the functions, such as linux/amd64. Default: linux and the architectures in the project file."`
	SBOM           string   `writes:"sboms/" name:"sbom" more:"" placeholder:"DIR" help:"Also write a software bill of materials of each package, as xfn xpkg build does: DIR/NAME.json, where NAME is the last element of the package's repository."`
	Provenance     string   `writes:"provenance/" more:"" placeholder:"DIR" help:"Also write how each package was built, as xfn xpkg build does: DIR/NAME.json."`
	Offline        bool     `more:"" help:"Use only base images and packages that are in the cache."`

	packages.LintLevel
	flags.Index
	fetchFlags
	flags.Lock
	terminal.Format
}

func lintOptions(p *project.Project, level xpkg.Level, cache flags.Cache) project.Options {
	others := slices.ContainsFunc(p.Packages(true), func(d project.Package) bool { return d.Kind != "Function" })
	rules := []xpkg.Rule{packages.LintCompositions(func(ctx context.Context) (composition.Inputs, error) {
		return inputs(ctx, p, cache)
	}), packages.LintClusterRoles([]string{p.Dir(p.Paths.APIs), p.Dir(p.Paths.Examples), p.Dir(p.Paths.Tests)}, others)}
	return project.Options{Lint: level, Rules: rules}
}

// inputs returns the inputs of the embedded functions of p, and of its dependencies in the cache.
func inputs(ctx context.Context, p *project.Project, cache flags.Cache) (composition.Inputs, error) {
	o := inspect.CRDOptions{Files: manifest.Reader{FS: afero.NewOsFs()}, Rewrite: p.Rewritten}
	folders, err := flags.FunctionFolders(p, &o)
	if err != nil {
		return nil, err
	}
	flags.Inline(&o.Files, p.Path, p.DependencyDocument(true))
	return cache.Inputs(ctx, o, append(folders, p.Path)...)
}

// Help is shown by --help.
func (BuildCmd) Help() string {
	return `Generates the models of the project's APIs and dependencies that changed. Builds the embedded functions, then the Configuration, which depends on them by digest. The same input gives the same file, byte for byte. Prints the name of the file, DIR/NAME.xpkg, which the crossplane CLI can push, too.

A file in the directory of APIs becomes part of the Configuration if its first object is an XRD, a Composition or a ManagedResourceActivationPolicy. xfn warns of other files.

Examples:

    xfn project build
    xfn project build --repository registry.example.org/acme/demo
    xfn project build --platform linux/amd64 --split -o packages
`
}

// Run builds, and prints the file.
func (c *BuildCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program, p *project.Project) (err error) {
	if err := flags.CheckDir("output-dir", c.OutputDir); err != nil {
		return err
	}
	if c.SBOM != "" && filepath.Clean(c.SBOM) == filepath.Clean(c.Provenance) {
		return &terminal.UsageError{Err: errors.New("--sbom and --provenance must name different folders, because their files have the same names")}
	}
	opts, err := c.options(p, program, term.Progress)
	if err != nil {
		return err
	}
	opts.Base = func(ctx context.Context, reference string, platforms []v1.Platform) (*runtimeimage.Images, error) {
		images := opts.Images
		images.Platforms = platforms
		return c.base(ctx, program, p, reference, images)
	}
	if err := c.schemas(ctx, term, program, p); err != nil {
		// An API without a model also has problems, which lint explains.
		if _, lintErr := project.Lint(ctx, p, opts); lintErr != nil {
			return packages.Faults(term, fmt.Sprintf("project %q", p.Name), lintErr)
		}
		return err
	}
	set, err := project.Build(ctx, p, opts)
	if err != nil {
		return packages.Faults(term, fmt.Sprintf("project %q", p.Name), err)
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	packages.Warn(term, set.Warnings)
	if err := c.write(ctx, term, p, set); err != nil {
		return err
	}
	return c.describe(ctx, program, p, set)
}

// schemas generates the models that the source of functions imports.
func (c *BuildCmd) schemas(ctx context.Context, term *terminal.Terminal, program terminal.Program, p *project.Project) error {
	return generate.Schemas(ctx, p, generate.SchemaOptions{
		Registry: c.Registry, Lock: c.Content(),
		Open:    func() (*generate.Fetcher, error) { return c.fetcher(term, program, c.Offline) },
		Skipped: term.Warn,
	})
}

// base opens the base images at a reference, which the project may rewrite, through the cache.
func (c *BuildCmd) base(ctx context.Context, program terminal.Program, p *project.Project, reference string, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	ref, err := c.BaseReference(reference, p.Rewritten, opts.Pin)
	if err != nil {
		return nil, err
	}
	dir, err := c.Path()
	if err != nil {
		return nil, err
	}
	pull := image.Options{Remote: c.Client(program), Progress: opts.Progress, Offline: c.Offline}
	images, err := runtimeimage.FromCache(ctx, dir, ref, image.IfNotPresent, pull, opts)
	if err != nil && remote.Explained(err) {
		return nil, hint.Add(err, "use only base images in the cache with --offline")
	}
	return images, err
}

// options returns the options of the build, without Base.
func (c *BuildCmd) options(p *project.Project, program terminal.Program, report progress.Func) (o project.Options, err error) {
	o = lintOptions(p, c.Level(), c.Cache)
	if o.Platforms, err = packages.ParsePlatforms(c.Platform); err != nil {
		return o, err
	}
	for _, p := range o.Platforms {
		if !packages.IsArchitecture(p.Architecture) {
			err := fmt.Errorf("reading --platform %q: unknown architecture %q", p, p.Architecture)
			return o, &terminal.UsageError{Err: hint.Wrap(err, "use linux/amd64 or linux/arm64, for example; for functions in tarballs, list other architectures in spec.architectures of the project file")}
		}
	}
	if err := c.Load(); err != nil {
		return o, err
	}
	o.Jobs = c.MaxConcurrency
	o.Images = runtimeimage.Options{Env: os.Environ(), TempDir: os.TempDir(), Pin: c.Pin(), Progress: report}
	o.Artifacts = c.Artifacts(c.Client(program), c.Offline, c.Index)
	return o, nil
}

// built is the output of xfn project build with --format json.
type built struct {
	Project  string         `json:"project"`
	Files    []string       `json:"files"`
	Packages []builtPackage `json:"packages"`
}

type builtPackage struct {
	Repository string `json:"repository"`
	Digest     string `json:"digest"`
}

// InsteadOf returns what to do with a package file instead of building it.
func (BuildCmd) InsteadOf(word string) string {
	if filepath.Ext(word) != ".xpkg" {
		return ""
	}
	return "the project is built already: push it, as in xfn project push --package-file " + hint.Word(word)
}

func (c *BuildCmd) write(ctx context.Context, term *terminal.Terminal, p *project.Project, set *project.Set) error {
	if err := os.MkdirAll(c.OutputDir, 0o755); err != nil {
		return fmt.Errorf("making the output directory: %w", fsx.Cause(err))
	}
	value := built{Project: p.Name}
	for _, pkg := range set.Packages() {
		digest, err := pkg.Artifact.Digest()
		if err != nil {
			return fmt.Errorf("computing the digest of %q: %w", pkg.Repository, err)
		}
		value.Packages = append(value.Packages, builtPackage{pkg.Repository, digest.String()})
	}
	var err error
	if c.Split {
		targets := set.Targets(c.OutputDir)
		for _, t := range targets {
			value.Files = append(value.Files, t.Path)
		}
		err = xpkg.WriteFiles(ctx, targets, progress.Func(term.Progress).Plain())
	} else {
		path := filepath.Join(c.OutputDir, p.Name+".xpkg")
		value.Files = []string{path}
		err = set.WriteFile(ctx, path, term.Progress)
	}
	if err != nil {
		return err
	}
	text := ""
	for i, file := range value.Files {
		what := fmt.Sprintf("project %q", p.Name)
		if c.Split {
			what = fmt.Sprintf("package %q", value.Packages[i].Repository)
		}
		text += fmt.Sprintf("Built %s to %s\n", what, file)
	}
	return c.Print(term, value, text)
}

// describe writes the files of --sbom and --provenance for each package. The provenance of the
// Configuration has the functions that it depends on.
func (c *BuildCmd) describe(ctx context.Context, program terminal.Program, p *project.Project, set *project.Set) error {
	for _, dir := range []string{c.SBOM, c.Provenance} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the directory %q: %w", dir, fsx.Cause(err))
		}
	}
	var used []language.Material
	for i, pkg := range set.Packages() {
		digest, err := pkg.Artifact.Digest()
		if err != nil {
			return fmt.Errorf("computing the digest of %q: %w", pkg.Repository, err)
		}
		d := packages.Described{
			Subject: sbom.Subject{Name: pkg.Repository, Digest: digest, Tool: "xfn-" + program.Version, Created: time.Unix(0, 0).UTC()},
			Command: sbom.ProjectBuild, Parameters: map[string]any{"projectFile": filepath.Base(p.Path), "repository": p.Repository},
		}
		if len(c.Platform) > 0 {
			d.Parameters["platforms"] = c.Platform
		}
		if i < len(set.Functions) {
			f := set.Functions[i]
			d.Images, d.Materials, d.Parameters["function"] = f.Images, f.Materials, f.Function
			used = append(used, language.Material{Name: pkg.Repository, PURL: language.ImagePURL(pkg.Repository, digest, ""), Digest: digest.String()})
		} else {
			d.Images, d.Used = []v1.Image{set.Configuration}, used
		}
		if err := d.Write(ctx, fileIn(c.SBOM, pkg), fileIn(c.Provenance, pkg)); err != nil {
			return err
		}
	}
	return nil
}

// fileIn returns the file of a package in a folder, or "" without a folder.
func fileIn(dir string, pkg project.BuiltPackage) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, pkg.Name()+".json")
}
