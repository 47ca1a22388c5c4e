package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	packages "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/push"
)

// PushCmd pushes the packages of a project.
type PushCmd struct {
	fileFlags
	Tag         string `short:"t" empty:"" placeholder:"TAG" surplus:"name the tag with --tag" help:"Tag of the packages. Default: v0.0.0- and the seconds since 1970."`
	PackageFile string `once:"" empty:"" placeholder:"FILE" surplus:"name the file of the project with --package-file, and the repository with --repository" help:"File that xfn project build or the crossplane CLI wrote. Default: the file in the output directory."`
	OutputDir   string `short:"o" default:"_output" placeholder:"DIR" help:"Output directory of the build, relative to the project. Default: ${default}."`

	packages.SignFlags `group:"Signature:"`
	pushFlags
	flags.Patience
	flags.Registries
	terminal.Format
}

// placeholderRegistry is the registry that xfn project init writes if no registry is given. Nobody can
// register its domain.
const placeholderRegistry = "example.com/my-org"

type pushFlags struct {
	MaxConcurrency int  `more:"" positive:"" default:"8" placeholder:"N" help:"How many functions are pushed at a time. Default: ${default}."`
	DryRun         bool `help:"Print how many bytes would be sent, and change nothing."`
}

// Help is shown by --help.
func (PushCmd) Help() string {
	return `Pushes the functions, then the Configuration, which depends on them by digest. Uploads only what the registry lacks. If a function cannot be pushed, the tag of the Configuration does not move; run the command again to continue.

For a project with functions, --attest TYPE=DIR names a folder with a file for each package: DIR/demo.json for the Configuration demo, and DIR/demo_hello.json for its function hello. xfn project build writes such folders with --sbom and --provenance.

Examples:

    xfn project push --tag v0.1.0
    xfn project push --tag v0.1.0 --sign-key cosign.key
    xfn project push --tag v0.1.0 --package-file demo.xpkg
    xfn project push --tag v0.1.0 --sign-key cosign.key --attest spdx=sboms
`
}

// Run pushes, and prints the reference of the Configuration.
func (c *PushCmd) Run(ctx context.Context, kctx *kong.Context, term *terminal.Terminal, program terminal.Program, p *project.Project) (err error) {
	if strings.HasPrefix(p.Repository, placeholderRegistry+"/") {
		err := p.At("spec.repository", fmt.Errorf("spec.repository is %q, the placeholder of a new project", p.Repository))
		return hint.Wrap(err, "set it to a repository of your registry, or name one with --repository")
	}
	tag := c.Tag
	if tag == "" {
		tag = fmt.Sprintf("v0.0.0-%d", time.Now().Unix())
		if flags.IsGiven(kctx, "tag") { // The crossplane CLI accepts an empty tag.
			term.Warn(fmt.Sprintf("the value of --tag is empty, so the tag is %s\nhint: leave --tag out, or set the variable that it comes from", tag))
		}
	}
	if err := remote.CheckTag(tag); err != nil {
		return fmt.Errorf("--tag: %w", err)
	}
	ref, err := c.Target(p.Repository + ":" + tag)
	if err != nil {
		return err
	}
	if err := c.CheckRegistry(kctx, ref, fmt.Sprintf("write --repository %s/%s", c.Registry, ref.RepositoryStr())); err != nil {
		return err
	}
	packages.WarnTags(term, "use a version as the tag, as in --tag v0.1.0", ref)
	opts := push.Options{
		Transport: c.PatientClient(program, c.Patience), Services: c.Services().PatientClient(program, c.Patience),
		DryRun: c.DryRun, Prove: true, Progress: progress.Func(term.Progress).Plain(),
	}
	if err := c.SignFlags.Set(ctx, term, &opts); err != nil {
		return err
	}
	file := cmp.Or(c.PackageFile, filepath.Join(p.Root, c.OutputDir, p.Name+".xpkg"))
	set, err := project.Open(ctx, file, p.Repository)
	if err != nil {
		if c.PackageFile == "" && hint.Of(err) == "" {
			err = hint.Wrap(err, "build the project first with xfn project build, or name the file with --package-file")
		}
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	if err := c.attest(set); err != nil {
		return err
	}
	results, err := project.Push(ctx, set, tag, c.MaxConcurrency, opts)
	if err != nil {
		return err
	}
	all := make([]push.CopyResult, len(results))
	for i, r := range results {
		all[i] = push.CopyResult{Result: r}
	}
	return c.print(term, c.Format, fmt.Sprintf("Pushed project %q to %s:%s\n", p.Name, p.Repository, tag), all)
}

func (c *PushCmd) attest(set *project.Set) (err error) {
	set.Attestations = map[string][]push.Attestation{}
	for _, pkg := range set.Packages() {
		if set.Attestations[pkg.Repository], err = c.Attestations(pkg.Name(), len(set.Functions) > 0); err != nil {
			return err
		}
	}
	return nil
}

// pushed is the output of xfn project push and copy with --format json.
type pushed struct {
	Packages []pushedPackage `json:"packages"`
	DryRun   bool            `json:"dryRun,omitempty"`
}

type pushedPackage struct {
	Reference string   `json:"reference"`
	Digest    string   `json:"digest"`
	MediaType string   `json:"mediaType"`
	Platforms []string `json:"platforms,omitempty"`
	Attached  []string `json:"attached,omitempty"`
	Signature string   `json:"signature,omitempty"`
	push.Traffic
}

// print prints the results. As text, it prints done unless DryRun is set.
func (f pushFlags) print(term *terminal.Terminal, format terminal.Format, done string, results []push.CopyResult) error {
	value := pushed{DryRun: f.DryRun}
	for _, r := range results {
		value.Packages = append(value.Packages, pushedPackage{
			Reference: r.References[0], Digest: r.Digest.String(), MediaType: string(r.MediaType), Platforms: r.Platforms,
			Attached: r.Attached, Signature: r.Signature, Traffic: r.Traffic,
		})
	}
	for _, p := range value.Packages {
		text := "%s@%s: sent %s, mounted %s, skipped %s"
		if f.DryRun {
			text = "%s@%s: would send %s, mount %s, skip %s"
		}
		term.Note(fmt.Sprintf(text, p.Reference, p.Digest, terminal.Size(p.Sent), terminal.Size(p.Mounted), terminal.Size(p.Skipped)))
	}
	if f.DryRun {
		done = ""
	}
	return format.Print(term, value, done)
}
