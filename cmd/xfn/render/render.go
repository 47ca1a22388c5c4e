package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/session"
	engine "github.com/xfn-dev/xfn/render"
)

// Cmd is xfn render.
type Cmd struct {
	XR          string `arg:"" name:"xr" help:"File or folder of the composite resource, or - for stdin."`
	Composition string `arg:"" optional:"" help:"File of the Composition, or - for stdin."`
	Functions   string `arg:"" optional:"" help:"File or folder of Functions, or the crossplane.yaml or root of a package whose dependencies are the functions. Optional if each step is a builtin or named by --package."`

	sourceFlags    `group:"Inputs:"`
	engineFlags    `group:"Crossplane:"`
	flags.Runtimes `group:"Functions:"`
	outputFlags    `group:"Output:"`
	traceFlags     `group:"Output:"`
	validateFlags  `group:"Output:"`
}

type sourceFlags struct {
	XRs          []string `more:"" name:"xr" sep:"none" placeholder:"PATH" help:"File or folder of composite resources, instead of the first argument. Repeatable."`
	AllDocuments bool     `more:"" help:"Render every document of the files of composite resources, not only the first."`
	ProjectFile  string   `once:"" more:"" short:"f" empty:"" placeholder:"FILE" help:"The file of the project whose APIs and functions are used. Default: the file in the working directory."`
	flags.Sources
	Compositions    []string `sep:"none" placeholder:"PATH" help:"Compositions and XRDs, to render claims and nested composite resources too. A file or folder. Repeatable."`
	ObserveLoop     int      `more:"" placeholder:"N" help:"Add the output to the observed state and render again, up to N times, until nothing changes."`
	ObserveFixtures []string `more:"" sep:"none" placeholder:"FILE" help:"Changes to observed resources in the loop, such as their status and readiness. Repeatable."`
}

type engineFlags struct {
	Profile           engine.Profile `more:"" enum:"v2,classic,alpha" default:"v2" otherwise:"choose a release of Crossplane with --crossplane-version, as in --crossplane-version v1.20" help:"The Crossplane to imitate: v2 is the reconciler of v2.3 and later, classic the render of v2.2, alpha the reconciler of v1.11, whose functions are containers."`
	CrossplaneVersion string         `more:"" empty:"" placeholder:"VERSION" help:"The version of Crossplane to imitate, v1.11 or later. Overrides --profile."`
	LiteralDeletion   bool           `more:"" help:"With --profile alpha: delete what the code of v1.11 deleted, not what its documentation said."`
	flags.Features
	Timeout time.Duration `more:"" positive:"" default:"1m" help:"Timeout of the render, including the start of functions, but not builds from source."`
	Strict  bool          `more:"" xor:"strict" help:"Fail for an invalid composite resource and for any problem of the Composition, not only for problems that make the imitated Crossplane fail."`

	unusedFlags
}

// unusedFlags are flags of the crossplane CLI that select its engine, which is built in here.
type unusedFlags struct {
	MaxConcurrency          uint   `hidden:""`
	CrossplaneBinary        string `hidden:""`
	CrossplaneImage         string `hidden:""`
	CrossplaneDockerNetwork string `hidden:""`
}

// note prints a note if a flag would select another engine.
func (f unusedFlags) note(term *terminal.Terminal) {
	if f.CrossplaneBinary+f.CrossplaneImage+f.CrossplaneDockerNetwork != "" {
		term.Note("the engine is built in: --crossplane-binary, --crossplane-image and --crossplane-docker-network have no effect")
	}
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `A builtin function runs in this process. Other functions run in a sandbox (on Linux) or in Docker, from source as a process, or where you have started them (annotate the Function with render.crossplane.io/runtime: Development). Where no sandbox is possible, as in a CI container, Docker runs packages if there is an engine, and --runtime Process runs them as confined as is possible without one. A Docker engine pulls images itself. It receives the credentials, but not --ca-file, --plain-http and --insecure-skip-tls-verify: use its own configuration for these.

Examples:

    xfn render xr.yaml composition.yaml functions.yaml
    xfn render xr.yaml composition.yaml --package function-hello=.
    xfn render examples/app.yaml    # in the directory of a project

More examples:

    xfn render xr.yaml composition.yaml functions.yaml -r -o observed.yaml
    xfn render xr.yaml composition.yaml package/crossplane.yaml --locked
    xfn render --xr xrs/ composition.yaml functions.yaml --output-dir out
    xfn render xr.yaml composition.yaml --xrd xrd.yaml --validate --crd crds
    xfn render --profile alpha xr.yaml composition.yaml

Exit codes: 0 rendered, 1 failed, 2 usage error, 3 a function returned a fatal result.
`
}

