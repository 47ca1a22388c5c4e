package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/cache"
	"github.com/xfn-dev/xfn/cmd/xfn/docs"
	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/function"
	"github.com/xfn-dev/xfn/cmd/xfn/project"
	"github.com/xfn-dev/xfn/cmd/xfn/render"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/cmd/xfn/test"
	"github.com/xfn-dev/xfn/cmd/xfn/validate"
	"github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
	engine "github.com/xfn-dev/xfn/render"
)

type app struct {
	HelpAll helpAll `help:"Show the description and all flags of the command."`
	Quiet   bool    `help:"Print only results, warnings and errors. Notes and progress are left out." short:"q" xor:"volume"`
	Verbose bool    `help:"Print each step and more details." short:"v" xor:"volume"`

	// Config is a flag of the crossplane CLI. In its file, xfn reads only settings for Go models.
	Config string `hidden:""`

	MemoryLimit memoryLimit `more:"" placeholder:"QUANTITY" help:"Fail when the process needs more memory than this. Default: 4Gi, or half of the machine's memory if that is less."`

	Xpkg       xpkg.Cmd              `cmd:"" help:"Build, push and pull packages."`
	Project    project.Cmd           `cmd:"" help:"Build and push projects: APIs, Compositions and functions."`
	Dependency project.DependencyCmd `cmd:"" help:"Add and update the dependencies of a project."`

	Composition struct {
		Render   render.Cmd             `cmd:"" hidden:""`
		Generate project.CompositionCmd `cmd:"" help:"Write a Composition for an XRD."`
		Convert  validate.ConvertCmd    `cmd:"" hidden:""`
	} `cmd:"" help:"Write a Composition."`
	XRD struct {
		Generate project.XRDCmd        `cmd:"" help:"Write an XRD for an example of an XR."`
		Convert  project.XRDConvertCmd `cmd:"" help:"Convert an XRD to CRDs or JSON Schemas."`
	} `cmd:"" name:"xrd" help:"Write and convert an XRD."`
	XR struct {
		Generate project.XRCmd      `cmd:"" help:"Print an XR for an XRD or a claim."`
		Patch    project.XRPatchCmd `cmd:"" help:"Print an XR with the defaults of its XRD."`
	} `cmd:"" name:"xr" help:"Print an XR."`

	Render    render.Cmd `cmd:"" help:"Render the composed resources of a composite resource."`
	Operation struct {
		Render render.OperationCmd `cmd:"" help:"Render what an Operation applies."`
	} `cmd:"" help:"Render Operations."`
	Dev          test.DevCmd         `cmd:"" help:"Render and test again whenever a function or a file changes."`
	Test         test.Cmd            `cmd:"" help:"Test which resources Compositions compose."`
	UpgradeCheck test.UpgradeCmd     `cmd:"" name:"upgrade-check" help:"Compare what suites compose with two sets of versions."`
	Diff         render.DiffCmd      `cmd:"" help:"Show how Compositions would change a cluster's resources."`
	RBAC         test.RBACCmd        `cmd:"" name:"rbac" help:"Print the ClusterRole that Crossplane needs to compose."`
	Validate     validate.Cmd        `cmd:"" help:"Validate resources against XRDs, CRDs and Kubernetes APIs."`
	Convert      validate.ConvertCmd `cmd:"" help:"Convert old Compositions to the current form."`
	Lock         cache.LockCmd       `cmd:"" help:"Write the digests of tags and versions to a lock file."`
	Run          function.RunCmd     `cmd:"" help:"Run one function in a sandbox, and serve it."`
	Function     function.Cmd        `cmd:"" help:"List, serve, call and generate functions."`
	Cache        cache.Cmd           `cmd:"" help:"Show and prune the cache."`
	Registry     cache.RegistryCmd   `cmd:"" help:"Serve an OCI registry."`
	Image        xpkg.ImageCmd       `cmd:"" help:"Make a container image of xfn."`
	Completion   docs.CompletionCmd  `cmd:"" help:"Print a script that completes commands and flags."`
	Version      versionCmd          `cmd:"" help:"Print the version."`
	Alpha        function.AlphaCmd   `cmd:"" help:"Run and serve functions of Crossplane v1.11 to v1.13."`

	Completions docs.CompletionsCmd `cmd:"" hidden:""`

	Complete docs.CompleteCmd `cmd:"" name:"__complete" hidden:"" model:"all"`
	Docs     docs.Cmd         `cmd:"" hidden:"" model:"all"`

	// Beta, Composition.Convert, Composition.Render and Resource have older names of commands, as in the crossplane CLI.
	Beta struct {
		Convert  validate.ConvertCmd `cmd:""`
		Render   render.Cmd          `cmd:""`
		Validate validate.Cmd        `cmd:""`
		Xpkg     struct {
			Init xpkg.InitCmd `cmd:""`
		} `cmd:""`
	} `cmd:"" hidden:""`
	Resource struct {
		Validate validate.Cmd `cmd:""`
	} `cmd:"" hidden:""`
}

