package xpkg

import (
	"context"
	"errors"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image/inspect"
)

// InspectCmd shows a package.
type InspectCmd struct {
	Package string `arg:"" help:"Package file, or REGISTRY/REPOSITORY:TAG or @DIGEST."`

	terminal.Format
	registryFlags
}

// Help is shown by --help.
func (InspectCmd) Help() string {
	return `Fetches only manifests, configs and the layer with package.yaml from a registry. --format json and yaml print everything, with complete digests, in a stable structure: digest, mediaType, size, annotations, package (apiVersion, kind, name, crossplane, dependsOn, objects, …), images (platform, digest, size, created, labels, layers, …) and notes.

Examples:

    xfn xpkg inspect hello.xpkg
    xfn xpkg inspect registry.example.org/acme/hello:v0.1.0 --format json
`
}

// Run prints the description of the package.
func (c *InspectCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) (err error) {
	d, err := c.describe(ctx, p, c.Package)
	if err != nil {
		return err
	}
	return c.Print(term, d, show(term.Columns, c.Package, d))
}

// describe describes the package at from: a file, or a reference in a registry.
func (f registryFlags) describe(ctx context.Context, p terminal.Program, from string) (d inspect.Description, err error) {
	s, err := f.open(ctx, p, from)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d, err = inspect.Artifact(ctx, s.artifact, inspect.Options{Search: s.local})
	return d, s.explain("inspecting", err)
}
