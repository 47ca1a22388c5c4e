package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

// inHome matches a word, or a flag and its value, with a path in the home directory.
var inHome = proc.Regexp(`^(--[^=]+=|-[^-])?~/`)

// expandHome returns args with the home directory instead of ~, which a shell replaces only at the
// beginning of a word without quotes. The crossplane CLI does the same for paths. If the working directory
// has a directory ~, the args stay unchanged.
func expandHome(args []string) ([]string, error) {
	if _, err := os.Stat("~"); err == nil || strings.HasPrefix(args[0], "__") {
		return args, nil
	}
	args = slices.Clone(args)
	for i, arg := range args {
		at := inHome().FindStringIndex(arg)
		if at == nil {
			continue
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("replacing ~ in %q: %w", arg, err), "write the path without ~")}
		}
		args[i] = arg[:at[1]-len("~/")] + filepath.Join(home, arg[at[1]:])
	}
	return args, nil
}

// checkWords returns an error for an argument that begins with a typographic dash or is in typographic
// quotation marks, as in text from a web page. The argument may be a file. Hidden commands such as
// __complete get the words of a shell as they are typed.
func checkWords(args []string) error {
	if strings.HasPrefix(args[0], "__") {
		return nil
	}
	for _, arg := range args {
		dash, size := utf8.DecodeRuneInString(arg)
		if _, err := os.Stat(arg); (dash == '–' || dash == '—') && err != nil {
			err := fmt.Errorf("%q begins with the dash %c (%U), not with -", arg, dash, dash)
			name, meant := strings.TrimLeft(arg[size:], "-–—"), "--"
			if utf8.RuneCountInString(name) == 1 {
				meant = "-"
			}
			return &terminal.UsageError{Err: hint.Wrap(err, "write "+meant+name)}
		}
		flag, path, isFlag := strings.Cut(arg, "=")
		if flag += " "; !isFlag || !strings.HasPrefix(arg, "--") {
			flag, path = "", arg
		}
		if _, err := os.Stat(path); isQuoted(path) && err != nil {
			mark, _ := utf8.DecodeRuneInString(path)
			err := fmt.Errorf(`%q begins with the quotation mark %c (%U), not with "`, path, mark, mark)
			return &terminal.UsageError{Err: hint.Wrap(err, fmt.Sprintf(`write %s"%s"`, flag, strings.Trim(path, quotationMarks)))}
		}
	}
	return nil
}

// ignoreEmpty makes an environment variable with an empty value count as not set: a CI job sets
// variables to its inputs, which may be empty.
func ignoreEmpty(model *kong.Application) {
	_ = kong.Visit(model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			f.Tag.Envs = slices.DeleteFunc(slices.Clone(f.Envs), func(name string) bool { return os.Getenv(name) == "" })
		}
		return next(nil)
	})
}

// checkVariables returns an error if a flag has the value of an environment variable that begins
// with the ~ of the home directory, which no shell has replaced.
func checkVariables(kctx *kong.Context) error {
	for _, f := range kctx.Flags() {
		for _, variable := range f.Envs {
			rest, isHome := strings.CutPrefix(os.Getenv(variable), "~/")
			if isHome && f.Target.Kind() == reflect.String && f.Target.String() == "~/"+rest {
				err := fmt.Errorf("%s is %q, but only a shell replaces ~, and not in quotes", variable, "~/"+rest)
				return hint.Wrap(err, fmt.Sprintf(`set it to the absolute path, in a shell with %s="$HOME/%s"`, variable, rest))
			}
		}
	}
	return nil
}

// quotationMarks are the typographic quotation marks, which a shell treats as letters.
const quotationMarks = "“”„‟‘’‚«»"

// isQuoted reports whether all of a word, or of its beginning that a shell has split off, is in
// quotation marks of typography.
func isQuoted(word string) bool {
	first, size := utf8.DecodeRuneInString(word)
	last, end := utf8.DecodeLastRuneInString(word)
	return len(word) > size && strings.ContainsRune(quotationMarks, first) &&
		(!strings.ContainsAny(word[size:], quotationMarks) || strings.ContainsRune(quotationMarks, last) && !strings.ContainsAny(word[size:len(word)-end], quotationMarks))
}

