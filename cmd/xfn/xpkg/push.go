package xpkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// PushCmd pushes package files.
type PushCmd struct {
	Package   string `arg:"" missing:"the reference to push to, REGISTRY/REPOSITORY:TAG" surplus:"as in xfn xpkg push -f hello.xpkg registry.example.org/acme/hello:v0.1.0" help:"Where to push to: REGISTRY/REPOSITORY:TAG. With a second argument, the package file, as with -f."`
	Reference string `arg:"" optional:"" help:"Where to push the file to, if the first argument is a file."`

	PackageFiles  []string `short:"f" sep:"none" empty:"" placeholder:"FILE" help:"Package file. Several files, repeated or separated by commas, are pushed as one index. Default: the only .xpkg in the current directory."`
	OciAnnotation []string `short:"a" sep:"none" empty:"" placeholder:"KEY=VALUE" help:"Annotate each image and the index. Repeatable, or separated by commas. Write \\, for a comma before text that looks like another KEY=."`

	SignFlags `group:"Signature:"`
	targetFlags
}

// Help is shown by --help.
func (PushCmd) Help() string {
	return `Uses the credentials of docker login, podman login and their configuration; --verbose prints which. Pushes a file for several platforms as an index. Uploads only what the registry lacks, and moves the tag last. Prints the reference with the digest.

The signature is stored where cosign stores it, before any tag moves. Signatures by other keys stay. Crossplane's ImageConfig accepts only signatures in a transparency log: see --rekor-url. Without a log, verify with xfn xpkg verify, or with cosign verify --insecure-ignore-tlog.

Examples:

    xfn xpkg push -f hello.xpkg registry.example.org/acme/hello:v0.1.0
    xfn xpkg push -f amd64.xpkg,arm64.xpkg --tag latest \
        registry.example.org/acme/hello:v0.1.0
    xfn xpkg push -f hello.xpkg --sign-key cosign.key \
        registry.example.org/acme/hello:v0.1.0
`
}

// Run pushes, and prints the references with their digest.
func (c *PushCmd) Run(ctx context.Context, kctx *kong.Context, term *terminal.Terminal, p terminal.Program) error {
	if c.Reference != "" {
		if len(c.PackageFiles) > 0 || !isFile(c.Package) {
			next := "give package files with -f, and one reference"
			if isFile(c.Package) {
				next = fmt.Sprintf("for several package files, write -f %s,%s", strings.Join(c.PackageFiles, ","), c.Package)
			}
			return &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("unexpected argument %q", c.Reference), next)}
		}
		c.PackageFiles, c.Package = []string{c.Package}, c.Reference
	}
	if _, err := os.Stat(c.Package); c.Reference == "" && (err == nil || strings.HasSuffix(c.Package, ".xpkg")) && isFile(c.Package) {
		if err == nil {
			if err := checkFile(c.Package); err != nil {
				return err
			}
		}
		err := fmt.Errorf("missing the reference to push the file %q to", c.Package)
		return &terminal.UsageError{Err: hint.Wrap(err, fmt.Sprintf("as in xfn xpkg push %s registry.example.org/acme/hello:v0.1.0", hint.Word(c.Package)))}
	}
	ref, err := c.Target(c.Package)
	if err != nil {
		return err
	}
	if err := c.CheckRegistry(kctx, ref, "leave out --registry, or the registry in the reference"); err != nil {
		return err
	}
	opts, err := c.options(term, p, ref)
	if err != nil {
		return err
	}
	WarnTags(term, pushVersion, append(opts.Tags, ref)...)
	if err := c.SignFlags.Set(ctx, term, &opts); err != nil {
		return err
	}
	if opts.Attestations, err = c.Attestations(path.Base(ref.RepositoryStr()), false); err != nil {
		return err
	}
	annotations, err := flags.ImageAnnotations(c.OciAnnotation)
	if err != nil {
		return err
	}
	paths, err := c.files()
	if err != nil {
		return err
	}
	targets := make([]xpkg.Target, len(paths))
	for i, path := range paths {
		if err := checkFile(path); err != nil {
			return err
		}
		f, err := xpkg.Open(ctx, path)
		if err != nil {
			return explainYAML(path, err)
		}
		defer func() { _ = f.Close() }() // An error of closing a file that was only read does not matter.
		targets[i] = xpkg.Target{Path: path, Artifact: f.Artifact}
		opts.Prove = opts.Prove || f.Unproven
	}
	artifact, err := xpkg.Join(ctx, targets)
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

// files returns the files that the flags name, or the only package file in the current directory.
func (c *PushCmd) files() ([]string, error) {
	if len(c.PackageFiles) > 0 {
		paths := flags.SplitFiles(c.PackageFiles)
		for i, path := range paths {
			if slices.Contains(paths[:i], path) {
				return nil, hint.Wrap(fmt.Errorf("%q is named twice", path), "leave one out")
			}
		}
		return paths, nil
	}
	path, err := onlyPackage("name the package file with -f")
	return []string{path}, err
}

// onlyPackage returns the only package in the current directory.
func onlyPackage(next string) (string, error) {
	paths, err := filepath.Glob("*.xpkg")
	if err != nil {
		return "", fmt.Errorf("looking for a package in the current directory: %w", err)
	}
	switch len(paths) {
	case 0:
		return "", hint.Wrap(errors.New("the current directory has no .xpkg file"), next)
	case 1:
		return paths[0], nil
	default:
		return "", hint.Wrap(fmt.Errorf("the current directory has several packages: %s", strings.Join(paths, ", ")), next)
	}
}
