package function

import (
	"github.com/xfn-dev/xfn/cmd/xfn/project"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
)

// Cmd is the command group xfn function.
type Cmd struct {
	List   ListCmd   `cmd:"" help:"List the builtin functions."`
	Schema SchemaCmd `cmd:"" help:"Print the CRD of a builtin's input."`
	Serve  ServeCmd  `cmd:"" help:"Serve a builtin over gRPC."`
	Call   CallCmd   `cmd:"" help:"Send one request to a function, and print its response."`

	Generate project.FunctionCmd `cmd:"" help:"Write the source of a function in a project."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Example:

    xfn function call auto-ready -f request.yaml
`
}

type builtinFlags struct {
	Templates []gotemplating.Folder `sep:"none" placeholder:"[PATH=]DIR" help:"Let go-templating read templates below DIR, as if at the absolute PATH. Repeatable."`
}

func (f builtinFlags) options(term *terminal.Terminal) builtin.Options {
	return builtin.Options{GoTemplating: gotemplating.Options{Templates: f.Templates}, Progress: term.Progress}
}

// find returns a builtin by its name, with or without the prefix function-.
func find(name string) (builtin.Builtin, error) {
	b, err := builtin.Find(name)
	return b, terminal.Usage(err)
}
