package function

import (
	"fmt"
	"maps"

	"github.com/xfn-dev/xfn/cmd/xfn/project"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
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

// builtinFlags configure builtins.
type builtinFlags struct {
	Templates     []string `sep:"none" placeholder:"DIR" help:"Let go-templating read templates below DIR, besides the working directory. Repeatable."`
	BuiltinOption []string `sep:"none" placeholder:"NAME.KEY=VALUE" help:"Set a flag that the real function NAME has, such as auto-ready.ttl=5m. Repeatable."`
	Tag           string   `placeholder:"VERSION" help:"Behave like this version of the real function, such as v0.12.2 or main. Default: the newest release."`
}

// runner returns b with the settings of --builtin-option and, with precedence, those in more.
func (f builtinFlags) runner(b builtin.Builtin, more builtin.Settings, term *terminal.Terminal) (function.Runner, error) {
	settings, err := builtin.ParseSettings(f.BuiltinOption)
	if err != nil {
		return nil, &terminal.UsageError{Err: fmt.Errorf("reading --builtin-option: %w", err)}
	}
	maps.Copy(settings, more)
	r, err := b.Configured(builtin.Options{Templates: f.Templates, Settings: settings, Package: f.pkg(b), Progress: term.Progress})
	if err != nil {
		return nil, &terminal.UsageError{Err: err}
	}
	return r, nil
}

// pkg returns the package of the real function in the version of --tag.
func (f builtinFlags) pkg(b builtin.Builtin) string {
	if f.Tag == "" {
		return b.Name
	}
	return b.Name + ":" + f.Tag
}

// find returns a builtin by its name, with or without the prefix function-.
func find(name string) (builtin.Builtin, error) {
	b, err := builtin.Find(name)
	if err != nil {
		return b, &terminal.UsageError{Err: err}
	}
	return b, nil
}