// Run renders and prints the documents.
func (c *Cmd) Run(ctx context.Context, kctx *kong.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	for _, path := range c.Compositions {
		if err := (manifest.Reader{FS: afero.NewOsFs()}).CheckHasYAML(path); err != nil {
			return fmt.Errorf("loading Compositions: %w", err)
		}
	}
	from, err := c.fromProject(ctx, term)
	if err != nil {
		return err
	}
	in, functions, err := c.inputs(ctx)
	if err == nil {
		in.Features, err = c.Features.For(term, c.CrossplaneVersion, in.Profile)
	}
	if err == nil {
		err = cmp.Or(checkAlpha(in, functions, kctx), checkObserved(in.Observed))
	}
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	config, err := c.FullConfig(ctx, term, program, from.project, functions)
	if err != nil {
		return err
	}
	config.Reader.Streams = &proc.Memo[string, []byte]{}
	for _, d := range from.docs {
		flags.Inline(&config.Reader, d.Position(), d)
	}
	c.unusedFlags.note(term)
	many := len(in.XRs) > 1 || in.AllDocuments || len(in.Compositions) > 0 || isDir(in.XRs[0])
	sink, err := c.sink(term, many, readsOf(in, from.file(in.Composition), from.file(in.XRD), functions))
	if err != nil {
		return err
	}
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	check, err := c.validation(ctx, term, program, in, from, config.Reader)
	if err != nil {
		return err
	}
	out := &output{flags: c.outputFlags, term: term, sink: sink, loop: in.ObserveLoop > 0, many: many, warnOnce: term.WarnOnce()}
	return out.render(ctx, config, in, c.tracer(term), check)
}

// inputs returns the inputs and the path of the functions. With --xr there is no
// argument for the composite resource.
func (c *Cmd) inputs(ctx context.Context) (in session.Inputs, functions string, err error) {
	args := slices.DeleteFunc([]string{c.XR, c.Composition, c.Functions}, func(arg string) bool { return arg == "" })
	in = c.Sources.Inputs()
	in.Profile, in.XRs, in.Compositions, in.AllDocuments, in.Full = c.Profile, c.XRs, c.Compositions, c.AllDocuments, c.IncludeFullXR
	in.Strict, in.LiteralDeletion, in.ObserveLoop, in.ObserveFixtures = c.Strict, c.LiteralDeletion, c.ObserveLoop, c.ObserveFixtures
	switch {
	case c.Validate: // A validation prints the reasons why the XR is invalid.
		in.Invalid, in.Validated = session.AllowInvalid, true
	case c.Strict:
		in.Invalid = session.RefuseInvalid
	}
	if len(in.XRs) == 0 {
		in.XRs, args = args[:1], args[1:]
	}
	if in.Composition, functions, err = c.split(args); err != nil {
		if len(args) == 0 {
			err = explainOrder(ctx, in, err)
		}
		return in, "", err
	}
	if dir := in.Composition; dir != "" && isDir(dir) {
		return in, "", hint.Wrap(fmt.Errorf("loading the Composition: %q is a directory, expected one file", dir),
			"name the file of one Composition; or select one from the directory by the kind of the composite resource, with --compositions "+dir)
	}
	if err := flags.CheckStdin(append(in.Paths(), functions)...); err != nil {
		return in, "", err
	}
	if c.ObserveLoop > 0 && len(c.Compositions) > 0 {
		return in, "", errors.New("--observe-loop and --compositions cannot be used together")
	}
	if c.ObserveLoop < 0 {
		return in, "", fmt.Errorf("--observe-loop must not be negative, got %d", c.ObserveLoop)
	}
	if c.ObserveLoop == 0 && len(c.ObserveFixtures) > 0 {
		return in, "", errors.New("--observe-fixtures requires --observe-loop")
	}
	if c.CrossplaneVersion != "" {
		in.Profile, err = flags.Profile(c.CrossplaneVersion)
	}
	return in, functions, err
}

