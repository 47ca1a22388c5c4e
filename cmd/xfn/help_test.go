package main

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestHelpFitsTwoScreens checks --help and --help-all of every command.
func TestHelpFitsTwoScreens(t *testing.T) {
	parser := e2e.Must(kong.New(&app{}, kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration))))(t)
	checkHelp(t, parser.Model.Node)
}

func checkHelp(t *testing.T, node *kong.Node) {
	t.Helper()
	command := strings.Fields(node.Path())
	short, all := helpTextOf(t, append(command, "--help")), helpTextOf(t, append(command, "--help-all"))
	if n := strings.Count(short, "\n"); n > 2*24 {
		t.Errorf("xfn %s --help has %d lines, want at most two screens of 24", node.Path(), n)
	}
	for line := range strings.SplitSeq(short+all, "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("the help of xfn %s has a line of more than 80 columns: %s", node.Path(), line)
		}
	}
	for _, f := range node.Flags {
		if !f.Hidden && !strings.Contains(all, "--"+f.Name) && f.Tag.Negatable == "" {
			t.Errorf("xfn %s --help-all does not show --%s", node.Path(), f.Name)
		}
	}
	for _, child := range node.Children {
		if !child.Hidden {
			checkHelp(t, child)
		}
	}
}

// helpTextOf returns what the program prints to a file.
func helpTextOf(t *testing.T, args []string) string {
	t.Helper()
	out := e2e.Must(os.Create(filepath.Join(t.TempDir(), "help")))(t)
	defer out.Close()
	if code := run(context.Background(), append([]string{"xfn"}, args...), nil, out, out); code != 0 {
		t.Fatalf("xfn %s: exit code %d", strings.Join(args, " "), code)
	}
	text := e2e.ReadFile(t, out.Name())
	return text
}

// TestMisspelledCommands checks that the error names every command if its last letter is written twice.
func TestMisspelledCommands(t *testing.T) {
	parser := e2e.Must(kong.New(&app{}, kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration))))(t)
	checkSuggestions(t, parser.Model.Node)
}

func checkSuggestions(t *testing.T, group *kong.Node) {
	t.Helper()
	for _, command := range group.Children {
		checkSuggestions(t, command)
		written := command.Name + command.Name[len(command.Name)-1:]
		text := output(t, append(append([]string{"xfn"}, strings.Fields(group.Path())...), written))
		suggested := strings.Contains(strings.ReplaceAll(text, written, ""), command.Name)
		if !command.Hidden && (!suggested || !strings.HasPrefix(text, `xfn: error: unknown command "`+written+`"`)) {
			t.Errorf("xfn %s %s: got no suggestion of %s:\n%s", group.Path(), written, command.Name, text)
		}
	}
}
