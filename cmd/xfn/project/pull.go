package project

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	packages "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// PullCmd pulls the packages of a project.
type PullCmd struct {
	Configuration string `arg:"" placeholder:"REF" help:"The Configuration: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST."`

	PackageFile string `short:"o" placeholder:"FILE" help:"File to write. Default: the last part of the repository with .xpkg, in the current directory."`

	flags.Patience
	flags.Registries
}

// Help is shown by --help.
func (PullCmd) Help() string {
	return `Pulls the Configuration and its embedded functions into one file, the same file that was pushed. Prints the name of the file.

Example:

    xfn project pull registry.example.org/acme/demo:v0.1.0 -o demo.xpkg
`
}

// Run pulls, and prints the file.
func (c *PullCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	if err := packages.CheckOutput(c.PackageFile); err != nil {
		return err
	}
	ref, err := c.Reference(c.Configuration)
	if err != nil {
		return err
	}
	client := c.PatientClient(program, c.Patience)
	set, err := project.Fetched(ctx, ref, fetch(client))
	if err != nil {
		return err
	}
	file := cmp.Or(c.PackageFile, path.Base(ref.Context().RepositoryStr())+".xpkg")
	if err := set.WriteFile(ctx, file, term.Progress); err != nil {
		return client.Explain(ref, err)
	}
	return term.Printf("Pulled project %s to %s\n", set.Repository, file)
}

func fetch(client *remote.Client) project.Fetch {
	return func(ctx context.Context, ref name.Reference) (xpkg.Artifact, error) {
		return image.Artifact(ctx, ref, image.Options{Remote: client})
	}
}

// CopyCmd copies the packages of a project.
type CopyCmd struct {
	Source      string `arg:"" name:"src" help:"The Configuration to copy: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST."`
	Destination string `arg:"" name:"dst" help:"Where to copy to: REGISTRY/REPOSITORY[:TAG]. Default tag: the tag of SRC."`

	NoSignatures bool `more:"" help:"Leave out signatures, attestations, SBOMs and other attachments of the packages."`

	pushFlags
	flags.Patience
	flags.Registries
	terminal.Format
}

// Help is shown by --help.
func (CopyCmd) Help() string {
	return `Copies the embedded functions, then the Configuration, with the same digests and with the attachments of cosign and other tools. The Configuration still depends on the functions in the repositories that the project was built for, because a change would change its digest. In the cluster, rewrite them with an ImageConfig. If the old registry will be out of reach, build the project for the new repository instead.

Example:

    xfn project copy registry.example.org/acme/demo:v0.1.0 \
        mirror.example.org/acme/demo
`
}

// Run copies, and prints the reference of the Configuration.
func (c *CopyCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) error {
	from, err := c.Reference(c.Source)
	if err != nil {
		return err
	}
	destination := c.Destination
	if tag, ok := from.(name.Tag); ok && !strings.Contains(destination[strings.LastIndex(destination, "/")+1:], ":") {
		destination += ":" + tag.TagStr()
	}
	to, err := c.Target(destination)
	if err != nil {
		return err
	}
	client := c.PatientClient(program, c.Patience)
	set, err := project.Fetched(ctx, from, fetch(client))
	if err != nil {
		return err
	}
	opts := push.CopyOptions{NoSignatures: c.NoSignatures}
	opts.Transport, opts.DryRun, opts.Progress = client, c.DryRun, progress.Func(term.Progress).Plain()
	results, err := project.Copy(ctx, set, from, to, c.MaxConcurrency, opts)
	if err != nil {
		return err
	}
	if set.Repository != to.Context().Name() && len(set.Functions) > 0 {
		term.Note(fmt.Sprintf("the Configuration still depends on the functions in %s_NAME: rewrite this prefix with an ImageConfig in the cluster, or build the project with --repository %s", set.Repository, to.Context().Name()))
	}
	return c.print(term, c.Format, fmt.Sprintf("Copied project %s to %s\n", from.Name(), to.Name()), results)
}
