package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
)

// versionFlag stands for the command version if it is the first argument.
const versionFlag = "--version"

// arguments returns the arguments in the form that the grammar has: no arguments are
// --help, "help COMMAND" is "COMMAND --help", and --version is the command version.
func arguments(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(args[1:len(args):len(args)], "--help")
	case args[0] == versionFlag:
		return append([]string{"version"}, args[1:]...)
	default:
		return args
	}
}

// explain returns the usage error for arguments that the parser does not accept, with
// the next action as its hint.
func explain(parser *kong.Kong, args []string, err error) error {
	var node *kong.Node
	if pe, ok := errors.AsType[*kong.ParseError](err); ok && pe.Context != nil {
		node = pe.Context.Selected()
		if empty := emptyWord(pe.Context); empty != nil {
			return &terminal.UsageError{Err: empty}
		}
	}
	surplus := strings.HasPrefix(err.Error(), unexpected)
	next := hint.Of(err)
	err = nearestFirst(err)
	if node != nil && node.Tag.Default != "" && !slices.Contains(args, node.Name) {
		node = node.Parent // The user has named only the group.
	}
	switch {
	case surplus && elsewhere[strings.TrimPrefix(err.Error(), unexpected)] != "":
		next = elsewhere[strings.TrimPrefix(err.Error(), unexpected)]
	case node == nil && strings.HasPrefix(err.Error(), unknownFlag):
		next, err = explainFlag(parser.Model.Node, err)
		if slices.ContainsFunc(args, func(a string) bool {
			return a == "-V" || strings.HasPrefix(a, "-") && hint.Nearest(a, []string{versionFlag}) != ""
		}) {
			next = hint.Meant("", versionFlag) // The grammar does not have it.
		}
	case node == nil:
		if other := misplaced(parser.Model.Node, args, err.Error()); surplus && other != nil {
			err, next = other, hint.Of(other)
		}
		next = cmp.Or(next, hint.Hint("see "+parser.Model.Name+" --help"))
	case strings.HasPrefix(err.Error(), unknownFlag+"-="):
		next, err = explainEquals(args)
	case strings.HasPrefix(err.Error(), unknownFlag):
		next, err = explainFlag(node, err)
	case strings.HasPrefix(err.Error(), "--") && strings.Contains(err.Error(), `expected "<key>=<value>"`):
		next = flagHint(node, err.Error())
	case strings.HasPrefix(err.Error(), "--") && strings.Contains(err.Error(), " must be one of "):
		next = valueHint(node, err.Error())
		err = errors.New(strings.Replace(err.Error(), ` one of "",`, " one of ", 1)) // "" only means that the flag is not given.
	case strings.HasPrefix(err.Error(), "--") && strings.Contains(err.Error(), ": expected a float"):
		next = flagHint(node, err.Error())
		if name, value, _ := strings.Cut(err.Error(), `: expected a float but got "`); strings.Contains(value, `%" (`) {
			value, _, _ = strings.Cut(value, "%")
			next = hint.Hint("write " + name + " " + value)
		}
	case surplus && valueOfFlag(node, args, err.Error()) != "":
		next = valueOfFlag(node, args, err.Error())
	case strings.HasPrefix(err.Error(), "--") && strings.Contains(err.Error(), "(short flag); perhaps try "):
		next, err = explainDash(node, err.Error())
	case strings.HasPrefix(err.Error(), "--") && strings.HasSuffix(err.Error(), `but got "EOL" (<EOL>)`):
		next = flagHint(node, err.Error())
		name, _, _ := strings.Cut(err.Error(), ":")
		err = errors.New(name + " needs a value")
	case (surplus || strings.HasPrefix(err.Error(), `expected "<`) || strings.HasPrefix(err.Error(), "missing flags")) && len(node.Children) == 0:
		next = hint.Hint("the usage is " + parser.Model.Name + " " + node.Summary())
		if missing, err2 := strconv.Unquote(strings.TrimPrefix(err.Error(), "expected ")); err2 == nil {
			for _, arg := range node.Positional {
				if instead := arg.Tag.Get("missing"); instead != "" && missing == "<"+arg.Name+">" {
					missing = instead
				}
			}
			err = errors.New("missing " + missing)
		}
		next += surplusHint(node, strings.TrimPrefix(err.Error(), unexpected))
	case surplus && next == "" && otherCommand(node, err.Error()) != "":
		next = otherCommand(node, err.Error())
	case surplus && next == "" && len(node.Children) > 0 && len(node.Children) <= 3:
		next = "the commands are " + hint.Hint(strings.Join(childPaths(node), ", "))
	default:
		next = cmp.Or(next, hint.Hint("see "+node.FullPath()+" --help"))
	}
	if word, isWord := strings.CutPrefix(err.Error(), unexpected); isWord && (node == nil || len(node.Children) > 0) {
		name, near, _ := strings.Cut(word, ",")
		err = errors.New(strings.TrimSuffix(fmt.Sprintf("unknown command %q,%s", name, near), ","))
	}
	return &terminal.UsageError{Err: hint.Wrap(err, next)}
}

