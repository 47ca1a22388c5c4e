package flags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/language/golang"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// Runtimes are the flags for running functions.
type Runtimes struct {
	Package               map[string]string     `mapsep:"none" placeholder:"NAME=PATH" help:"Run function NAME from an .xpkg file or its source. The source is a folder in Go, Python, TypeScript, go-templating or KCL. Repeatable."`
	Runtime               string                `env:"XFN_RUNTIME" placeholder:"RUNTIME" help:"Run every function with this runtime: Builtin, Sandbox, Docker, Process or Development."`
	Builtins              builtin.Mode          `more:"" enum:"auto,any,off,strict" default:"auto" help:"When a builtin replaces a package: auto, for tags of crossplane-contrib; any, for any owner; strict, only for tested versions; off, never."`
	Builtin               map[string]string     `more:"" mapsep:"none" placeholder:"REPO=NAME" help:"Replace the packages of a repository by builtin NAME. Repeatable."`
	BuiltinOption         []string              `more:"" sep:"none" placeholder:"NAME.KEY=VALUE" help:"Set a flag that the real function NAME has, such as go-templating.default-source=DIR. Repeatable."`
	ExplainBuiltins       bool                  `more:"" help:"Print for each step why it runs as a builtin or not, as --verbose does."`
	Crosscheck            bool                  `more:"" help:"Run both the package and the builtin of each function that has a builtin, and fail if the responses differ."`
	Templates             []gotemplating.Folder `more:"" sep:"none" placeholder:"[PATH=]DIR" help:"Folder that function-go-templating may read, in addition to the working directory. Inputs can name it as the absolute PATH, such as that of a volume. Repeatable."`
	MaxMessageSize        int                   `more:"" limits:"1 2047 MiB" default:"64" placeholder:"MIB" help:"The maximum size of a function's response, in MiB."`
	FunctionResponseCache string                `more:"" placeholder:"DIR" help:"Cache responses of functions in DIR for their TTL."`
	XfnCacheMaxTTL        time.Duration         `more:"" positive:"" name:"xfn-cache-max-ttl" default:"24h" help:"The maximum time for which a response is cached."`
	Lenient               bool                  `more:"" xor:"strict" group:"Crossplane:" help:"Only warn of unknown fields of a Composition, which an API server drops."`
	Offline               bool                  `group:"Registry:" help:"Fetch nothing. If images are missing in the cache, the error lists all of them."`
	FunctionAnnotations   []string              `more:"" short:"a" sep:"none" empty:"" placeholder:"KEY=VALUE" help:"Annotate every Function, overriding annotations of its file. Repeatable, or separated by commas."`
	recordingFlags
	Git        `group:"Registry:"`
	Index      `group:"Registry:"`
	Cache      `group:"Registry:"`
	Registries `group:"Registry:"`
	Lock       `group:"Registry:"`
	Verified   `group:"Registry:"`
}

// Config returns the config of a session. Images are fetched with the rewrites of the project p,
// which may be nil. The caller sets the functions file.
func (f Runtimes) Config(term *terminal.Terminal, program terminal.Program, p *project.Project) (session.Config, error) {
	if err := f.Load(); err != nil {
		return session.Config{}, err
	}
	config, err := f.config(term, program, p)
	return config, terminal.Usage(err)
}

