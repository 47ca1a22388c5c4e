package project

import (
	"context"
	"fmt"
	"io"
	"unicode"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
)

// CompositionCmd writes a Composition.
type CompositionCmd struct {
	XRD    string `arg:"" name:"xrd" help:"File with the XRD."`
	Name   string `empty:"" placeholder:"PREFIX" help:"Prefix of the Composition's name."`
	Plural string `empty:"" placeholder:"PLURAL" help:"Plural of the kind, instead of the plural in the XRD."`
	Path   string `empty:"" placeholder:"FILE" meant:"output" help:"File to create in the directory of APIs. Default: PLURAL/composition.yaml."`

	// CacheDir is a flag of the crossplane CLI. Nothing is fetched here.
	CacheDir string `hidden:""`
	fileFlag
}

// Help is shown by --help.
func (CompositionCmd) Help() string {
	return `The pipeline has one step, function-auto-ready, which becomes a dependency of the project. Add the steps of your functions with xfn function generate.

Example:

    xfn composition generate apis/apps/definition.yaml
`
}

// Run writes the Composition.
func (c *CompositionCmd) Run(ctx context.Context, term *terminal.Terminal, p *project.Project) error {
	path, err := generate.Composition(ctx, p, c.XRD, generate.APIOptions{Name: c.Name, Plural: c.Plural, Path: c.Path})
	if err != nil {
		return err
	}
	term.Note("created " + path)
	return nil
}

// XRDCmd writes an XRD.
type XRDCmd struct {
	File    string `arg:"" name:"xr" help:"File with an example of an XR, or with an XR in SimpleSchema; - for stdin."`
	From    string `enum:"xr,simpleschema" default:"xr" placeholder:"FORMAT" help:"Content of the file: xr, an example with values, or simpleschema, types of fields in the syntax of kro. Default: ${default}."`
	Plural  string `empty:"" placeholder:"PLURAL" help:"Plural of the kind."`
	Path    string `empty:"" placeholder:"FILE" meant:"output" help:"File to create in the directory of APIs. Default: PLURAL/definition.yaml."`
	Replace bool   `help:"Replace the file of an existing XRD for the kind, or the file of --path."`
	fileFlag
}

// Help is shown by --help.
func (XRDCmd) Help() string {
	return `The values of the example show the types of the fields. An example with a namespace defines a namespaced kind. In SimpleSchema, a field has a type and markers, and the kind is namespaced:

    apiVersion: example.org/v1
    kind: App
    spec:
      size: string | required=true enum="small,large"
      replicas: integer | default=1 minimum=1
      labels: map[string]string
    status:
      address: string

Examples:

    xfn xrd generate examples/app.yaml
    xfn xrd generate schema.yaml --from simpleschema --replace
`
}

// Run writes the XRD, and prints its file.
func (c *XRDCmd) Run(ctx context.Context, term *terminal.Terminal, p *project.Project) error {
	path, err := generate.XRD(ctx, p, c.File, generate.XRDOptions{Stdin: stdin(term, c.File), Plural: c.Plural, Path: c.Path, SimpleSchema: c.From == "simpleschema", Replace: c.Replace})
	if err != nil {
		return err
	}
	return term.Printf("Created CompositeResourceDefinition (XRD) at %s\n", path)
}

// XRCmd prints an XR.
type XRCmd struct {
	InputFile  string `arg:"" optional:"" default:"-" name:"file" help:"File with an XRD or a claim, or - for stdin. Default: ${default}."`
	OutputFile string `short:"o" empty:"" placeholder:"FILE" help:"Write the XR to a file instead of stdout."`
	Name       string `empty:"" placeholder:"NAME" help:"Name of the XR."`
	Kind       string `empty:"" placeholder:"KIND" help:"Kind of the XR. Default: the kind in the XRD, or the kind of the claim after an X."`
	Direct     bool   `negatable:"" help:"Leave out the reference to the claim, and use its name without a suffix."`
	GenUID     bool   `name:"gen-uid" help:"Set a random UID."`
}

// Help is shown by --help.
func (XRCmd) Help() string {
	return `For an XRD, prints an example with its required fields. For a claim, prints the XR that belongs to it.

Examples:

    xfn xr generate apis/apps/definition.yaml -o examples/app.yaml
    xfn xr generate claim.yaml --direct
`
}

// isXRKind reports whether a kind begins with an X before another upper-case letter, as kinds of XRs
// do by convention.
func isXRKind(kind string) bool {
	return len(kind) > 1 && kind[0] == 'X' && unicode.IsUpper(rune(kind[1]))
}

// definition returns the file and line of the XRD of an XR in the project of the working directory,
// or "".
func definition(ctx context.Context, obj map[string]any) string {
	path, _, err := project.Find("")
	if err != nil {
		return ""
	}
	p, err := project.Read(ctx, path)
	if err != nil {
		return ""
	}
	u := unstructured.Unstructured{Object: obj}
	xrd, err := p.Definition(u.GroupVersionKind().Group, u.GetKind())
	if err != nil || xrd.Text == nil {
		return ""
	}
	return xrd.Position()
}

// Run prints the XR.
func (c *XRCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	obj, doc, err := readObject(ctx, term, c.InputFile)
	if err != nil {
		return err
	}
	o := generate.XROptions{Name: c.Name, Kind: c.Kind, Direct: c.Direct}
	if c.GenUID {
		o.UID = uuid.NewString()
	}
	xr, err := generate.XR(obj, o)
	if err != nil {
		return &manifest.Error{Path: doc.Path, Line: doc.FirstLine(), Err: err}
	}
	kind, _ := obj["kind"].(string)
	defined := definition(ctx, obj)
	if defined != "" {
		defined = ", as " + defined + " defines it"
	}
	if c.Kind == "" && (isXRKind(kind) || defined != "") {
		term.Warn(fmt.Sprintf("%s: expected an XRD or a claim: the kind %s looks like the kind of an XR%s\nhint: if it is a claim, name the kind of its XR with --kind; for the defaults of an XR, run xfn xr patch", doc.PositionOf("kind"), kind, defined))
	}
	return writeOutput(term, c.OutputFile, func(w io.Writer) error { return manifest.Write(w, xr) })
}