// checkOnce returns an error if a flag with the tag "once", which names an input, is given several
// times: all values but one would have no effect.
func checkOnce(kctx *kong.Context) error {
	given := map[*kong.Flag]bool{}
	for _, p := range kctx.Path {
		switch {
		case p.Flag == nil || !p.Flag.Tag.Has("once"):
		case given[p.Flag]:
			return hint.Wrap(fmt.Errorf("--%s is given several times, but accepts one value", p.Flag.Name), "leave out all but one")
		default:
			given[p.Flag] = true
		}
	}
	return nil
}

// checkLimits returns an error for a number or duration of a flag that its tags do not allow. With the tag
// "positive" it must be above zero. The tag "limits" has the lowest and the highest value, and the unit.
func checkLimits(kctx *kong.Context) error {
	for _, f := range kctx.Flags() {
		value := reflect.Indirect(f.Target)
		limits := f.Tag.Get("limits")
		switch {
		case f.Tag.Has("positive") && value.Int() <= 0:
			return fmt.Errorf("--%s must be positive, got %v", f.Name, value)
		case limits == "" || !value.IsValid(): // A pointer is nil if the flag is not given.
			continue
		}
		var least, most float64
		var unit string
		_, _ = fmt.Sscan(limits, &least, &most, &unit) // Most limits have no unit.
		number := value.Convert(reflect.TypeFor[float64]()).Float()
		if !(number >= least && number <= most) { // NaN is not within any limits.
			return fmt.Errorf("--%s must be between %s, got %v", f.Name, strings.TrimSpace(fmt.Sprintf("%v and %v %s", least, most, unit)), value)
		}
	}
	return nil
}

// emptyWord returns an error if the parser refused an empty word: no command has an empty name, few
// types of flags have an empty value, and no list of values has one.
func emptyWord(kctx *kong.Context) error {
	// The parser did not get beyond the first of these words.
	words := kctx.Path[len(kctx.Path)-1].Remainder()
	if len(words) == 0 {
		return emptyValue(kctx)
	}
	if words[0] == "" {
		return isEmpty("an argument", true)
	}
	name, isAssigned := strings.CutSuffix(words[0], "=")
	for node := kctx.Selected(); node != nil && (isAssigned || len(words) > 1 && words[1] == ""); node = node.Parent {
		for _, f := range node.Flags {
			if name == "--"+f.Name || name == "-"+string(f.Short) || slices.Contains(f.Aliases, strings.TrimPrefix(name, "--")) {
				return isEmpty("the value of --"+f.Name, true)
			}
		}
	}
	return nil
}

// emptyValue returns an error if an argument, or the value of a flag, is empty. A hidden flag and the
// arguments of commands with the tag "model", such as a word that a shell completes, may be empty. An
// empty flag with the tag "empty" counts as not set, and an empty value in its list is left out: most of
// these flags are flags of the crossplane CLI, to which scripts pass variables that may be empty.
func emptyValue(kctx *kong.Context) error {
	if node := kctx.Selected(); node == nil || node.Tag.Has("model") {
		return nil
	}
	for _, p := range kctx.Path {
		value, name, optional, allowed := p.Positional, "", false, false
		switch {
		case value != nil:
			name, optional = "the argument <"+value.Name+">", !value.Required
		case p.Flag != nil && !p.Flag.Hidden:
			value, name, optional = p.Flag.Value, "the value of --"+p.Flag.Name, !p.Flag.Required
			allowed = p.Flag.Tag.Has("empty")
		default:
			continue
		}
		switch v := kctx.Value(p).Interface().(type) {
		case string:
			if v == "" && !allowed {
				return isEmpty(name, optional)
			}
		case []string:
			switch {
			case allowed:
				v = slices.DeleteFunc(slices.Clone(v), func(s string) bool { return s == "" })
				value.Target.Set(reflect.ValueOf(v).Convert(value.Target.Type()))
			case len(v) == 0 || slices.Contains(v, ""):
				return isEmpty(name, optional)
			}
		}
	}
	return nil
}