// split returns the arguments for the Composition and the functions. With
// --compositions the Composition is optional.
func (c *Cmd) split(args []string) (composition, functions string, err error) {
	switch n := len(args); {
	case n == 0 && len(c.Compositions) > 0:
		return "", "", nil
	case n == 0:
		next := hint.Hint(order)
		if isDir(c.XR) || c.XR == manifest.Stdin {
			next = "add the file of a Composition; or select one by the kind of each composite resource, with --compositions DIR"
		}
		return "", "", hint.Wrap(errors.New("expected the file of a Composition"), next)
	case n == 1 && len(c.Compositions) > 0 && kindOf(args[0]) != "Composition":
		return "", args[0], nil
	case n == 1:
		return args[0], "", nil
	case n == 2:
		return args[0], args[1], nil
	default:
		return "", "", hint.Wrap(fmt.Errorf("unexpected argument %q", args[2]), "--xr replaces the first argument")
	}
}

// order is the hint for files that are missing or in another order.
const order = "the order is XR, Composition, functions, as in xfn render xr.yaml composition.yaml functions.yaml"

// explainOrder adds a hint to err if the kinds in the files belong to other arguments. It
// does not read the files again if ctx is done.
func explainOrder(ctx context.Context, in session.Inputs, err error) error {
	if ctx.Err() != nil {
		return err
	}
	xr, comp := kindOf(in.XRs[0]), kindOf(in.Composition)
	operation := ""
	switch operations := []string{"Operation", "CronOperation", "WatchOperation"}; {
	case slices.Contains(operations, xr):
		operation = in.XRs[0]
	case slices.Contains(operations, comp):
		operation = in.Composition
	}
	if operation != "" {
		return hint.Wrap(err, "to render an Operation, run xfn operation render "+hint.Word(operation))
	}
	misplaced := slices.Contains([]string{"Composition", "CompositeResourceDefinition", "Function"}, xr)
	if misplaced || comp != "" && comp != "Composition" && hint.Of(err) == "" {
		return hint.Wrap(err, order)
	}
	return err
}

// kindOf returns the kind of the first document of a file. It returns "" if there is an
// error, which is reported when the file is loaded, and for a pipe, which can be read only
// once.
func kindOf(path string) string {
	if info, err := os.Stat(path); path == manifest.Stdin || err != nil || !info.Mode().IsRegular() {
		return ""
	}
	obj, _, _ := manifest.Reader{FS: afero.NewOsFs()}.FirstObject(context.Background(), path)
	return fieldpath.Text(obj, "kind")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

var alphaFlags = []string{
	"quiet", "verbose",
	"xr", "all-documents", "xrd", "observed-resources", "context-files", "context-values",
	"profile", "crossplane-version", "feature", "literal-deletion", "timeout",
	"crossplane-binary", "crossplane-image", "crossplane-docker-network",
	"runtime", "offline", "registry", "cache-dir",
	"include-full-xr", "include-function-results", "include-connection-details", "format", "output-dir", "check", "update", "validate", "crd",
}

// checkAlpha returns an error for arguments and flags that the profile does not support.
func checkAlpha(in session.Inputs, functions string, kctx *kong.Context) error {
	if in.Profile != engine.Alpha {
		if in.LiteralDeletion {
			return errors.New("--literal-deletion requires --profile alpha")
		}
		return nil
	}
	if functions != "" {
		return hint.Wrap(fmt.Errorf("unexpected argument %q", functions), "Crossplane v1.11 to v1.13, as --profile alpha, has the functions in the Composition: leave out "+functions)
	}
	for _, element := range kctx.Path {
		if f := element.Flag; f != nil && !slices.Contains(alphaFlags, f.Name) {
			return fmt.Errorf("--%s cannot be used with --profile alpha", f.Name)
		}
	}
	return nil
}

// checkObserved returns an error if a path of observed resources does not exist: in other programs,
// -o names the format or the file of the output.
func checkObserved(paths []string) error {
	for _, path := range paths {
		err := (manifest.Reader{FS: afero.NewOsFs()}).CheckExists(path)
		if err == nil {
			continue
		}
		next := "-o names existing resources; to write the output to a file, end the command with > " + hint.Hint(path)
		if strings.Contains(path, ",") {
			next = hint.Of(err)
		} else if slices.Contains([]string{"json", "yaml", "yml"}, path) {
			next = "-o names observed resources; render prints YAML to standard output, or writes files with --output-dir"
		}
		return hint.Wrap(fmt.Errorf("--observed-resources: %w", err), next)
	}
	return nil
}
