package docs

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
)

type command struct {
	// Path is the command as typed: "xfn xpkg build".
	Path, Help, Usage string
	Detail            []block
	Args              []entry
	Groups            []group
	Children          []command
}

// A group is a heading and its flags. The title of the first one is empty.
type group struct {
	Title string
	Flags []entry
}

// An entry is a term, such as a flag or an argument, and its meaning.
type entry struct{ Term, Text string }

// A block is a paragraph of a help text, or an example if Code is set.
type block struct {
	Code bool
	Text string
}

const program = "xfn"

// commandOf returns a command and its sub-commands, without hidden ones.
func commandOf(node *kong.Node) command {
	c := command{
		Path: strings.TrimSpace(program + " " + node.Path()), Help: node.Help,
		Usage: program + " " + node.Summary(), Detail: blocks(node.Detail),
	}
	if node.Type == kong.ApplicationNode {
		c.Path, c.Usage = program, program+" <command> [flags]"
		c.Help, c.Detail = "", blocks(node.Help)
	}
	for _, arg := range node.Positional {
		c.Args = append(c.Args, entry{arg.Summary(), arg.Help})
	}
	for _, f := range node.Flags {
		if !f.Hidden && f.Name != "help" {
			c.add(f)
		}
	}
	for _, child := range node.Children {
		if !child.Hidden {
			c.Children = append(c.Children, commandOf(child))
		}
	}
	return c
}

func (c *command) add(f *kong.Flag) {
	title := ""
	if f.Group != nil {
		title = strings.TrimSuffix(f.Group.Title, ":")
	}
	for i := range c.Groups {
		if c.Groups[i].Title == title {
			c.Groups[i].Flags = append(c.Groups[i].Flags, flagEntry(f))
			return
		}
	}
	c.Groups = append(c.Groups, group{title, []entry{flagEntry(f)}})
}

// flagEntry returns the name and placeholder of a flag, and its help. It appends the
// values, the default and the environment variables that the help does not name.
func flagEntry(f *kong.Flag) entry {
	name := "--" + f.Name
	if f.Tag.Negatable != "" {
		name = "--[no-]" + f.Name
	}
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", " + name
	}
	placeholder := strings.Trim(f.FormatPlaceHolder(), `"`)
	if f.HasDefault && placeholder == f.Default {
		placeholder = strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
	}
	if !f.IsBool() && !f.IsCounter() {
		name += "=" + placeholder
	}
	text := []string{strings.TrimSuffix(f.Help, ".") + "."}
	if f.Enum != "" && slices.ContainsFunc(f.EnumSlice(), func(v string) bool { return !strings.Contains(f.Help, v) }) {
		text = append(text, "One of `"+strings.Join(f.EnumSlice(), "`, `")+"`.")
	}
	if f.HasDefault && !f.IsBool() && f.Default != "" && !strings.Contains(f.Help, "Default") {
		text = append(text, "Default: `"+f.Default+"`.")
	}
	if f.Required {
		text = append(text, "Required.")
	}
	if len(f.Envs) > 0 {
		text = append(text, "Environment variable: `"+strings.Join(f.Envs, "`, `")+"`.")
	}
	return entry{name, strings.Join(text, " ")}
}

// blocks splits a help text: indented lines are examples, and empty lines
// separate paragraphs.
func blocks(text string) (all []block) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		code := strings.HasPrefix(part, "    ")
		if code {
			part = strings.ReplaceAll("\n"+part, "\n    ", "\n")[1:]
		}
		switch last := len(all) - 1; {
		case part == "":
		case code && last >= 0 && all[last].Code:
			all[last].Text += "\n\n" + part
		default:
			all = append(all, block{code, part})
		}
	}
	return all
}

// Cmd is xfn docs.
type Cmd struct {
	Format string `arg:"" enum:"markdown,man" help:"What to write: the reference in Markdown, or the manual pages."`
	Dir    string `arg:"" help:"Directory to write to."`
}

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
	files := pages(commandOf(k.Model.Node))
	if c.Format == "markdown" {
		text, err := crossplanePage(k.Model.Node)
		if err != nil {
			return err
		}
		files = append(files, file{"crossplane-cli.md", text})
	}
	for _, f := range files {
		if err := term.WriteNamed(filepath.Join(c.Dir, filepath.FromSlash(f.name)), []byte(f.text)); err != nil {
			return err
		}
	}
	return nil
}
