package validate

import (
	"context"
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

// Cmd is xfn validate.
type Cmd struct {
	Extensions string `arg:"" name:"schemas" help:"XRDs, CRDs and MRDs: files, folders, package files and references of packages, separated by commas, or - for stdin. Packages that YAML files name are read, too."`
	Resources  string `arg:"" help:"Files and folders of resources, separated by commas, or - for stdin."`

	Format                string   `enum:"text,json,junit" default:"text" help:"Print ${enum}. Default: ${default}."`
	Old                   []string `sep:"none" placeholder:"PATH" help:"File or folder of the old versions of the resources, for rules about changes. Repeatable."`
	Namespace             string   `short:"n" default:"default" placeholder:"NAME" help:"The namespace of resources that set none, as in kubectl. If it is empty, they must set one. Default: ${default}."`
	SkipSuccessResults    bool     `help:"Print nothing about resources that are valid."`
	ErrorOnMissingSchemas bool     `help:"Fail if there is no schema for a resource."`
	CompositionMode       string   `enum:",warn,loose,strict" default:"" placeholder:"MODE" help:"Which problems of a Composition's patches are errors: warn, none that schemas find; loose, violations of schemas; strict, also missing schemas. Default: the mode in its annotation, or warn."`
	Dependencies          string   `enum:"none,configurations,all" default:"all" help:"Whose dependencies to read, too: ${enum}. Default: ${default}."`
	Offline               bool     `help:"Fetch nothing, and skip packages that files name."`

	// Flags of the crossplane CLI without effect: kinds are built in, and there is no
	// cache, because only a few kilobytes of a package are fetched.
	CacheDir        string `hidden:""`
	CleanCache      bool   `hidden:""`
	UpdateCache     bool   `hidden:""`
	CrossplaneImage string `hidden:""`
	flags.Registries
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Validates resources as an API server with the schemas does: unknown fields, types, formats, defaults, CEL rules, names, labels and namespaces. The kinds of Kubernetes and of Crossplane are built in. Kinds of Kubernetes are validated by their OpenAPI schemas only; the patches of a Composition are validated, too. Nothing is fetched unless a package is named by its reference.

Examples:

    xfn validate definition.yaml xr.yaml
    xfn validate crds/,hello.xpkg,registry.example.org/acme/provider:v1.2.0 .
    xfn render xr.yaml composition.yaml functions.yaml -x |
        xfn validate definition.yaml -
    xfn validate definition.yaml xr.yaml --old cluster.yaml --format junit

Exit codes: 0 all valid, 1 some invalid, 2 used wrongly.
`
}

// Run validates resources and prints the results.
func (c *Cmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	schemas, resources := split(c.Extensions), split(c.Resources)
	if err := flags.CheckStdin(slices.Concat(schemas, resources, c.Old)...); err != nil {
		return &terminal.UsageError{Err: err}
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
	if err := v.Documents(ctx, stream(ctx, reader, resources), out.add); err != nil {
		return fmt.Errorf("validating resources: %w", err)
	}
	if err := out.finish(); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return out.verdict(c.ErrorOnMissingSchemas)
}

// split returns the elements of a list that is separated by commas.
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
