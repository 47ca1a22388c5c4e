package function

import (
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// SchemaCmd prints the CRD of an input.
type SchemaCmd struct {
	Name string `arg:"" help:"Name of a builtin; the prefix function- is optional."`

	Format string `enum:"yaml,json" default:"yaml" help:"Print ${enum}. Default: ${default}."`
}

// Help is shown by --help.
func (SchemaCmd) Help() string {
	return `The CRD comes from the types into which the builtin decodes its input. It has no rules about several fields.

Examples:

    xfn function schema patch-and-transform
    xfn function schema go-templating | xfn validate - input.yaml
`
}

// Run prints the CRD.
func (c *SchemaCmd) Run(term *terminal.Terminal) error {
	b, err := find(c.Name)
	if err != nil {
		return err
	}
	if c.Format == "json" {
		err = manifest.WriteJSON(term.Stdout, "  ", b.CRD())
	} else {
		err = manifest.Write(term.Stdout, b.CRD())
	}
	return terminal.Wrap(err, "printing the schema")
}
