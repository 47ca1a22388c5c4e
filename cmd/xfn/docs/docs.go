package docs

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
)

// Cmd groups the commands that write documentation.
type Cmd struct {
	Markdown MarkdownCmd `cmd:"" help:"Write the reference in Markdown into a directory."`
	Man      ManCmd      `cmd:"" help:"Write the manual pages into a directory."`
}

// MarkdownCmd writes the reference.
type MarkdownCmd struct {
	Dir string `arg:"" help:"Directory to write into."`
}

// Run writes the files and prints their names.
func (c *MarkdownCmd) Run(term *terminal.Terminal, k *kong.Kong) error {
	return write(term, c.Dir, Markdown(k.Model))
}

// ManCmd writes manual pages.
type ManCmd struct {
	Dir string `arg:"" help:"Directory to write into."`
}

// Run writes the files and prints their names.
func (c *ManCmd) Run(term *terminal.Terminal, k *kong.Kong) error {
	return write(term, c.Dir, Man(k.Model))
}

// write writes files, each whole or not at all, and prints their names.
func write(term *terminal.Terminal, dir string, files []File) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("creating the directory of %q: %w", path, err)
		}
		if err := fsx.WriteFile(path, 0o644, []byte(f.Text)); err != nil {
			return fmt.Errorf("writing %q: %w", path, err)
		}
		if _, err := fmt.Fprintln(term.Stdout, path); err != nil {
			return fmt.Errorf("printing the name of a file: %w", err)
		}
	}
	return nil
}

// A File is one page.
type File struct {
	// Name is its path in the directory, with slashes.
	Name, Text string
}
