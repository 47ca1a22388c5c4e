package xpkg

import (
	"cmp"
	"context"
	"path"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image"
)

// PullCmd pulls a package.
type PullCmd struct {
	Package string `arg:"" help:"What to pull: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST."`

	PackageFile string `short:"o" placeholder:"FILE" help:"File to write. Default: the last part of the repository with .xpkg, in the current directory."`

	flags.Patience
	registryFlags
}

// Help is shown by --help.
func (PullCmd) Help() string {
	return `The file is the same as the file that was pushed. Prints its name and digest. The data of an interrupted pull is kept for a day. The next pull of the same package into the same directory resumes from it.

Example:

    xfn xpkg pull registry.example.org/acme/hello:v0.1.0 -o hello.xpkg
`
}

// Run pulls, and prints the file and its digest.
func (c *PullCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	if err := CheckOutput(c.PackageFile); err != nil {
		return err
	}
	ref, err := c.Reference(c.Package)
	if err != nil {
		return err
	}
	file := cmp.Or(c.PackageFile, path.Base(ref.Context().RepositoryStr())+".xpkg")
	artifact, err := image.File(ctx, ref, file, image.Options{Remote: c.PatientClient(p, c.Patience), Progress: term.Progress})
	if err != nil {
		return err
	}
	return printBuilt(term, file, artifact)
}
