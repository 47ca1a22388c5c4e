package render

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/session"
	engine "github.com/xfn-dev/xfn/render"
)

// Cmd renders.
type Cmd struct {
	XR          string `arg:"" name:"xr" help:"File or folder of the composite resource, or - for stdin."`
	Composition string `arg:"" optional:"" help:"File of the Composition, or - for stdin."`
	Functions   string `arg:"" optional:"" help:"File or folder of Functions, or a package's crossplane.yaml or root, whose dependencies are the functions. May be left out if each step is a builtin or named by --package."`

	sourceFlags
	engineFlags
	flags.Runtimes
	outputFlags
	traceFlags
	validateFlags
}

// sourceFlags are what is rendered, besides the arguments.
type sourceFlags struct {
	XRs                 []string          `name:"xr" sep:"none" placeholder:"PATH" help:"File or folder of composite resources, in place of the first argument. Repeatable."`
	AllDocuments        bool              `help:"Render every document of the composite resources' files, not only the first."`
	XRD                 string            `name:"xrd" placeholder:"FILE" help:"The composite resource's definition, for its defaults and scope."`
	Compositions        []string          `sep:"none" placeholder:"PATH" help:"File or folder of Compositions and XRDs: render claims, and composed resources that are composite resources, too. Repeatable."`
	ObservedResources   []string          `short:"o" sep:"none" placeholder:"PATH" help:"File or folder of the composed resources that exist already. Repeatable."`
	RequiredResources   []string          `short:"e" sep:"none" placeholder:"PATH" help:"File or folder of resources that functions may require. Repeatable."`
	ExtraResources      []string          `sep:"none" placeholder:"PATH" help:"The same, for functions that ask for extra resources. Repeatable."`
	RequiredSchemas     []string          `short:"s" sep:"none" placeholder:"PATH" help:"JSON file or folder of OpenAPI schemas that functions may require. Repeatable."`
	FunctionCredentials []string          `sep:"none" placeholder:"PATH" help:"File or folder of Secrets for the functions' credentials. Repeatable."`
	ObserveLoop         int               `placeholder:"N" help:"Observe what was rendered and render again, up to N times, until nothing changes."`
	ObserveFixtures     []string          `sep:"none" placeholder:"FILE" help:"What comes to observed resources in the loop: statuses and readiness. Repeatable."`
	ContextFiles        map[string]string `mapsep:"none" placeholder:"KEY=FILE" help:"Put a file's YAML or JSON into the functions' context. Repeatable."`
	ContextValues       map[string]string `mapsep:"none" placeholder:"KEY=VALUE" help:"Put YAML or JSON into the functions' context. Repeatable."`
}

