package project

import (
	"context"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	packages "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/project"
)

// LintCmd checks a project.
type LintCmd struct {
	fileFlags
	packages.LintLevel
	flags.FunctionCache
	packages.LintFormat
}

// Help is shown by --help.
func (LintCmd) Help() string {
	var b strings.Builder
	b.WriteString(`Checks what build would put into the packages, without building the functions. In GitHub Actions each problem is also an annotation of the code.

Examples:

    xfn project lint
    xfn project lint -f platform/upbound.yaml --lint=warn --format=json

Rules for projects, all warnings apart from function-source; xfn xpkg lint --help has the rules for packages:

`)
	for _, r := range project.LintRules() {
		fmt.Fprintf(&b, "    %-20s %s\n", r.Name, r.Finds)
	}
	return b.String()
}

// Run lints, and prints the problems or a summary.
func (c *LintCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) error {
	path, err := c.path(term)
	if err != nil {
		return err
	}
	p, err := project.Read(ctx, path) // Its warnings are problems of the report.
	if err != nil {
		return err
	}
	if err := c.replace(p); err != nil {
		return err
	}
	opts := lintOptions(p, c.Level(), c.Cache())
	report, err := project.Lint(ctx, p, opts)
	if err != nil {
		return err
	}
	return c.PrintLint(term, terminal.Findings{Command: "xfn project lint", Program: program}, p.Path, report, opts.Lint)
}