// isEmpty returns the error about an empty value. Its hint says to leave out an optional value.
func isEmpty(name string, optional bool) error {
	next := "set the variable that it comes from"
	if optional {
		next = "leave it out, or " + next
	}
	return hint.Wrap(fmt.Errorf("%s is empty", name), next)
}

// checkOutputs returns an error if two flags name one file to write, or if the file is an input: an
// argument, or an existing YAML file. Flags of such files have the tag "writes", whose value is an
// example of a file name. If the example is a YAML file, the flag may replace a YAML file. The output
// of a conversion may replace its input. An example that ends in / is a folder. No file is named -,
// which means standard output for flags with the tag "stdout". xpkg.CheckOutput checks the files of
// packages.
func checkOutputs(kctx *kong.Context) error {
	written := map[string]*kong.Flag{}
	for _, p := range kctx.Path {
		if p.Flag == nil || !p.Flag.Tag.Has("writes") {
			continue
		}
		example, assign := p.Flag.Tag.Get("writes"), " "
		if p.Flag.IsBool() {
			assign = "="
		}
		suchAs := hint.Hint("such as --" + p.Flag.Name + assign + example)
		for _, path := range pathsOf(kctx, p) {
			if path == manifest.Stdin && !p.Flag.Tag.Has("stdout") {
				return hint.Wrap(fmt.Errorf("--%s cannot be written to standard output (-)", p.Flag.Name), "name a path, "+suchAs)
			}
			if what := inputAt(kctx, path, example); what != "" {
				err := fmt.Errorf("--%s names %q, which %s: it would be overwritten", p.Flag.Name, path, what)
				return hint.Wrap(err, "name another file to write, "+suchAs)
			}
			if first := written[filepath.Clean(path)]; first != nil && first != p.Flag && isFile(path, example) {
				err := fmt.Errorf("--%s and --%s name one file, %q", first.Name, p.Flag.Name, path)
				return hint.Wrap(err, "name a file for each, "+suchAs)
			}
			written[filepath.Clean(path)] = p.Flag
		}
	}
	return nil
}

// isFile reports whether path is the path of a regular file, or of none yet, and the example is not a
// folder. Several flags may name one folder, device or pipe.
func isFile(path, example string) bool {
	info, err := os.Stat(path)
	return path != "" && path != manifest.Stdin && !strings.HasSuffix(example, "/") && (err != nil || info.Mode().IsRegular())
}

// inputAt says why the file at a path is an input, or returns "". example is the value of the tag.
func inputAt(kctx *kong.Context, path, example string) string {
	if _, err := os.Stat(path); err != nil || !isFile(path, example) {
		return ""
	}
	target, _ := filepath.EvalSymlinks(path) // The output replaces the target of a link.
	switch {
	case manifest.IsYAML(target) && !manifest.IsYAML(example):
		return "is a YAML file"
	case isArgument(kctx, path):
		return "the command reads"
	}
	return ""
}

func isArgument(kctx *kong.Context, file string) bool {
	return slices.ContainsFunc(kctx.Path, func(p *kong.Path) bool {
		return p.Positional != nil && flags.FilesAt(pathsOf(kctx, p)...).Has(file)
	})
}

// pathsOf returns the values of a flag or an argument that can be paths.
func pathsOf(kctx *kong.Context, p *kong.Path) (paths []string) {
	switch v := kctx.Value(p).Interface().(type) {
	case string:
		paths = strings.Split(v, ",")
	case []string:
		paths = v
	case map[string]string:
		paths = slices.Sorted(maps.Values(v))
	case flags.Optional:
		paths = []string{v.Value}
	}
	return paths
}