// controlPlane is the hint for commands that change a cluster.
const controlPlane hint.Hint = "xfn manages no control plane: use the crossplane CLI"

// elsewhere are hints for commands of the crossplane CLI that this program does not have.
var elsewhere = map[string]hint.Hint{
	"cluster": controlPlane, "config": controlPlane, "install": controlPlane, "top": controlPlane, "trace": controlPlane, "update": controlPlane,
	"batch": "use the crossplane CLI, whose xpkg batch builds families of providers",
	"login": "log in with: docker login HOST", "logout": "log out with: docker logout HOST",
}

// nearestFirst returns an error of the parser with its suggestions in the order of their
// similarity to the wrong name, at most three.
func nearestFirst(err error) error {
	const several = ", did you mean one of "
	wrong, list, ok := strings.Cut(err.Error(), several)
	if !ok {
		return err
	}
	wrong = wrong[strings.LastIndex(wrong, " ")+1:]
	names := strings.Split(strings.TrimSuffix(list, "?"), ", ")
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(hint.EditDistance(strings.Trim(a, `"`), wrong), hint.EditDistance(strings.Trim(b, `"`), wrong))
	})
	before, _, _ := strings.Cut(err.Error(), several)
	return errors.New(before + several + strings.Join(names[:min(len(names), 3)], ", ") + "?")
}

// surplusHint returns what a command knows about an unexpected argument, or else the tags "surplus"
// of its arguments and flags, which say what to write instead of missing and unexpected arguments.
func surplusHint(node *kong.Node, arg string) (next hint.Hint) {
	if instead := insteadBy(node, arg); instead != "" {
		return "; " + instead
	}
	values := slices.Clone(node.Positional)
	for _, f := range node.Flags {
		values = append(values, f.Value)
	}
	for _, v := range values {
		if more := v.Tag.Get("surplus"); more != "" {
			next += hint.Hint("; " + more)
		}
	}
	return next
}

// unexpected is the beginning of the parser's error about an argument that no command has.
const unexpected = "unexpected argument "

// unknownFlag is the beginning of the parser's error about a flag that a command does not have.
const unknownFlag = "unknown flag "

// explainEquals returns the hint and the error for a flag of one letter with a value after =.
func explainEquals(args []string) (hint.Hint, error) {
	i := slices.IndexFunc(args, func(arg string) bool {
		return len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "=")
	})
	if i < 0 {
		i = len(args) - 1
	}
	name, value, _ := strings.Cut(args[i], "=")
	next := fmt.Sprintf("write %s without a value if it is a switch, and otherwise %[1]s %s", name, value)
	return hint.Hint(next), fmt.Errorf("%s: a flag of one letter has no value after =", args[i])
}

