package docs

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
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

// The scripts hand the words of the command line up to the cursor to
// CompleteCmd, and complete file names where it has nothing to offer.
var scripts = map[string]string{
	"bash": `_xfn() {
  local IFS=$'\n'
  COMPREPLY=($(%[1]s __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -o bashdefault -F _xfn %[1]s
`,
	"zsh": `#compdef %[1]s
_xfn() {
  local -a found
  found=("${(@f)$(%[1]s __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _xfn %[1]s
`,
	"fish": `function __xfn_complete
  set -l words (commandline -opc) (commandline -ct)
  %[1]s __complete -- $words[2..-1] 2>/dev/null
end
complete -c %[1]s -a '(__xfn_complete)'
`,
}

// Run prints the script.
func (c *CompletionCmd) Run(term *terminal.Terminal, p terminal.Program) error {
	if _, err := fmt.Fprintf(term.Stdout, scripts[c.Shell], p.Name); err != nil {
		return fmt.Errorf("printing the script: %w", err)
	}
	return nil
}

// CompleteCmd prints what the last of the words may become, one a line.
type CompleteCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints the candidates.
func (c *CompleteCmd) Run(term *terminal.Terminal, k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, w := range Candidates(k.Model.Node, words) {
		if _, err := io.WriteString(term.Stdout, w+"\n"); err != nil {
			return fmt.Errorf("printing candidates: %w", err)
		}
	}
	return nil
}

// Candidates returns what the last of words may become, sorted: sub-commands,
// flags, or the values of an enumeration. Words that it does not know are
// passed over, so that a typo does not end completion.
func Candidates(root *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	node, last := root, words[len(words)-1]
	// A flag and the beginning of its value may be one word.
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
			pending = takesValue(flagNamed(node, w), w)
		default:
			if child := childNamed(node, w); child != nil {
				node = child
			} else {
				positionals++
			}
		}
	}
	return matching(offer(node, pending, positionals, last), last)
}

func offer(node *kong.Node, pending *kong.Flag, positionals int, last string) []string {
	if pending != nil {
		return pending.EnumSlice()
	}
	if strings.HasPrefix(last, "-") {
		return flagNames(node)
	}
	var words []string
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

func flagNames(node *kong.Node) []string {
	var names []string
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			names = append(names, "--"+f.Name)
		}
	}
	return names
}

func flagNamed(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// takesValue returns f if the word after it is its value.
func takesValue(f *kong.Flag, word string) *kong.Flag {
	if f == nil || f.IsBool() || strings.Contains(word, "=") {
		return nil
	}
	return f
}

func childNamed(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name || slices.Contains(child.Aliases, name) {
			return child
		}
	}
	return nil
}

func matching(words []string, prefix string) []string {
	var found []string
	for _, w := range words {
		if w != "" && strings.HasPrefix(w, prefix) {
			found = append(found, w)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