func (f Runtimes) config(term *terminal.Terminal, program terminal.Program, p *project.Project) (session.Config, error) {
	if _, ok := f.Package[""]; ok {
		return session.Config{}, errors.New("reading --package: expected NAME=PATH, but the name is empty")
	}
	for _, folder := range f.Templates {
		if info, err := os.Stat(folder.Dir); err != nil || !info.IsDir() {
			err := fmt.Errorf("reading --templates: there is no directory %q", folder.Dir)
			return session.Config{}, hint.Wrap(err, cmp.Or(manifest.Similar(afero.NewOsFs(), folder.Dir), "name an existing directory"))
		}
	}
	runtime, err := session.ParseRuntime(f.Runtime)
	if err != nil {
		return session.Config{}, fmt.Errorf("reading --runtime or XFN_RUNTIME: %w", err)
	}
	builtins := builtin.Policy{Mode: f.Builtins, Repositories: f.Builtin}
	if err := builtins.Check(); err != nil {
		return session.Config{}, fmt.Errorf("reading --builtin: %w", err)
	}
	settings, err := builtin.ParseSettings(f.BuiltinOption)
	if err != nil {
		return session.Config{}, fmt.Errorf("reading --builtin-option: %w", err)
	}
	annotations, err := FunctionAnnotations(f.FunctionAnnotations)
	if err != nil {
		return session.Config{}, err
	}
	config := session.Config{
		Reader:          manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin, Warn: term.WarnOnce()},
		Packages:        f.Package,
		Annotations:     annotations,
		Cache:           f.FunctionResponseCache,
		CacheMaxTTL:     f.XfnCacheMaxTTL,
		Now:             time.Now,
		Runtime:         runtime,
		Builtins:        builtins,
		BuiltinOptions:  builtin.Options{GoTemplating: gotemplating.Options{Templates: f.Templates}, Settings: settings, Progress: term.Progress},
		ExplainBuiltins: f.ExplainBuiltins || term.Verbose,
		Crosscheck:      f.Crosscheck,
		Lenient:         f.Lenient,
		Progress:        term.Progress,
	}
	if err := f.apply(&config); err != nil {
		return session.Config{}, err
	}
	err = f.start(&config, term, program, p)
	return config, err
}

// start adds the runtimes of this machine to the config of a session.
func (f Runtimes) start(config *session.Config, term *terminal.Terminal, program terminal.Program, p *project.Project) error {
	options := runtimes.LocalOptions{TempDir: os.TempDir(), MaxMessageSize: f.MaxMessageSize << 20, Progress: term.Progress}
	if term.Verbose {
		options.Output = func(function, line string) { term.Note(function + " says: " + line) }
	}
	// Without a home directory dir is "". Only a runtime that uses the cache then fails.
	dir, err := f.Path()
	if err != nil && f.CacheDir != "" {
		return err
	}
	processes := process.Process{LocalOptions: options, Env: process.Environment(os.Environ()), GoEnv: os.Environ(), Programs: golang.Programs(dir)}
	client := f.Client(program)
	pulling := image.Options{Remote: client, Progress: term.Progress, Offline: f.Offline, Pin: f.Pin()}
	if p != nil {
		pulling.Rewrite = p.Rewritten
	}
	if config.Verify, err = f.verify(pulling); err != nil {
		return err
	}
	build := f.builder(dir, client, pulling)
	config.Runtimes = map[session.Runtime]runtimes.Runtime{
		session.Process: build.Runtime(processes, true),
		session.Docker: build.Runtime(docker.New(docker.Config{
			Environment:  dockerengine.FromEnviron(os.Environ()),
			UserAgent:    program.UserAgent(),
			Dir:          dir,
			Registry:     f.Registry,
			Remote:       client,
			Offline:      f.Offline,
			Pin:          f.Pin(),
			Rewrite:      pulling.Rewrite,
			LocalOptions: options,
		}), false),
		session.Development: runtimes.Development{MaxMessageSize: f.MaxMessageSize << 20},
	}
	config.Dependencies = Versions{Lock: f.Lock, Parse: f.Reference, Remote: client, Rewrite: pulling.Rewrite, Offline: f.Offline, Cache: dir}
	config.Locked = f.Locked
	if runtime.GOOS != "linux" {
		return nil
	}
	sandboxes := sandbox.Sandbox{Cache: dir, Registry: f.Registry, Pull: pulling, LocalOptions: options}
	processes.Packages = sandbox.Confined{Sandbox: sandboxes}
	config.Runtimes[session.Process], config.Runtimes[session.Sandbox] = build.Runtime(processes, true), build.Runtime(sandboxes, false)
	config.Containers = sandbox.Containers{Cache: dir, Registry: f.Registry, Pull: pulling, Files: true, Progress: term.Progress}
	return nil
}

