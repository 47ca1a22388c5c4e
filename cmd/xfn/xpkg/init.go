package xpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/templates"
)

// InitCmd creates the directory of a new package.
type InitCmd struct {
	Name     string `arg:"" help:"Name of the new package."`
	Template string `arg:"" surplus:"as in xfn xpkg init function-example go" help:"A bundled template (go, go-minimal, go-templating, kcl, python, typescript), a well-known name, the URL of a git repository, or the path of a git repository."`

	Directory     string `short:"d" default:"." placeholder:"DIR" meant:"output" help:"Directory to fill, which is created if it does not exist. It must be empty except for .git."`
	RefName       string `short:"b" empty:"" placeholder:"REF" help:"Branch, tag or commit of the template."`
	RunInitScript bool   `short:"r" help:"Run the template's init.sh without asking."`
}

// Help is shown by --help.
func (InitCmd) Help() string {
	return `Well-known templates: go, go-minimal, go-templating, kcl, python and typescript (bundled, need no network), function-template-go, function-template-python, configuration-template, provider-template, provider-template-upjet.

Examples:

    xfn xpkg init function-hello go -d function-hello
    xfn xpkg init function-hello go-templating -d function-hello
    xfn xpkg init function-hello function-template-go -d function-hello -b main
`
}

// Run fills the directory, and prints the notes of the template.
func (c *InitCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	res, err := scaffold.Init(ctx, scaffold.Options{
		Name: c.Name, Template: c.Template, Ref: c.RefName, Dir: c.Directory,
		Progress: progress.Func(term.Progress).Plain(), Warn: term.Warn,
	})
	_, isTemplate := templates.Lookup(c.Template)
	if _, swapped := templates.Lookup(c.Name); err != nil && swapped && !isTemplate {
		return hint.Wrap(err, fmt.Sprintf("the order is name, template: xfn xpkg init %s %s", c.Template, c.Name))
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintln(res)
	if res.Notes != "" {
		text += "\n" + terminal.Printable(res.Notes) + "\n"
	}
	if err := term.Printf("%s", text); err != nil || res.Script == "" {
		return err
	}
	run, err := c.consent(ctx, term, res)
	if run {
		err = scaffold.RunScript(ctx, res, term.Stdin, term.Stdout, term.Stderr())
	}
	if ctx.Err() != nil {
		err = errors.Join(err, res.Undo())
	}
	return err
}

// consent asks whether to run init.sh. If standard input ends without an
// answer, consent warns and returns false.
func (c *InitCmd) consent(ctx context.Context, term *terminal.Terminal, res scaffold.Result) (bool, error) {
	if c.RunInitScript {
		return true, nil
	}
	question := "\nFound init.sh script!\nDo you want to run it? [y]es/[n]o/[v]iew: "
	for {
		answer, err := ask(ctx, term, question)
		switch {
		case errors.Is(err, io.EOF) && !term.Interactive():
			term.Warn(fmt.Sprintf("init.sh was not run, because standard input has no answer; to run it yourself: %q %q %q", res.Script, res.Name, res.Dir))
			return false, nil
		case ctx.Err() != nil:
			return false, err
		case err != nil:
			return false, hint.Wrap(fmt.Errorf("asking whether to run init.sh: %w", err), "answer y, n or v, or use --run-init-script")
		case answer != scaffold.View:
			return answer == scaffold.Yes, nil
		}
		text, err := os.ReadFile(res.Script)
		if err != nil {
			return false, fmt.Errorf("showing init.sh: %w", err)
		}
		question = "\n" + terminal.Printable(string(text)) + "\nDo you want to run it? [y]es/[n]o/[v]iew: "
	}
}

// ask prints a question and returns its answer. Without a terminal, it prints the
// question only if standard input has an answer.
func ask(ctx context.Context, term *terminal.Terminal, question string) (answer scaffold.Answer, err error) {
	answered := func() (scaffold.Answer, error) { return scaffold.ReadAnswer(term.Stdin) }
	if !term.Interactive() {
		if answer, err = proc.Await(ctx, answered); errors.Is(err, io.EOF) {
			return answer, err
		}
	}
	if _, writeErr := io.WriteString(term.Stdout, question); writeErr != nil {
		return scaffold.No, fmt.Errorf("asking whether to run init.sh: %w", writeErr)
	}
	if term.Interactive() {
		return proc.Await(ctx, answered)
	}
	return answer, err
}
