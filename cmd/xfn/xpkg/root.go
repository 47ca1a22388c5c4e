package xpkg

import (
	"github.com/xfn-dev/xfn/xpkg"
)

// rules are those of packages that package xpkg does not know itself.
var rules = []xpkg.Rule{LintCompositions}

// rootFlags say what is read of a package root, and how strictly.
type rootFlags struct {
	ExamplesRoot string   `short:"e" placeholder:"DIR" help:"Directory of examples. Default: ./examples, if it exists."`
	Ignore       []string `placeholder:"GLOB" help:"Files and directories in the package root to leave out; ** is any number of directories, and \\, a comma. Repeatable."`
	Lint         string   `enum:"strict,warn,off" default:"strict" placeholder:"LEVEL" help:"What to do about that which the control plane would lose or pass over: strict refuses it, warn lists it, off is silent about it. Default: ${default}."`
}

func (f rootFlags) options() (xpkg.ReadOptions, error) {
	level, err := xpkg.ParseLevel(f.Lint)
	opts := xpkg.ReadOptions{ExamplesRoot: f.ExamplesRoot, Ignore: f.Ignore, Lint: level, Rules: rules}
	if opts.ExamplesRoot == "" {
		opts.ExamplesRoot, opts.ExamplesOptional = "examples", true
	}
	return opts, err
}