// engineFlags are how it is rendered.
type engineFlags struct {
	Profile           engine.Profile `enum:"v2,classic,alpha" default:"v2" help:"The Crossplane to imitate: v2 is the reconciler of v2.3 and later, classic the render of v2.2, alpha the reconciler of v1.11, whose functions are containers."`
	CrossplaneVersion string         `placeholder:"VERSION" help:"The Crossplane to imitate, by its version from v1.11 on. Beats --profile."`
	LiteralDeletion   bool           `help:"With --profile alpha: delete what the code of v1.11 deleted, not what its documentation says."`
	Timeout           time.Duration  `default:"1m" help:"How long the render may take, functions' start included."`
	Strict            bool           `help:"Refuse a Composition for any problem, not only for those that its Crossplane fails on."`

	CrossplaneBinary        string `hidden:""`
	CrossplaneImage         string `hidden:""`
	CrossplaneDockerNetwork string `hidden:""`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Functions run in this process where they are builtin, else in a sandbox (on Linux) or in Docker, from source as a process, or wherever you started them yourself (annotate the Function render.crossplane.io/runtime: Development). Where no sandbox can be made, as in a CI container, Docker runs packages if there is an engine, and --runtime Process as confined as can be without one. A Docker engine pulls by itself: it gets the credentials, but --ca-file, --plain-http and --insecure-skip-tls-verify are not for it; its own configuration says the same.

Examples:

    xfn render xr.yaml composition.yaml functions.yaml
    xfn render xr.yaml composition.yaml --package function-hello=.
    xfn render xr.yaml composition.yaml functions.yaml -r -o observed.yaml
    xfn render xr.yaml composition.yaml package/crossplane.yaml --locked
    xfn render --xr xrs/ composition.yaml functions.yaml --output-dir out
    xfn render xr.yaml composition.yaml --xrd xrd.yaml --validate --crd crds
    xfn render --profile alpha xr.yaml composition.yaml

Exit codes: 0 rendered, 1 failed, 2 used wrongly, 3 a function returned a fatal result.
`
}

// Run renders and prints the documents.
func (c *Cmd) Run(ctx context.Context, kctx *kong.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	in, functions, err := c.inputs()
	if err == nil {
		err = checkAlpha(in, functions, kctx)
	}
	if err != nil {
		return &terminal.UsageError{Err: err}
	}
	if c.Timeout <= 0 {
		return &terminal.UsageError{Err: fmt.Errorf("reading --timeout: %s is no time to render in", c.Timeout)}
	}
	config, err := c.Config(term, program)
	if err != nil {
		return err
	}
	config.Functions = functions
	if c.CrossplaneBinary != "" || c.CrossplaneImage != "" || c.CrossplaneDockerNetwork != "" {
		term.Note("the engine is built in: --crossplane-binary, --crossplane-image and --crossplane-docker-network change nothing")
	}
	many := len(in.XRs) > 1 || in.AllDocuments || len(in.Compositions) > 0 || isDir(in.XRs[0])
	sink, err := c.sink(term, many)
	if err != nil {
		return err
	}
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	s := session.Open(config)
	defer func() { err = terminal.Close(ctx, s.Close, err) }()
	out := &output{flags: c.outputFlags, term: term, sink: sink, loop: in.ObserveLoop > 0, many: many}
	check, err := c.validation(ctx, term, program)
	if err != nil {
		return err
	}
	traces := c.tracer(term)
	in.WrapRunner = traces.wrap()
	err = s.Render(ctx, in, func(r session.Result) error {
		traces.add(r)
		if err := check.take(ctx, r); err != nil {
			return err
		}
		return out.take(r)
	})
	if err == nil {
		err = errors.Join(out.finish(), check.verdict())
	}
	return terminal.Cause(ctx, errors.Join(err, traces.finish()))
}

// inputs says what to render, and where the functions are. With --xr there is
// one argument less.
func (c *Cmd) inputs() (in session.Inputs, functions string, err error) {
	var args []string
	for _, arg := range []string{c.XR, c.Composition, c.Functions} {
		if arg != "" {
			args = append(args, arg)
		}
	}
	in = session.Inputs{
		Profile: c.Profile, XRs: c.XRs, Compositions: c.Compositions, AllDocuments: c.AllDocuments, XRD: c.XRD, Full: c.IncludeFullXR,
		Observed: c.ObservedResources, Required: c.RequiredResources, Extra: c.ExtraResources,
		Schemas: c.RequiredSchemas, Credentials: c.FunctionCredentials,
		ContextFiles: c.ContextFiles, ContextValues: c.ContextValues, Strict: c.Strict, LiteralDeletion: c.LiteralDeletion,
		ObserveLoop: c.ObserveLoop, ObserveFixtures: c.ObserveFixtures,
	}
	if len(in.XRs) == 0 {
		in.XRs, args = args[:1], args[1:]
	}
	if in.Composition, functions, err = c.split(args); err != nil {
		return in, "", err
	}
	if err := onceStdin(in, functions); err != nil {
		return in, "", err
	}
	if c.ObserveLoop > 0 && len(c.Compositions) > 0 {
		return in, "", errors.New("--observe-loop and --compositions cannot be used together")
	}
	if c.ObserveLoop < 0 || c.ObserveLoop == 0 && len(c.ObserveFixtures) > 0 {
		return in, "", errors.New("--observe-loop needs a number of times above zero, and --observe-fixtures needs --observe-loop")
	}
	if c.CrossplaneVersion != "" {
		in.Profile, err = engine.ForCrossplane(c.CrossplaneVersion)
	}
	return in, functions, err
}

// split tells the Composition from the functions. With --compositions there may
// be no Composition among the arguments: one that is there ends the question.
func (c *Cmd) split(args []string) (composition, functions string, err error) {
	switch n := len(args); {
	case n == 0 && len(c.Compositions) > 0:
		return "", "", nil
	case n == 0:
		return "", "", errors.New("expected the file of a Composition")
	case n == 1 && len(c.Compositions) > 0 && !holdsComposition(args[0]):
		return "", args[0], nil
	case n == 1:
		return args[0], "", nil
	case n == 2:
		return args[0], args[1], nil
	default:
		return "", "", hint.Wrap(fmt.Errorf("unexpected argument %q", args[2]), "--xr takes the place of the first argument")
	}
}

// holdsComposition reports whether a file begins with a Composition. What cannot
// be read is reported where it is read in earnest.
func holdsComposition(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	docs, err := manifest.Split(path, text)
	if err != nil || len(docs) == 0 {
		return false
	}
	obj, err := docs[0].Object()
	return err == nil && obj["kind"] == "Composition"
}

// onceStdin refuses to read standard input for more than one thing.
func onceStdin(in session.Inputs, functions string) error {
	paths := slices.Concat(in.XRs, []string{in.Composition, functions, in.XRD}, in.Observed, in.Required, in.Extra,
		in.Schemas, in.Credentials, in.Compositions, in.ObserveFixtures, slices.Collect(maps.Values(in.ContextFiles)))
	n := 0
	for _, p := range paths {
		if p == manifest.Stdin {
			n++
		}
	}
	if n > 1 {
		return errors.New("standard input can only be read once, but - stands for several files")
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