const description = `Take Crossplane functions and projects from an empty directory to a registry.

Example:

    xfn xpkg init function-hello go -d function-hello
    cd function-hello
    xfn render example/xr.yaml example/composition.yaml \
        example/functions.yaml --package function-hello=.
    xfn xpkg build -f package --embed-runtime-source . -o hello.xpkg
    xfn xpkg push -f hello.xpkg registry.example.org/acme/hello:v0.1.0
`

// run runs the program. It returns the exit code.
func run(ctx context.Context, args []string, stdin, stdout, stderr *os.File) int {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	term := terminal.New(stdin, stdout, stderr)
	cli := &app{}
	dog := &proc.Watchdog{}
	ctx = proc.WithWatchdog(ctx, dog)
	helped := false
	if command := docs.PassedOn(args[1:]); name == "crossplane" && command != "" {
		code, err := passOn(ctx, command, args[1:], stdin, stdout, stderr)
		return max(code, report(term, name, err))
	}
	args, err := expandHome(arguments(args[1:]))
	if err != nil {
		return report(term, name, err)
	}
	term.RedactValues(args)
	parser, err := kong.New(grammar(cli, args),
		kong.Name(name),
		kong.Description(description),
		kong.Help(helpOf(name, cmp.Or(term.Columns, 80))),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(term, terminal.Program{Name: name, Version: version, Detail: term.Detail}),
	)
	if err != nil {
		return report(term, name, err)
	}
	if err := checkWords(args); err != nil {
		return report(term, name, err)
	}
	ignoreEmpty(parser.Model)
	kctx, err := parser.Parse(args)
	if helped {
		return docs.Done
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok && pe.Op == "write" {
		return report(term, name, fmt.Errorf("printing the help: %w", pe))
	}
	if err != nil {
		return misused(commandOf(args, err), report(term, name, explain(parser, args, err)))
	}
	if err := cmp.Or(emptyValue(kctx), checkVariables(kctx), checkOnce(kctx), checkLimits(kctx), checkOutputs(kctx)); err != nil {
		return misused(kctx.Selected().Name, report(term, name, &terminal.UsageError{Err: err}))
	}
	term.Quiet, term.Verbose, term.CrossplaneConfig = cli.Quiet, cli.Verbose, cli.Config
	failed := docs.Failed
	if cli.Diff.ExitCode {
		failed = docs.Misuse // 1 means that something would change.
	}
	defer dog.Start(cli.MemoryLimit.bytes, func(e *proc.MemoryError) {
		if len(e.Activities) == 0 {
			e.Activities = []string{"running " + kctx.Selected().FullPath()}
		}
		os.Exit(max(failed, report(term, name, hint.Wrap(e, "raise the limit with --memory-limit, if the machine has more memory"))))
	})()
	err = kctx.Run()
	term.Finish()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = hint.Wrap(errors.New("interrupted"), hint.Of(err))
	}
	code := report(term, name, hint.Wrap(err, cmp.Or(hint.Of(err), cacheHint(kctx, err))))
	if errors.Is(err, test.ErrDiffers) {
		return docs.Misuse
	}
	if code == docs.Failed && !errors.Is(err, render.ErrChanges) {
		return failed
	}
	return misused(kctx.Selected().Name, code)
}

// misused returns the exit code of a command that returned code. It is docs.Failed for a wrong
// command line of upgrade-check, whose exit code docs.Misuse means that something differs.
func misused(command string, code int) int {
	if code == docs.Misuse && command == "upgrade-check" {
		return docs.Failed
	}
	return code
}

// commandOf returns the name of the command in args that kong rejects: the command that kong
// read before err, or otherwise the first argument that is not a flag.
func commandOf(args []string, err error) string {
	if pe, ok := errors.AsType[*kong.ParseError](err); ok && pe.Context != nil && pe.Context.Selected() != nil {
		return pe.Context.Selected().Name
	}
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	return strings.Join(args[:min(len(args), 1)], "")
}

