package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/e2e"
)

const docsDir = "../../docs"

// TestReferenceIsCurrent compares docs/reference with what `xfn docs markdown` writes.
func TestReferenceIsCurrent(t *testing.T) {
	want := pagesBelow(t, filepath.Join(docsDir, "reference"))
	if diff := cmp.Diff(written(t, "markdown"), want); diff != "" {
		t.Errorf("docs/reference is out of date: run `make docs` (-generated +docs/reference):\n%s", diff)
	}
}

// TestMan checks that each command has a manual page, and that no text begins a
// line with a dot, which would be a request of roff.
func TestMan(t *testing.T) {
	request := regexp.MustCompile(`(?m)^\.(?:TH |SH |TP$|PP$|RS 4$|RE$|EX$|EE$|BR )?`)
	pages := written(t, "man")
	for _, name := range []string{"xfn.1", "xfn-render.1", "xfn-xpkg.1", "xfn-xpkg-build.1"} {
		if !strings.HasPrefix(pages[name], ".TH ") || !strings.Contains(pages[name], "\n.SH DESCRIPTION\n") {
			t.Errorf("%s: want a title and a description, got %.100q", name, pages[name])
		}
	}
	for name, text := range pages {
		for _, m := range request.FindAllString(text, -1) {
			if m == "." {
				t.Errorf("%s has a line that begins with a dot", name)
			}
		}
	}
}

// written returns the files that `xfn docs FORMAT` writes.
func written(t *testing.T, format string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	log := e2e.Must(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	defer log.Close()
	if code := run(context.Background(), []string{"xfn", "docs", format, dir}, nil, log, log); code != 0 {
		t.Fatalf("exit code %d, see %s", code, log.Name())
	}
	return pagesBelow(t, dir)
}

// pagesBelow returns the files below a directory.
func pagesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	e2e.NoError(t, err)
	return files
}

// TestShownCommandsParse parses each xfn command in the shell blocks of the
// documentation, so that no page shows a flag that does not exist. Blocks of the
// language console run in internal/e2e.
func TestShownCommandsParse(t *testing.T) {
	if testing.Short() {
		t.Skip("it parses all commands of the documentation")
	}
	pages := pagesBelow(t, docsDir)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "examples/README.md", "examples/alpha/README.md", "examples/platform/README.md", "templates/_go/README.md", "templates/_python/README.md", "templates/_typescript/README.md"} {
		text := []byte(e2e.ReadFile(t, "../../"+name))
		pages["../"+name] = string(text)
	}
	parser, err := kong.New(&app{}, kong.Name("xfn"), kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard),
		kong.BindTo(context.Background(), (*context.Context)(nil)), kong.Bind((*terminal.Terminal)(nil), terminal.Program{}))
	e2e.NoError(t, err)
	found := 0
	for page, text := range pages {
		if strings.HasSuffix(page, ".md") {
			for _, command := range shownCommands(text) {
				found++
				parse(t, parser, page, command)
			}
		}
	}
	if found < 20 {
		t.Errorf("found only %d commands", found)
	}
}

// shownCommands returns the commands of this program in the sh blocks of a
// page. Lines that end with a backslash continue.
func shownCommands(page string) (commands []string) {
	in := false
	for line := range strings.SplitSeq(strings.ReplaceAll(page, "\\\n", " "), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			in = (line == "```sh" || line == "```shell") && !in
		case in && strings.HasPrefix(line, "xfn "):
			command, _, _ := strings.Cut(line, " #")
			commands = append(commands, command)
		}
	}
	return commands
}

func parse(t *testing.T, parser *kong.Kong, page, command string) {
	t.Helper()
	for _, end := range []string{" |", " <", " >", " &"} {
		command, _, _ = strings.Cut(command, end) // Cut redirections and pipes.
	}
	args := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(command))[1:]
	e2e.WantError(t, fmt.Sprintf("%s: %s", page, command), e2e.Err(parser.Parse(args)), "")
	// A new parser is expensive, so this parser is used again. It must forget which flags the
	// previous command had.
	forget := func(v *kong.Value) { v.Set, v.Active = false, false }
	err := kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		switch n := node.(type) {
		case *kong.Application:
			n.Active = false
		case *kong.Node:
			n.Active = false
		case *kong.Flag:
			forget(n.Value)
		case *kong.Value:
			forget(n)
		}
		return next(nil)
	})
	e2e.NoError(t, err)
}
