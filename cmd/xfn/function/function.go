package function

import (
	"fmt"
	"strings"

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

// find returns the builtin of that name, of which "function-" may be left out.
func find(name string) (builtin.Builtin, error) {
	var names []string
	for _, b := range builtin.All() {
		if name == b.Name || "function-"+name == b.Name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return builtin.Builtin{}, &terminal.UsageError{Err: fmt.Errorf("there is no builtin %q: the builtins are %s", name, strings.Join(names, ", "))}
}
