package docs

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// crossplaneList lists the commands and flags of the crossplane CLI by its source files.
//
//go:embed crossplane-cli.txt
var crossplaneList string

// crossplaneIntro is the beginning of the page about the crossplane CLI.
//
//go:embed crossplane-page.txt
var crossplaneIntro string

// What xfn does for a command of the crossplane CLI.
const (
	same     = "same"
	better   = "better"
	passedOn = "passed on"
)

type cliCommand struct {
	// path is the command as typed, without "crossplane". source is the heading of its flags in
	// crossplaneList.
	path, source string
	status       string
	// note says what xfn does better, or why xfn passes the command on.
	note string
}

const needsCluster = "It needs a cluster."

var crossplaneCommands = []cliCommand{
	{"xpkg init", "xpkg/init.go", better, "Templates are part of the binary."},
	{"xpkg build", "xpkg/build.go", better, "Reproducible, for several platforms, and from source code without Docker."},
	{"xpkg push", "xpkg/push.go", better, "Resumes, retries, signs, and moves the tag last."},
	{"xpkg extract", "xpkg/extract.go", same, ""},
	{"xpkg get-crds", "xpkg/get_crds.go", same, ""},
	{"xpkg batch", "xpkg/batch.go", passedOn, "It is for families of providers."},
	{"xpkg install", "xpkg/install.go", passedOn, needsCluster},
	{"xpkg update", "xpkg/update.go", passedOn, needsCluster},
	{"project init", "project/init.go", same, ""},
	{"project build", "project/build.go", better, "Reproducible, and without Docker."},
	{"project push", "project/push.go", better, "Resumes, retries and signs."},
	{"project run", "project/run.go", passedOn, needsCluster},
	{"project stop", "project/stop.go", passedOn, needsCluster},
	{"dependency add", "dependency/add.go", same, ""},
	{"dependency update-cache", "dependency/cache.go", same, ""},
	{"dependency clean-cache", "dependency/cache.go", same, ""},
	{"function generate", "function/generate.go", same, ""},
	{"composition generate", "composition/generate.go", same, ""},
	{"composition render", "render/xr/cmd.go", better, "Without Docker, and with the versions of Crossplane since v1.14."},
	{"composition convert composition-environment", "convert/compositionenvironment/cmd.go", better, "Says what is lost. `xfn convert pipeline-composition` converts Compositions without a pipeline."},
	{"operation render", "render/op/cmd.go", better, "Without Docker."},
	{"resource validate", "validate/cmd.go", better, "As an API server, with rules about changes."},
	{"resource trace", "trace/trace.go", passedOn, needsCluster},
	{"xr generate", "xr/generate.go", same, ""},
	{"xr patch", "xr/patch.go", same, ""},
	{"xrd generate", "xrd/generate.go", same, ""},
	{"xrd convert", "xrd/convert.go", same, ""},
	{"render", "render/xr/cmd.go", better, "As `composition render`."},
	{"cluster top", "top/top.go", passedOn, needsCluster},
	{"config set", "config/set.go", passedOn, "It changes the file of the crossplane CLI."},
	{"config view", "", passedOn, "It shows the file of the crossplane CLI."},
	{"generate-docs", "docs.go", passedOn, "It is about the crossplane CLI."},
	{"completions", "", same, ""},
	{"version", "version/version.go", same, ""},
}

// olderCommands are names that older versions of the crossplane CLI have for commands that are
// passed on.
var olderCommands = []string{"beta trace", "beta top"}

// sharedFlags are the sources whose flags a command has besides its own.
var sharedFlags = map[string][]string{
	"render/xr/cmd.go": {"render/engine.go"},
	"render/op/cmd.go": {"render/engine.go"},
}

// otherCommands are flags that belong to another command of the same source.
var otherCommands = []string{
	"dependency update-cache --keep-packages", "dependency clean-cache --git-token", "dependency clean-cache --git-username",
}

// PassedOn returns the command of the crossplane CLI that args name, if xfn passes it on, or "". It also
// returns a group whose commands are all passed on, such as "config".
func PassedOn(args []string) string {
	words := slices.Clone(args)
	if i := slices.Index(words, "--config"); i >= 0 {
		words = slices.Delete(words, i, min(i+2, len(words)))
	}
	words = slices.DeleteFunc(words, func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(words) > 0 && words[0] == "help" {
		words = words[1:]
	}
	named := strings.Join(words, " ") + " "
	for _, c := range crossplaneCommands {
		if c.status == passedOn && strings.HasPrefix(named, c.path+" ") {
			return c.path
		}
	}
	for _, path := range olderCommands {
		if strings.HasPrefix(named, path+" ") {
			return path
		}
	}
	isOther := func(c cliCommand) bool { return !strings.HasPrefix(c.path, named) }
	group := slices.DeleteFunc(slices.Clone(crossplaneCommands), isOther)
	if len(words) == 1 && len(group) > 0 && !slices.ContainsFunc(group, func(c cliCommand) bool { return c.status != passedOn }) {
		return words[0]
	}
	return ""
}

// crossplanePage returns the page about the crossplane CLI. It returns an error if a command,
// argument or flag of the CLI is missing in the tables or in xfn, or differs.
func crossplanePage(root *kong.Node) (string, error) {
	inputs, names := crossplaneInputs()
	if err := checkCommands(inputs, names); err != nil {
		return "", err
	}
	b := page("The crossplane CLI", crossplaneIntro)
	tableOf(b, crossplaneCommands, func(c cliCommand) []string { return []string{"`" + c.path + "`", c.status, c.note} }, "command", "xfn", "notes")
	b.WriteString("## Flags\n\n`--verbose` works with each command. `--config` is read for `features.generateGoModelAccessors`, and is otherwise without effect.\n\n")
	var rows [][]string
	var missing []error
	for _, c := range crossplaneCommands {
		if c.status == passedOn {
			continue
		}
		node, err := find(root, c.path)
		if err != nil {
			return "", err
		}
		missing = append(missing, argumentsDiffer(node, c.path, inputs[c.source]))
		for _, source := range append([]string{c.source}, sharedFlags[c.source]...) {
			for _, in := range inputs[source] {
				if in.isArgument() || slices.Contains(otherCommands, c.path+" "+in.name) {
					continue
				}
				verdict, err := flagVerdict(node, c.path, in)
				missing = append(missing, err)
				rows = append(rows, []string{"`" + c.path + "`", "`" + in.String() + "`", verdict})
			}
		}
	}
	table(b, rows, "command", "flag", "xfn")
	return b.String(), errors.Join(missing...)
}

// checkCommands returns an error if a source or the name of a command is not in crossplaneCommands.
func checkCommands(inputs map[string][]cliInput, names []string) error {
	known := []string{"main.go"} // its flags are flags of every command
	words := map[string]bool{}
	for _, c := range crossplaneCommands {
		known = append(append(known, c.source), sharedFlags[c.source]...)
		for _, w := range strings.Fields(c.path) {
			words[w] = true
		}
	}
	for source := range inputs {
		if !slices.Contains(known, source) {
			return fmt.Errorf("the arguments and flags of %s belong to no command", source)
		}
	}
	for _, name := range names {
		if !words[name] {
			return fmt.Errorf("the command %q of the crossplane CLI is in no table", name)
		}
	}
	return nil
}

// find returns the command at a path, such as "xpkg build".
func find(root *kong.Node, path string) (*kong.Node, error) {
	node := root
	for word := range strings.FieldsSeq(path) {
		if node = childNamed(node, word); node == nil {
			return nil, fmt.Errorf("there is no command %q", path)
		}
	}
	return node, nil
}

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
