package xpkg

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// PushCmd pushes package files.
type PushCmd struct {
	Package string `arg:"" help:"Where to push to: REGISTRY/REPOSITORY:TAG."`

	PackageFiles []string `short:"f" placeholder:"FILE" help:"Package file. Several, repeated or with commas between, are pushed as one index. Default: the one .xpkg in the current directory."`
	registryFlags
}

// Help is shown by --help.
func (PushCmd) Help() string {
	return `Credentials are those of docker login. A file for several platforms is pushed as an index of them. Prints the reference with the digest that was pushed.

Example:

    xfn xpkg push -f hello.xpkg registry.example.org/acme/hello:v0.1.0
`
}

// Run pushes, and prints what is now at the tag.
func (c *PushCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	ref, err := remote.ParseTag(c.Package, c.Registry)
	if err != nil {
		return err
	}
	paths, err := c.files()
	if err != nil {
		return err
	}
	files, err := open(ctx, paths)
	defer func() { closeAll(files) }()
	if err != nil {
		return err
	}
	named := make([]xpkg.Named, len(files))
	for i, f := range files {
		named[i] = xpkg.Named{Name: paths[i], Artifact: f.Artifact}
	}
	artifact, err := xpkg.Join(ctx, named)
	if err != nil {
		return err
	}
	res, err := push.Artifact(ctx, ref, artifact, push.Options{Remote: c.client(p), Progress: term.Progress})
	if err != nil {
		return fmt.Errorf("pushing %s: %w", strings.Join(paths, ", "), err)
	}
	if _, err := fmt.Fprintf(term.Stdout, "%s@%s\n", res.Reference, res.Digest); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}

// files returns the files that were named, or the only package in the current
// directory.
func (c *PushCmd) files() ([]string, error) {
	if len(c.PackageFiles) > 0 {
		paths := make([]string, len(c.PackageFiles))
		for i, p := range c.PackageFiles {
			paths[i] = strings.TrimSpace(p)
		}
		return paths, nil
	}
	paths, err := filepath.Glob("*.xpkg")
	if err != nil {
		return nil, fmt.Errorf("looking for a package in the current directory: %w", err)
	}
	const next = "name the package file with -f"
	switch len(paths) {
	case 0:
		return nil, hint.Wrap(errors.New("looking for a package in the current directory: it has no .xpkg file"), next)
	case 1:
		return paths, nil
	default:
		return nil, hint.Wrap(fmt.Errorf("looking for a package in the current directory: it has several: %s", strings.Join(paths, ", ")), next)
	}
}

func open(ctx context.Context, paths []string) ([]*xpkg.File, error) {
	var files []*xpkg.File
	for _, path := range paths {
		f, err := xpkg.Open(ctx, path)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// closeAll closes files that were only read, of which no error matters.
func closeAll(files []*xpkg.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
