package docs

import (
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
)

// CompletionCmd prints a completion script.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"${enum}"`
}

// Help is shown by --help.
func (CompletionCmd) Help() string {
	return `Examples:

    source <(xfn completion bash)
    xfn completion fish > ~/.config/fish/completions/xfn.fish
`
}

// scripts are the completion scripts of shells, in which %[1]s is the name of the program. They pass the
// words of the command line up to the cursor to CompleteCmd. If it prints nothing, they complete file names.
//
//go:embed completion.bash completion.zsh completion.fish
var scripts embed.FS

// Run prints the script.
func (c *CompletionCmd) Run(term *terminal.Terminal, p terminal.Program) error {
	script, err := scripts.ReadFile("completion." + c.Shell)
	if err != nil {
		return err
	}
	return term.Printf(string(script), p.Name)
}

// CompletionsCmd prints the completion script of the login shell, as crossplane completions does.
type CompletionsCmd struct {
	Shell string `arg:"" optional:"" env:"SHELL"`
}

// Run prints the script.
func (c *CompletionsCmd) Run(term *terminal.Terminal, p terminal.Program) error {
	shell := filepath.Base(c.Shell)
	if !slices.Contains([]string{"bash", "zsh", "fish"}, shell) {
		return &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("expected the shell bash, zsh or fish, got %q", c.Shell), "name the shell, as in xfn completions bash")}
	}
	return (&CompletionCmd{Shell: shell}).Run(term, p)
}

// CompleteCmd prints the completions of the last word, one a line.
type CompleteCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints the candidates.
func (c *CompleteCmd) Run(term *terminal.Terminal, k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	return term.Printf("%s", terminal.Lines(Candidates(k.Model.Node, words)...))
}

// Candidates returns the completions of the last of words, sorted: sub-commands, flags,
// or the values of an enumeration. It ignores unknown words.
func Candidates(root *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	node, last := root, words[len(words)-1]
	// Complete the value in --flag=VALUE like that in --flag VALUE.
	if flag, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(flag, "--") {
		words, last = append(words[:len(words)-1:len(words)-1], flag, value), value
	}
	var positionals int
	var pending *kong.Flag
	for _, w := range words[:len(words)-1] {
		switch {
		case pending != nil:
			pending = nil
		case strings.HasPrefix(w, "-") && w != "-":
			pending = flagNamed(node, w)
			if pending != nil && (pending.IsBool() || strings.Contains(w, "=")) {
				pending = nil // The value of flag w is not the next word: w is a boolean, or contains "=".
			}
		default:
			if child := childNamed(node, w); child != nil {
				node = child
			} else {
				positionals++
			}
		}
	}
	found := slices.DeleteFunc(offer(node, pending, positionals, last), func(w string) bool { return w == "" || !strings.HasPrefix(w, last) })
	slices.Sort(found)
	return slices.Compact(found)
}

// offer returns the candidates for the last word, including those that do not
// begin with it.
func offer(node *kong.Node, pending *kong.Flag, positionals int, last string) []string {
	if pending != nil {
		return pending.EnumSlice()
	}
	var words []string
	if strings.HasPrefix(last, "-") {
		for _, f := range slices.Concat(node.AllFlags(true)...) {
			words = append(words, "--"+f.Name)
		}
		return words
	}
	for _, child := range node.Children {
		if !child.Hidden {
			words = append(words, child.Name)
		}
	}
	if positionals < len(node.Positional) {
		words = append(words, node.Positional[positionals].EnumSlice()...)
	}
	return words
}

func flagNamed(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for _, f := range slices.Concat(node.AllFlags(false)...) {
		if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

func childNamed(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name || slices.Contains(child.Aliases, name) {
			return child
		}
	}
	return nil
}