// explainFlag returns the hint of the parser's error about an unknown flag, and the error. The parser suggests
// flags by their spelling only: these are the flags with the same words, such as --sign-key for
// --key.
func explainFlag(node *kong.Node, err error) (hint.Hint, error) {
	name, suggested, _ := strings.Cut(strings.TrimPrefix(err.Error(), unknownFlag), ",")
	word, isLong := strings.CutPrefix(name, "--")
	if f := flagOf(node, "-"+word); isLong && f != nil {
		return hint.Meant("", "-"+word), errors.New(unknownFlag + name)
	}
	see := hint.Hint("see " + node.FullPath() + " --help")
	if next := meantBy(node, word); isLong && next != "" {
		return next, errors.New(unknownFlag + name)
	}
	if isLong && suggested != "" {
		return see, err
	}
	err = errors.New(unknownFlag + name) // One letter is similar to any other.
	if slices.Contains([]string{"-o", "--out", "--output", "--output-file"}, name) && node.Leaf() {
		return outputHint(node), err
	}
	var shown, more []string
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		switch {
		case !isLong || !sameWords(f.Name, word), strings.HasPrefix(f.Name, "insecure-") && !strings.HasPrefix(word, "insecure"):
		case f.Tag.Has(moreTag):
			more = append(more, formOf(f))
		default:
			shown = append(shown, formOf(f))
		}
	}
	if len(shown) == 0 {
		shown = more
	}
	if len(shown) == 0 {
		return see, err
	}
	return hint.Hint("did you mean " + strings.Join(shown, " or ") + "?"), err
}

// explainDash explains kong's error for a flag with a value that begins with a dash, such as
// `--tag: … (short flag); perhaps try --tag="-x"?`.
func explainDash(node *kong.Node, text string) (hint.Hint, error) {
	name, _, _ := strings.Cut(text, ": ")
	_, form, _ := strings.Cut(text, "; perhaps try ")
	form = strings.TrimSuffix(form, "?")
	_, value, _ := strings.Cut(form, "=")
	next := flagHint(node, name+":") + "; for a value that begins with -: " + hint.Hint(form)
	return next, fmt.Errorf("%s needs a value, got %s", name, strings.Trim(value, `"`))
}

// An insteadOf is a command with hints for flags and arguments that it does not have. InsteadOf
// returns "" for words without a hint.
type insteadOf interface{ InsteadOf(word string) string }

// insteadBy returns the hint that a command's InsteadOf has for a word, or "".
func insteadBy(node *kong.Node, word string) hint.Hint {
	if node.Target.CanAddr() {
		if c, ok := node.Target.Addr().Interface().(insteadOf); ok {
			return hint.Hint(c.InsteadOf(word))
		}
	}
	return ""
}

// meantBy returns the hint for an unknown flag that a command explains, or that has another name
// in the tag "meant" of a flag.
func meantBy(node *kong.Node, word string) hint.Hint {
	if instead := insteadBy(node, word); instead != "" {
		return instead
	}
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		if slices.Contains(strings.Split(f.Tag.Get("meant"), ","), word) {
			return hint.Hint("did you mean " + formOf(f) + "?")
		}
	}
	if slices.ContainsFunc(node.Positional, func(arg *kong.Positional) bool { return arg.Name == word }) {
		program, _, _ := strings.Cut(node.FullPath(), " ")
		return hint.Hint("the " + word + " is an argument: the usage is " + program + " " + node.Summary())
	}
	return ""
}

func formOf(f *kong.Flag) string {
	if f.IsBool() {
		return "--" + f.Name
	}
	return "--" + f.Name + " " + strings.Trim(strings.TrimSuffix(f.FormatPlaceHolder(), ";..."), `"`)
}

