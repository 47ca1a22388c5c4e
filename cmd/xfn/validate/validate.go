package validate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/image/crds"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// Cmd judges resources.
type Cmd struct {
	Extensions string `arg:"" name:"schemas" help:"XRDs, CRDs and MRDs: files, folders, package files and references of packages, with commas between, or - for stdin. YAML that names packages stands for these, too."`
	Resources  string `arg:"" help:"Files and folders of resources, with commas between, or - for stdin."`

	Format                string   `enum:"text,json,junit" default:"text" help:"Print ${enum}. Default: ${default}."`
	Old                   []string `sep:"none" placeholder:"PATH" help:"File or folder of the resources that these replace: rules about a change count, too. Repeatable."`
	Namespace             string   `short:"n" default:"default" placeholder:"NAME" help:"The namespace of resources that name none, as kubectl has it. If it is empty, they must name one. Default: ${default}."`
	SkipSuccessResults    bool     `help:"Print nothing about resources that are valid."`
	ErrorOnMissingSchemas bool     `help:"Fail if there is no schema for a resource."`
	CompositionMode       string   `enum:",warn,loose,strict" default:"" placeholder:"MODE" help:"What of a Composition's patches is an error: warn, nothing that schemas decide; loose, what does not fit one; strict, a missing one, too. Default: what its annotation says, or warn."`
	Dependencies          string   `enum:"none,configurations,all" default:"all" help:"Whose dependencies to read, too: ${enum}. Default: ${default}."`
	Offline               bool     `help:"Fetch nothing: packages that files name are passed over."`

	// What the crossplane CLI has for its cache and its own kinds. Here the kinds
	// are built in, and of a package only a few kilobytes are fetched.
	CacheDir        string `hidden:""`
	CleanCache      bool   `hidden:""`
	UpdateCache     bool   `hidden:""`
	CrossplaneImage string `hidden:""`
	flags.Registries
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Judges resources as an API server would that has the schemas: unknown fields, types, formats, defaults, CEL rules, names, labels and namespaces. The kinds of Kubernetes and of Crossplane are built in. Of the former only the form is judged; of a Composition its patches, too. Nothing is fetched unless a package is named by its reference.

Examples:

    xfn validate definition.yaml xr.yaml
    xfn validate crds/,hello.xpkg,registry.example.org/acme/provider:v1.2.0 .
    xfn render xr.yaml composition.yaml functions.yaml -x |
        xfn validate definition.yaml -
    xfn validate definition.yaml xr.yaml --old cluster.yaml --format junit

Exit codes: 0 nothing is invalid, 1 something is, 2 used wrongly.
`
}

// Run judges, and prints what it found.
func (c *Cmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	schemas, resources := split(c.Extensions), split(c.Resources)
	if slices.Contains(schemas, manifest.Stdin) && slices.Contains(slices.Concat(resources, c.Old), manifest.Stdin) ||
		slices.Contains(resources, manifest.Stdin) && slices.Contains(c.Old, manifest.Stdin) {
		return &terminal.UsageError{Err: errors.New("standard input can only be read once, but - stands for several files")}
	}
	reader := manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin}
	out := newOutput(c.Format, term, c.SkipSuccessResults)
	definitions, err := crds.Collect(ctx, schemas, crds.Options{
		Files: reader, Remote: c.Client(p), Registry: c.Registry, Follow: crds.Follow(c.Dependencies), Offline: c.Offline,
		Progress: term.Progress, Faulty: out.faulty,
	})
	if err != nil {
		return err
	}
	old, err := validate.ReadOld(stream(ctx, reader, c.Old))
	if err != nil {
		return fmt.Errorf("loading the resources to replace: %w", err)
	}
	v := crds.Validator(definitions, validate.Options{Namespace: c.Namespace, Old: old, Composition: check.ForValidation(check.Mode(c.CompositionMode))})
	if err := v.Documents(ctx, stream(ctx, reader, resources), out.take); err != nil {
		return fmt.Errorf("validating resources: %w", err)
	}
	if err := out.finish(); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return out.verdict(c.ErrorOnMissingSchemas)
}

// split returns the parts of a list with commas between.
func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// stream returns the documents of files and folders, one after the other.
func stream(ctx context.Context, r manifest.Reader, paths []string) iter.Seq2[manifest.Document, error] {
	return func(yield func(manifest.Document, error) bool) {
		for _, path := range paths {
			for doc, err := range r.Stream(ctx, path) {
				if !yield(doc, err) {
					return
				}
			}
		}
	}
}
