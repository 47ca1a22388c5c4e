package flags

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/session"
)

// Runtimes are how functions run.
type Runtimes struct {
	Package               map[string]string `mapsep:"none" placeholder:"NAME=PATH" help:"Run function NAME from an .xpkg file or a folder with a Go main package. Repeatable."`
	Runtime               string            `env:"XFN_RUNTIME" placeholder:"RUNTIME" help:"Run every function by Builtin, Sandbox, Docker, Process or Development."`
	Builtins              builtin.Mode      `enum:"auto,any,off,strict" default:"auto" help:"When a builtin stands in for a package: auto takes one for crossplane-contrib by tag, any for any owner's, strict only for versions that it was measured for, off none."`
	Builtin               map[string]string `mapsep:"none" placeholder:"REPO=NAME" help:"Let builtin NAME stand in for a repository. Repeatable."`
	Crosscheck            bool              `help:"Run the builtin beside each package that there is one for, and fail if they differ."`
	Templates             []string          `sep:"none" placeholder:"DIR" help:"Folder that function-go-templating may read, besides this one. Repeatable."`
	MaxMessageSize        int               `default:"64" placeholder:"MIB" help:"The largest answer of a function, in MiB."`
	FunctionResponseCache string            `placeholder:"DIR" help:"Keep functions' answers in DIR, for as long as their TTL says."`
	XfnCacheMaxTTL        time.Duration     `name:"xfn-cache-max-ttl" default:"24h" help:"The longest that an answer is kept, whatever its TTL."`
	Offline               bool              `help:"Fetch nothing: what is not in the cache is an error that lists all of it."`
	FunctionAnnotations   map[string]string `short:"a" mapsep:"none" placeholder:"KEY=VALUE" help:"Annotate every Function, over what its file says. Repeatable."`
	recordingFlags
	Cache
	Registries
	Lock
}

// Config says what all renders share, but for the functions file.
func (f Runtimes) Config(term *terminal.Terminal, program terminal.Program) (session.Config, error) {
	if err := f.Load(); err != nil {
		return session.Config{}, err
	}
	config, err := f.config(term, program)
	if err != nil {
		return config, &terminal.UsageError{Err: err}
	}
	return config, nil
}

func (f Runtimes) config(term *terminal.Terminal, program terminal.Program) (session.Config, error) {
	if f.XfnCacheMaxTTL <= 0 {
		return session.Config{}, fmt.Errorf("reading --xfn-cache-max-ttl: %s is no time to keep answers for", f.XfnCacheMaxTTL)
	}
	if err := terminal.CheckMessageSize(f.MaxMessageSize); err != nil {
		return session.Config{}, err
	}
	if _, ok := f.Package[""]; ok {
		return session.Config{}, errors.New("reading --package: expected NAME=PATH, but the name is empty")
	}
	runtime, err := session.ParseRuntime(f.Runtime)
	if err != nil {
		return session.Config{}, fmt.Errorf("reading --runtime or XFN_RUNTIME: %w", err)
	}
	builtins := builtin.Policy{Mode: f.Builtins, Repositories: f.Builtin}
	if err := builtins.Check(); err != nil {
		return session.Config{}, fmt.Errorf("reading --builtin: %w", err)
	}
	config := session.Config{
		Reader:         manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin},
		Packages:       f.Package,
		Annotations:    f.FunctionAnnotations,
		Cache:          f.FunctionResponseCache,
		CacheMaxTTL:    f.XfnCacheMaxTTL,
		Now:            time.Now,
		Runtime:        runtime,
		Builtins:       builtins,
		BuiltinOptions: builtin.Options{Templates: f.Templates, Progress: term.Progress},
		Crosscheck:     f.Crosscheck,
		Progress:       term.Progress,
	}
	if err := f.apply(&config); err != nil {
		return session.Config{}, err
	}
	err = f.start(&config, term, program)
	return config, err
}