// outputHint returns the hint for a flag that a command does not have, and that would name the
// file or the format of its output. Commands that write files explain the flag "output".
func outputHint(node *kong.Node) hint.Hint {
	if next := meantBy(node, "output"); next != "" {
		return next
	}
	next := "the result goes to standard output: write > FILE at the end of the command"
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		last := f.Name[strings.LastIndex(f.Name, "-")+1:]
		switch {
		case f.Short == 'o' && slices.Contains([]string{"output", "file", "dir"}, last):
			return hint.Hint("did you mean " + formOf(f) + "?")
		case f.Name == "format":
			next += ", and name its format with --format, as in --format json"
		}
	}
	return hint.Hint(next)
}

// sameWords reports whether one name has all words of the other, or whether the other begins with
// similar words.
func sameWords(a, b string) bool {
	words, others := strings.Split(a, "-"), strings.Split(b, "-")
	if len(words) > len(others) {
		words, others = others, words
	}
	if (len(words) > 1 || len(words[0]) > 5) && hint.Nearest(strings.Join(words, "-"), []string{strings.Join(others[:len(words)], "-")}) != "" {
		return true
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(others, w) })
}

func childPaths(group *kong.Node) []string {
	var paths []string
	for _, c := range group.Children {
		paths = append(paths, group.FullPath()+" "+c.Name)
	}
	return paths
}

// flagHint returns a hint that shows the form of the flag at the start of an error.
func flagHint(node *kong.Node, text string) hint.Hint {
	name, _, _ := strings.Cut(text, ":")
	if f := flagOf(node, name); f != nil {
		return hint.Hint("write " + formOf(f))
	}
	return hint.Hint("see " + node.FullPath() + " --help")
}

// flagOf returns the flag of a command with a name such as --output or -o, or nil.
func flagOf(node *kong.Node, name string) *kong.Flag {
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
			return f
		}
	}
	return nil
}

// valueHint returns the tag "otherwise" of the flag at the start of an error about its value, or the
// most similar of its values.
func valueHint(node *kong.Node, text string) hint.Hint {
	name, _, _ := strings.Cut(text, " ")
	_, value, _ := strings.Cut(text, " but got ")
	see := hint.Hint("see " + node.FullPath() + " --help")
	f := flagOf(node, name)
	if f == nil {
		return see
	}
	return cmp.Or(hint.Hint(f.Tag.Get("otherwise")), hint.Meant(name+" ", hint.Nearest(strings.Trim(value, `"`), f.EnumSlice())), see)
}

// misplaced returns an error whose hint names commands of groups, such as "xfn xpkg build",
// if the first argument is the name of such a command. A similar name is enough unless the
// text of the parser's error already has a suggestion. Otherwise misplaced returns nil.
func misplaced(root *kong.Node, args []string, text string) error {
	paths, names := map[string][]string{}, []string{}
	for _, group := range root.Children {
		for _, c := range group.Children {
			if !group.Hidden && !c.Hidden {
				paths[c.Name] = append(paths[c.Name], c.FullPath())
				names = append(names, c.Name)
			}
		}
	}
	_, surplus, _ := strings.Cut(text, unexpected)
	i := slices.IndexFunc(args, func(arg string) bool {
		return !strings.HasPrefix(arg, "-") && (surplus == "" || strings.HasPrefix(surplus, arg))
	})
	if i < 0 {
		return nil
	}
	found := paths[args[i]]
	for _, group := range root.Children {
		if strings.EqualFold(args[i], group.Name) {
			found = []string{group.FullPath()}
		}
	}
	if found == nil && !strings.Contains(text, "did you mean") {
		// If half of the letters differ, the word is not a misspelling.
		if near := hint.Nearest(args[i], names); 2*hint.EditDistance(args[i], near) < len(args[i]) {
			found = paths[near]
		}
	}
	if found == nil {
		return nil
	}
	return hint.Wrap(fmt.Errorf("unknown command %q", args[i]), "did you mean "+strings.Join(found, " or ")+"?")
}
