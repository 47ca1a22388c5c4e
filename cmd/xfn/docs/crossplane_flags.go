package docs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A cliInput is an argument or a flag of a command of the crossplane CLI.
type cliInput struct {
	name string // with "--" if it is a flag
	// kind is the Go type, such as "bool", "string" or "list of string".
	kind string
	// short is "-f" or "", value the default value.
	short, value, env string
	accepted          []string // all accepted values, nil if others are
}

func (in cliInput) isArgument() bool { return !strings.HasPrefix(in.name, "--") }

// String returns the names as they are typed.
func (in cliInput) String() string {
	return strings.TrimPrefix(in.short+", "+in.name, ", ")
}

// crossplaneInputs returns the arguments and flags in crossplaneList by source, and the names of
// all commands.
func crossplaneInputs() (inputs map[string][]cliInput, commands []string) {
	inputs = map[string][]cliInput{}
	source := ""
	for line := range strings.Lines(crossplaneList) {
		line = strings.TrimSpace(line)
		fields := strings.Split(line, "; ")
		switch word, rest, _ := strings.Cut(fields[0], " "); {
		case strings.HasPrefix(line, "["):
			source = strings.Trim(line, "[]")
		case word == "command":
			command, _, _ := strings.Cut(rest, " ")
			commands = append(commands, command)
		case word == "argument", strings.HasPrefix(word, "--"):
			in := cliInput{name: strings.TrimPrefix(fields[0], "argument "), kind: fields[1]}
			for _, f := range fields[2:] {
				in.set(f)
			}
			if !slices.ContainsFunc(inputs[source], func(o cliInput) bool { return o.name == in.name }) {
				inputs[source] = append(inputs[source], in)
			}
		}
	}
	return inputs, commands
}

// set sets the attribute that a field of a line describes, such as "default 8".
func (in *cliInput) set(field string) {
	switch key, value, _ := strings.Cut(field, " "); key {
	case "default":
		if in.value = value; in.kind == "bool" && value == "false" {
			in.value = ""
		}
	case "env":
		in.env = value
	case "one":
		in.accepted = strings.Split(strings.TrimPrefix(value, "of "), ",")
	default:
		in.short = key
	}
}

// otherDefaults are arguments and flags without a default value in the model of xfn: the command
// computes it. The notes say how it differs.
var otherDefaults = map[string]string{
	"--project-file":             "By default also `upbound.yaml`.",
	"xpkg build --examples-root": "By default `examples` if it exists, as `./examples`.",
	"xpkg extract --output":      "By default `out.gz`, unless other flags select something else than `package.yaml`.",
}

// argumentsDiffer returns an error unless a command of xfn accepts the arguments among inputs.
func argumentsDiffer(node *kong.Node, path string, inputs []cliInput) error {
	var all []error
	i := 0
	for _, in := range inputs {
		if !in.isArgument() {
			continue
		}
		if i == len(node.Positional) {
			return fmt.Errorf("%s does not accept the argument %s", path, in.name)
		}
		all = append(all, differs(node.Positional[i], path, in))
		i++
	}
	return errors.Join(all...)
}

// flagVerdict returns what xfn does for a flag of a command. It returns an error if the flag differs, or
// does not read the environment variable that it reads in the crossplane CLI.
func flagVerdict(node *kong.Node, path string, in cliInput) (string, error) {
	for _, f := range slices.Concat(node.AllFlags(false)...) {
		if "--"+f.Name != in.name && !slices.Contains(f.Aliases, in.name[2:]) {
			continue
		}
		if in.short != "" && in.short != "-"+string(f.Short) {
			return "", fmt.Errorf("%s %s has no short form %s", path, in.name, in.short)
		}
		if f.Hidden {
			return "without effect", nil
		}
		if in.env != "" && !slices.Contains(f.Envs, in.env) {
			return "", fmt.Errorf("%s %s does not read %s", path, in.name, in.env)
		}
		return strings.TrimSuffix(same+". "+otherDefault(path, in), ". "), differs(f.Value, path, in)
	}
	return "", fmt.Errorf("%s %s is missing", path, in.name)
}

// otherDefault returns the note in otherDefaults, or "".
func otherDefault(path string, in cliInput) string {
	return cmp.Or(otherDefaults[in.name], otherDefaults[path+" "+in.name])
}

// differs returns an error unless an argument or flag of xfn has the same type, accepted values and
// default value as in the crossplane CLI.
func differs(v *kong.Value, path string, in cliInput) error {
	name := path + " " + in.name
	var all []error
	if v.IsBool() != (in.kind == "bool") || v.IsMap() != strings.HasPrefix(in.kind, "map") || strings.HasPrefix(in.kind, "list") && !v.IsSlice() {
		all = append(all, fmt.Errorf("%s is of another type than %s", name, in.kind))
	}
	for _, value := range in.accepted {
		if !slices.Contains(strings.Split(v.Enum, ","), value) {
			all = append(all, fmt.Errorf("%s does not accept %s", name, value))
		}
	}
	if v.Default != in.value && otherDefault(path, in) == "" {
		all = append(all, fmt.Errorf("%s has the default %q, want %q", name, v.Default, in.value))
	}
	return errors.Join(all...)
}
