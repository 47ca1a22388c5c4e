package function

import (
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
)

// Cmd is the group.
type Cmd struct {
	List  ListCmd  `cmd:"" help:"List the functions that live in this binary."`
	Serve ServeCmd `cmd:"" help:"Serve one of them over gRPC, as a function of its own."`
	Call  CallCmd  `cmd:"" help:"Send one request to a function, and print its response."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Example:

    xfn function call auto-ready -f request.yaml
`
}

// builtinFlags are for functions that live in this binary.
type builtinFlags struct {
	Templates []string `sep:"none" placeholder:"DIR" help:"Let go-templating read templates below DIR, besides the working directory. Repeatable."`
}

func (f builtinFlags) runner(b builtin.Builtin, term *terminal.Terminal) function.Runner {
	return b.New(builtin.Options{Templates: f.Templates, Progress: term.Progress})
}

// find returns a builtin by what people call it.
func find(name string) (builtin.Builtin, error) {
	b, err := builtin.Find(name)
	if err != nil {
		return b, &terminal.UsageError{Err: err}
	}
	return b, nil
}
