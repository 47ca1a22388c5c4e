package xpkg

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/xpkg"
)

// Cmd is the command group xfn xpkg.
type Cmd struct {
	Init    InitCmd    `cmd:"" help:"Create the directory of a new package from a template."`
	Build   BuildCmd   `cmd:"" help:"Build a package file."`
	Lint    LintCmd    `cmd:"" help:"Find problems in a package."`
	Push    PushCmd    `cmd:"" help:"Push a package file to a registry."`
	Keygen  KeygenCmd  `cmd:"" help:"Generate a key pair that signs packages."`
	Sign    SignCmd    `cmd:"" help:"Sign a package that is in a registry."`
	Verify  VerifyCmd  `cmd:"" help:"Verify a package's signature and all its digests in a registry."`
	Pull    PullCmd    `cmd:"" help:"Pull a package from a registry into a file."`
	Copy    CopyCmd    `cmd:"" help:"Copy a package from one registry to another, with its signatures."`
	Inspect InspectCmd `cmd:"" help:"Show the content of a package."`
	Extract ExtractCmd `cmd:"" help:"Extract package.yaml, examples, a layer or the root file system of a package."`
	Diff    DiffCmd    `cmd:"" help:"Show the differences between two packages."`
	GetCRDs GetCRDsCmd `cmd:"" name:"get-crds" help:"Write the CRDs of packages and their dependencies."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Example:

    xfn xpkg init function-hello go -d function-hello
`
}

type registryFlags struct{ flags.Registries }

// created parses SOURCE_DATE_EPOCH (reproducible-builds.org). The default is
// 1970-01-01, the start of Unix time.
func created(sourceDateEpoch string) (time.Time, error) {
	if sourceDateEpoch == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	const year10000 = 253402300800 // in Unix time; RFC 3339 cannot express later years
	sec, err := strconv.ParseInt(sourceDateEpoch, 10, 64)
	if err != nil || sec < 0 || sec >= year10000 {
		return time.Time{}, &terminal.UsageError{Err: fmt.Errorf("reading SOURCE_DATE_EPOCH %q: expected the seconds since 1970", sourceDateEpoch)}
	}
	return time.Unix(sec, 0).UTC(), nil
}

// rules returns the rules that the commands check in addition to the rules of package xpkg.
// name is the path of a package root or file, and examples the directory of examples.
func rules(cache flags.Cache, name, examples string) []xpkg.Rule {
	var more []xpkg.Rule
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		more = append(more, LintClusterRoles([]string{name, examples}, false))
		name = filepath.Join(name, metaFile)
	}
	return append(more, LintCompositions(func(ctx context.Context) (composition.Inputs, error) {
		return cache.Inputs(ctx, inspect.CRDOptions{}, name)
	}))
}

type rootFlags struct {
	ExamplesRoot string   `once:"" short:"e" empty:"" placeholder:"DIR" help:"Directory of examples. Default: ./examples, if it exists."`
	Ignore       []string `more:"" empty:"" placeholder:"GLOB" help:"Files and directories in the package root to leave out. The name of a directory with a wildcard ends in /, ** matches any number of directories, and \\, is a comma. Repeatable."`
	LintLevel
}

// LintLevel is the flag for the level of linting.
type LintLevel struct {
	Lint string `enum:"strict,warn,off" default:"strict" placeholder:"LEVEL" help:"How to treat content that the control plane would drop or ignore: strict is an error, warn a warning, off prints nothing. Default: ${default}."`
}

// Level returns the level.
func (l LintLevel) Level() xpkg.Level {
	level, _ := xpkg.ParseLevel(l.Lint) // Kong has checked the value.
	return level
}

// options returns the options of xpkg.Read. The default of --examples-root is relative to
// the working directory, as in the crossplane CLI.
func (f rootFlags) options() xpkg.ReadOptions {
	opts := xpkg.ReadOptions{ExamplesRoot: f.ExamplesRoot, Ignore: f.Ignore, Lint: f.Level()}
	if opts.ExamplesRoot == "" {
		opts.ExamplesRoot, opts.ExamplesOptional = "examples", true
	}
	return opts
}

// checkIgnored checks the patterns of --ignore that match no file in the package root or among the
// examples. It warns if another pattern was probably meant, and otherwise prints a note. It does not
// check patterns with ** and patterns that leave the root.
func (f rootFlags) checkIgnored(term *terminal.Terminal, root string) {
	matches := func(pattern string) bool {
		return slices.ContainsFunc([]string{root, cmp.Or(f.ExamplesRoot, "examples"), "."}, func(dir string) bool {
			found, err := fs.Glob(os.DirFS(dir), pattern)
			return err != nil || len(found) > 0
		})
	}
	for _, pattern := range f.Ignore {
		clean := path.Clean(filepath.ToSlash(pattern))
		if pattern == "" || strings.Contains(clean, "**") || !fs.ValidPath(clean) || matches(clean) {
			continue
		}
		other, ending := strings.TrimSuffix(clean, ".yml"), ".yaml"
		if other == clean {
			other, ending = strings.TrimSuffix(clean, ".yaml"), ".yml"
		}
		var names []string
		entries, _ := os.ReadDir(filepath.Join(root, path.Dir(clean))) // A pattern may be below a directory that does not exist.
		for _, e := range entries {
			names = append(names, path.Join(path.Dir(clean), e.Name()))
		}
		meant := hint.Misspelled(clean, names)
		switch words := strings.Fields(pattern); {
		case slices.ContainsFunc(words, matches):
			meant = strings.Join(words, ",")
		case other != clean && matches(other+ending):
			meant = other + ending
		}
		text := fmt.Sprintf("--ignore %q matches no file", pattern)
		if meant == "" {
			term.Note(text)
		} else {
			term.Warn(text + hint.DidYouMean(meant))
		}
	}
}
