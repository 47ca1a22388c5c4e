package cache

import (
	"io"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
)

// Cmd is the group.
type Cmd struct {
	Info  InfoCmd  `cmd:"" help:"Show what is in the cache."`
	Prune PruneCmd `cmd:"" help:"Remove from the cache what is not needed."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Functions that were pulled are in the cache, so that the next render needs no network.

Example:

    xfn cache prune --older-than 30d
`
}

// A format is how results are printed.
type format struct{ terminal.Format }

// print prints a value for a machine, or by text for people.
func (f format) print(w io.Writer, value any, text func(io.Writer) error) error {
	return f.Print(w, value, text)
}