// builder returns a Builder that builds functions from source, with base images from the
// cache in dir.
func (f Runtimes) builder(dir string, client *remote.Client, pull image.Options) languages.Builder {
	return languages.Builder{
		Cache:     dir,
		Artifacts: f.Artifacts(client, f.Offline, f.Index),
		Options:   runtimeimage.Options{Env: os.Environ(), TempDir: os.TempDir(), Progress: pull.Progress},
		Base: func(ctx context.Context, reference string, opts runtimeimage.Options) (*runtimeimage.Images, error) {
			ref, err := f.BaseReference(reference, pull.Rewrite, pull.Pin)
			if err != nil {
				return nil, err
			}
			from := pull
			from.Rewrite, from.Pin = nil, nil // The reference is rewritten and pinned.
			return runtimeimage.FromCache(ctx, dir, ref, image.IfNotPresent, from, opts)
		},
	}
}

type recordingFlags struct {
	Record string `writes:"calls/" more:"" xor:"recording" placeholder:"DIR" help:"Write every call of a function to a file below DIR, for --replay. Files contain all data that functions see, except credentials."`
	Replay string `more:"" xor:"recording" placeholder:"DIR" help:"Return the recorded responses in DIR, and start no function. A call that was not recorded is an error."`
	Twice  bool   `more:"" help:"Call each function twice, and fail if the responses differ."`
}

func (f recordingFlags) apply(config *session.Config) error {
	if err := CheckDir("function-response-cache", config.Cache); err != nil {
		return err
	}
	switch {
	case f.Twice && f.Replay != "":
		return errors.New("--twice and --replay cannot be used together")
	case f.Twice && config.Cache != "":
		return errors.New("--twice and --function-response-cache cannot be used together")
	case f.Replay != "":
		var err error
		config.Replay, err = Replay(f.Replay)
		return err
	case f.Record == "" && !f.Twice:
		return nil
	}
	if err := CheckDir("record", f.Record); err != nil {
		return err
	}
	config.Wrap = func(r function.Runner) function.Runner {
		if f.Twice {
			r = intercept.Twice(r)
		}
		if f.Record != "" {
			r = intercept.Record(f.Record, r)
		}
		return explained(r)
	}
	return nil
}

// Replay returns a Runner that replays the recording in dir. If a call was not recorded,
// the error shows how its request differs from a recorded request.
func Replay(dir string) (function.Runner, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("opening recording %q: %w", dir, fsx.Cause(err))
	}
	return explained(intercept.Replay(dir)), nil
}

// explained returns a Runner that calls r. To a *intercept.MissError it adds how the
// request differs from a recorded request, and to a *intercept.UnstableError how two
// responses to the same request differ.
func explained(r function.Runner) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp, err := r.RunFunction(ctx, name, req)
		miss, isMiss := errors.AsType[*intercept.MissError](err)
		differ, isUnstable := errors.AsType[*intercept.UnstableError](err)
		switch {
		case isMiss && miss.Recorded == nil:
			return nil, hint.Wrap(err, "record the call with --record "+miss.Dir)
		case isMiss:
			return nil, hint.Wrap(differing(err, miss.Recorded, miss.Now), "if the change is intended, record the call with --record "+miss.Dir)
		case isUnstable:
			return nil, differing(err, differ.First, differ.Second)
		}
		return rsp, err
	})
}

// most is the maximum number of differences in an error.
const most = 20

func differing(err error, before, after map[string]any) error {
	changes := fieldpath.Diff(before, after)
	if len(changes) == 0 {
		return err
	}
	more := ""
	if n := len(changes) - most; n > 0 {
		changes, more = changes[:most], fmt.Sprintf("\nand %d more", n)
	}
	var text strings.Builder
	if writeErr := report.WriteFields(&text, changes, report.Style{Columns: 80}); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	return fmt.Errorf("%w:\n%s%s", err, strings.TrimRight(text.String(), "\n"), more)
}
