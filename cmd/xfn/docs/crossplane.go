package docs

import (
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

// A cliCommand is a command of the crossplane CLI.
type cliCommand struct {
	// path is the command as typed, without "crossplane". source is the heading of its flags in
	// crossplaneList.
	path, source string
	status       string
	// note says what xfn does better, or why xfn passes the command on.
	note string
}

const needsCluster = "It needs a cluster."

// crossplaneCommands are all commands of the crossplane CLI.
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
