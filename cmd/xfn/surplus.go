package main

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/docs"
	"github.com/xfn-dev/xfn/internal/hint"
)

// valueOfFlag returns a hint if the surplus argument of the parser's error is meant as the value of
// a flag, or "".
func valueOfFlag(node *kong.Node, args []string, text string) hint.Hint {
	return cmp.Or(optionalFlag(node, args, text), severalValues(node, args, strings.TrimPrefix(text, unexpected)))
}

// severalValues returns a hint if the surplus argument follows the value of a flag that has several
// values, as if a shell has replaced a pattern by the names of files.
func severalValues(node *kong.Node, args []string, surplus string) hint.Hint {
	isFlag := func(arg string) bool { return len(arg) > 1 && arg[0] == '-' }
	at := slices.Index(args, surplus)
	if at < 0 {
		return "" // The parser's error has a suggestion after the argument.
	}
	first, end := at, at
	for first > 0 && !isFlag(args[first-1]) {
		first--
	}
	for end < len(args) && !isFlag(args[end]) {
		end++
	}
	if first == 0 {
		return ""
	}
	values, arguments := args[first:end], at-first-1
	name, value, isAssigned := strings.Cut(args[first-1], "=")
	if isAssigned {
		values, arguments = append([]string{value}, values...), at-first
	}
	f := flagOf(node, name)
	if f == nil || !f.IsCumulative() || arguments < 0 {
		return ""
	}
	values = values[:len(values)-arguments] // The parser has read so many words as arguments.
	next := "for several values of " + name + ", write " + name + " "
	if f.IsSlice() && f.Tag.Sep == ',' {
		next += strings.Join(values, ",")
	} else {
		next += strings.Join(values, " "+name+" ")
	}
	if f.PlaceHolder == "GLOB" {
		next += "; a pattern is in quotes, or else the shell replaces it"
	}
	if arguments > 0 {
		next += "; otherwise the usage is " + strings.Split(node.FullPath(), " ")[0] + " " + node.Summary()
	}
	return hint.Hint(next)
}

// optionalFlag returns a hint if the surplus argument of the parser's error follows a flag
// whose value is optional, and therefore needs an equals sign.
func optionalFlag(node *kong.Node, args []string, text string) hint.Hint {
	for i := 1; i < len(args); i++ {
		if text != unexpected+args[i] {
			continue
		}
		for _, f := range slices.Concat(node.AllFlags(true)...) {
			// A mapper of a bool accepts a flag without a value, and may accept a value.
			_, optional := f.Target.Addr().Interface().(kong.BoolMapperValue)
			if optional && args[i-1] == "--"+f.Name {
				return hint.Hint("write " + args[i-1] + "=" + args[i])
			}
		}
	}
	return ""
}

// otherCommand returns a hint if the surplus argument of the parser's error, in a group of
// commands, is a command outside of the group, or one of the crossplane CLI only. The parser knows
// only this group.
func otherCommand(group *kong.Node, text string) hint.Hint {
	program, path, _ := strings.Cut(group.FullPath(), " ")
	if docs.PassedOn(append(strings.Fields(path), strings.TrimPrefix(text, unexpected))) != "" {
		return controlPlane
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[app]()) {
		name := cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name))
		if _, isCommand := f.Tag.Lookup("cmd"); isCommand && text == unexpected+name {
			return hint.Hint("did you mean " + program + " " + name + "?")
		}
	}
	return ""
}
