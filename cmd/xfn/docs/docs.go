package docs

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
)

// Cmd is xfn docs.
type Cmd struct {
	Format string `arg:"" enum:"markdown,man" help:"What to write: the reference in Markdown, or the manual pages."`
	Dir    string `arg:"" help:"Directory to write to."`
}

// A file is one page.
type file struct {
	// name is the path in the directory, with slashes.
	name, text string
}

// Run writes the pages and prints their paths.
func (c *Cmd) Run(term *terminal.Terminal, k *kong.Kong) error {
	pages := markdownPages
	if c.Format == "man" {
		pages = manPages
	}
	for _, f := range pages(commandOf(k.Model.Node)) {
		path := filepath.Join(c.Dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("creating the directory of %q: %w", path, err)
		}
		if err := fsx.WriteFile(path, 0o644, []byte(f.text)); err != nil {
			return fmt.Errorf("writing %q: %w", path, err)
		}
		if _, err := fmt.Fprintln(term.Stdout, path); err != nil {
			return fmt.Errorf("printing a path: %w", err)
		}
	}
	return nil
}