// grammar returns the struct into which kong parses args. It is cli without the commands
// that args do not name, because kong needs ten times as long to build a model of all
// commands. If args only ask for the help of the program, the commands in the result
// have no flags and no sub-commands. If args name no command, or a command with the tag
// model:"all", grammar returns cli.
func grammar(cli *app, args []string) any {
	fields := reflect.VisibleFields(reflect.TypeFor[app]())
	onlyHelp := len(args) == 1 && slices.Contains([]string{"--help", "-h", "--help-all"}, args[0])
	named := false
	for i, f := range fields {
		if _, ok := f.Tag.Lookup("cmd"); !ok {
			continue
		}
		if onlyHelp {
			fields[i].Type = reflect.TypeFor[struct{}]()
			continue
		}
		if name := cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)); len(args) == 0 || name != args[0] {
			fields[i].Tag = `kong:"-"`
			continue
		}
		named = f.Tag.Get("model") != "all"
	}
	if onlyHelp {
		return reflect.New(reflect.StructOf(fields)).Interface()
	}
	if !named {
		return cli
	}
	// Go can convert between struct types that differ only in their tags.
	return reflect.ValueOf(cli).Convert(reflect.PointerTo(reflect.StructOf(fields))).Interface()
}

// report prints err unless it is nil, and returns the exit code.
func report(term *terminal.Terminal, name string, err error) int {
	if err == nil {
		return docs.Done
	}
	// Print nothing if the reader of a pipe has closed it, as head does. An error of a network
	// connection that the other end has closed is printed.
	if !errors.Is(err, syscall.EPIPE) || errors.As(err, new(*net.OpError)) {
		term.Error(name, hint.Wrap(err, cmp.Or(temporaryHint(err), hint.Of(err), pathHint(err))))
	}
	switch {
	case errors.As(err, new(*engine.FatalError)):
		return docs.Fatal
	case errors.As(err, new(*terminal.UsageError)):
		return docs.Misuse
	default:
		return docs.Failed
	}
}

// temporaryHint returns a hint for a directory of temporary files that cannot be opened, or "".
func temporaryHint(err error) hint.Hint {
	if pe, ok := errors.AsType[*fs.PathError](err); ok && pe.Path == os.TempDir() {
		return "set TMPDIR to a directory in which you can write"
	}
	return ""
}

// pathHint returns a hint for a path that cannot be used, or "".
func pathHint(err error) hint.Hint {
	switch {
	case errors.As(err, new(*net.OpError)): // The path is the socket of a function, not of the user.
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "check the path, and its directory: a relative path begins at the working directory"
	case errors.Is(err, syscall.ENOTDIR):
		return "a parent of the path is a file, not a directory: correct the path"
	case errors.Is(err, syscall.EISDIR):
		return "this is a directory: name a file"
	default:
		return ""
	}
}

// cacheHint returns a hint for an error about a cache that the user may not change, or "".
func cacheHint(kctx *kong.Context, err error) hint.Hint {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return ""
	}
	for _, f := range kctx.Flags() {
		if f.Name != "cache-dir" {
			continue
		}
		if dir, pathErr := (flags.Cache{CacheDir: kctx.FlagValue(f).(string)}).Path(); pathErr == nil && strings.Contains(err.Error(), dir) {
			return "allow the user to write to the cache, or name another directory with --cache-dir or XFN_CACHE_DIR"
		}
	}
	return ""
}

// version and commit are set by the linker (see Makefile). commit is "" without git.
var (
	version = "devel"
	commit  string
)

type versionCmd struct {
	terminal.Format

	// Client is a flag of the crossplane CLI. xfn never asks a server.
	Client bool `hidden:""`
}

// Help is shown by --help.
func (versionCmd) Help() string {
	return "Example:\n\n    xfn version\n    xfn version --format json\n"
}

// build is the output of xfn version with --format json.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
}

// Run prints the version.
func (c versionCmd) Run(term *terminal.Terminal, p terminal.Program) error {
	b := build{Version: p.Version, Commit: commit, Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	return c.Print(term, b, fmt.Sprintln(p.Name, b.Version, b.Platform, b.Go))
}

// decodeDuration decodes the duration of a flag. Its errors show how to write one.
func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		err = fmt.Errorf("expected a duration with a unit, such as 90s or 5m, got %q", text)
		if _, notNumber := strconv.ParseFloat(text, 64); notNumber == nil {
			err = hint.Wrap(err, "write "+text+"s for seconds")
		}
		return err
	}
	target.SetInt(int64(d))
	return nil
}
