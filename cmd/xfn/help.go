package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/proc"
)

// helpLines is the maximum number of lines of --help: two screens of 24 lines.
const helpLines = 48

// moreTag marks a flag that only --help-all shows if the complete help is longer than
// helpLines.
const moreTag = "more"

// A helpAll is the flag --help-all. It prints the complete help of the command.
type helpAll bool

// BeforeReset prints the help before kong reports missing arguments.
func (helpAll) BeforeReset(kctx *kong.Context) error {
	if err := kctx.PrintUsage(false); err != nil {
		return err
	}
	kctx.Exit(0)
	return nil
}

// helpOf prints help of so many columns with the name by which the program was called. It
// prints the complete help if it has at most helpLines lines or if --help-all asks for it.
func helpOf(name string, columns int) kong.HelpPrinter {
	return func(options kong.HelpOptions, kctx *kong.Context) error {
		text, err := helpText(options, kctx, columns)
		if err != nil {
			return err
		}
		if !slices.Contains(kctx.Args, "--help-all") && strings.Count(text, "\n") > helpLines {
			node := cmp.Or(kctx.Selected(), kctx.Model.Node)
			hidden := shorten(node)
			if text, err = helpText(options, kctx, columns); err != nil {
				return err
			}
			text += fmt.Sprintf("\nRun \"%s --help-all\" for %s.\n", node.FullPath(), hidden)
		}
		_, err = strings.NewReplacer("xfn ", name+" ").WriteString(kctx.Stdout, text)
		return err
	}
}

func helpText(options kong.HelpOptions, kctx *kong.Context, columns int) (string, error) {
	// kong takes the width from this variable if it does not write to a terminal.
	if err := os.Setenv("COLUMNS", strconv.Itoa(columns)); err != nil {
		return "", err
	}
	var text bytes.Buffer
	out := kctx.Stdout
	defer func() { kctx.Stdout = out }()
	kctx.Stdout = &text
	err := kong.DefaultHelpPrinter(options, kctx)
	return text.String(), err
}

// shorten shortens a command's help. It keeps the examples of the description and the first
// sentence of each argument and flag, and hides the flags with moreTag. It returns what --help-all
// shows in addition.
func shorten(node *kong.Node) string {
	detail := node.Detail
	node.Detail = examples(detail)
	for _, arg := range node.Positional {
		arg.Help = firstSentence(arg.Help)
	}
	hidden := 0
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		f.Help = firstSentence(f.Help)
		if f.Hidden = f.Tag.Has(moreTag); f.Hidden {
			hidden++
		}
	}
	if strings.TrimSpace(detail) == node.Detail {
		return terminal.Count(hidden, "more flag")
	}
	return "the description and " + terminal.Count(hidden, "more flag")
}

// examples returns the paragraphs of a detailed help from "Example" up to the end of
// the indented text, or "" if there is none.
func examples(detail string) string {
	var found []string
	for part := range strings.SplitSeq(strings.TrimSpace(detail), "\n\n") {
		if strings.HasPrefix(part, "Example") || len(found) > 0 && strings.HasPrefix(part, "    ") {
			found = append(found, part)
		} else if len(found) > 0 {
			break
		}
	}
	return strings.Join(found, "\n\n")
}

// sentence matches the end of a sentence that another one follows.
var sentence = proc.Regexp(`\. [A-Z]`)

func firstSentence(text string) string {
	if end := sentence().FindStringIndex(text); end != nil {
		return text[:end[0]+1]
	}
	return text
}
