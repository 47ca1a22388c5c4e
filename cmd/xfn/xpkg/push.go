package xpkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// PushCmd pushes package files.
type PushCmd struct {
	Package string `arg:"" help:"Where to push to: REGISTRY/REPOSITORY:TAG."`

	PackageFiles  []string  `short:"f" sep:"none" placeholder:"FILE" help:"Package file. Several, repeated or with commas between, are pushed as one index. Default: the one .xpkg in the current directory."`
	OciAnnotation []string  `short:"a" sep:"none" placeholder:"KEY=VALUE" help:"Annotate each image and the index. Repeatable, or with commas between. Write a comma before what looks like another KEY= as \\,."`
	SignKey       keySource `placeholder:"FILE" help:"Sign the package with this private key in PEM, a file or env://NAME, as cosign does. The password of an encrypted key is that of COSIGN_PASSWORD."`

	targetFlags
}

// Help is shown by --help.
func (PushCmd) Help() string {
	return `Credentials are those of docker login, podman login and what they are configured with; --verbose says which. A file for several platforms is pushed as an index of them. Only what the registry lacks is sent, and the tag moves last. Prints the reference with the digest that was pushed.

A signature is stored beside the package before any tag moves, as cosign stores it, and those by other keys stay. It is in no transparency log: xfn xpkg verify checks it, and cosign verify with --insecure-ignore-tlog. A check that asks for an entry in such a log refuses it, as that of Crossplane's ImageConfig does.

Examples:

    xfn xpkg push -f hello.xpkg registry.example.org/acme/hello:v0.1.0
    xfn xpkg push -f amd64.xpkg,arm64.xpkg --tag latest \
        registry.example.org/acme/hello:v0.1.0
    xfn xpkg push -f hello.xpkg --sign-key cosign.key \
        registry.example.org/acme/hello:v0.1.0
`
}

// Run pushes, and prints what is now at the tags.
func (c *PushCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	ref, err := remote.ParseTag(c.Package, c.Registry)
	if err != nil {
		return err
	}
	opts, err := c.options(p, ref)
	if err != nil {
		return err
	}
	opts.Progress = progress.Func(term.Progress).Plain()
	if opts.SignKey, err = c.SignKey.signKey(); err != nil {
		return err
	}
	annotations, err := parseAnnotations(c.OciAnnotation)
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
		opts.Prove = opts.Prove || f.Unproven
	}
	artifact, err := xpkg.Join(ctx, named)
	if err != nil {
		return err
	}
	if artifact, err = xpkg.Annotate(artifact, annotations); err != nil {
		return err
	}
	start := time.Now()
	res, err := push.Artifact(ctx, ref, artifact, opts)
	if err != nil {
		return fmt.Errorf("pushing %s: %w", strings.Join(paths, ", "), err)
	}
	return c.print(term, push.CopyResult{Result: res}, time.Since(start))
}

// files returns the files that were named, or the only one there is.
func (c *PushCmd) files() ([]string, error) {
	if len(c.PackageFiles) > 0 {
		var paths []string
		for _, flag := range c.PackageFiles {
			paths = append(paths, splitFiles(flag)...)
		}
		return paths, nil
	}
	path, err := onlyPackage("name the package file with -f")
	return []string{path}, err
}

// onlyPackage returns the only package in the current directory. Hint next says
// how to name one.
func onlyPackage(next string) (string, error) {
	paths, err := filepath.Glob("*.xpkg")
	if err != nil {
		return "", fmt.Errorf("looking for a package in the current directory: %w", err)
	}
	switch len(paths) {
	case 0:
		return "", hint.Wrap(errors.New("looking for a package in the current directory: it has no .xpkg file"), next)
	case 1:
		return paths[0], nil
	default:
		return "", hint.Wrap(fmt.Errorf("looking for a package in the current directory: it has several: %s", strings.Join(paths, ", ")), next)
	}
}

// splitFiles reads a list with commas between, unless there is a file of that
// name.
func splitFiles(flag string) []string {
	if _, err := os.Stat(flag); err == nil {
		return []string{flag}
	}
	paths := strings.Split(flag, ",")
	for i, p := range paths {
		paths[i] = strings.TrimSpace(p)
	}
	return paths
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
