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
	"github.com/xfn-dev/xfn/internal/progress"
)

// InitCmd makes the directory of a new package.
type InitCmd struct {
	Name     string `arg:"" help:"Name of the new package."`
	Template string `arg:"" help:"A bundled template (go), a well-known name, the URL of a git repository, or a path to one."`

	Directory     string `short:"d" default:"." placeholder:"DIR" help:"Directory to fill; made if it does not exist. It must be empty but for a .git."`
	RefName       string `short:"b" placeholder:"REF" help:"Branch, tag or commit of the template."`
	RunInitScript bool   `short:"r" help:"Run the template's init.sh without asking."`
}

// Help is shown by --help.
func (InitCmd) Help() string {
	return `Well-known templates: go (bundled, needs no network), function-template-go, function-template-python, configuration-template, provider-template, provider-template-upjet.

Examples:

    xfn xpkg init function-hello go -d function-hello
    xfn xpkg init function-hello function-template-go -d function-hello -b main
`
}

// Run fills the directory, and prints what the template has to say.
func (c *InitCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	res, err := scaffold.Init(ctx, scaffold.Options{
		Name: c.Name, Template: c.Template, Ref: c.RefName, Dir: c.Directory,
		Progress: progress.Func(term.Progress).Plain(), Warn: term.Warn,
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(term.Stdout, res); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	if res.Notes != "" {
		if _, err := fmt.Fprintf(term.Stdout, "\n%s\n", terminal.Printable(res.Notes)); err != nil {
			return fmt.Errorf("printing the notes: %w", err)
		}
	}
	if res.Script == "" {
		return nil
	}
	err = c.runScript(ctx, term, res)
	if ctx.Err() != nil {
		err = errors.Join(err, res.Undo())
	}
	return err
}

func (c *InitCmd) runScript(ctx context.Context, term *terminal.Terminal, res scaffold.Result) error {
	run, err := c.consent(ctx, term, res)
	if err != nil || !run {
		return err
	}
	return scaffold.RunScript(ctx, res, term.Stdin, term.Stdout, term.Stderr())
}

// consent asks whether to run the script. Where nobody can answer, the script
// does not run.
func (c *InitCmd) consent(ctx context.Context, term *terminal.Terminal, res scaffold.Result) (bool, error) {
	if c.RunInitScript {
		return true, nil
	}
	ask := "\nFound init.sh script!\nDo you want to run it? [y]es/[n]o/[v]iew: "
	for {
		answer, err := c.ask(ctx, term, ask)
		switch {
		case errors.Is(err, io.EOF) && !term.Interactive():
			term.Warn(fmt.Sprintf("init.sh was not run, since nobody could be asked; to run it yourself: %s %q %q", res.Script, res.Name, res.Dir))
			return false, nil
		case err != nil:
			return false, hint.Wrap(fmt.Errorf("asking whether to run init.sh: %w", err), "answer y, n or v, or use --run-init-script")
		case answer != scaffold.View:
			return answer == scaffold.Yes, nil
		}
		text, err := os.ReadFile(res.Script)
		if err != nil {
			return false, fmt.Errorf("showing init.sh: %w", err)
		}
		ask = "\n" + terminal.Printable(string(text)) + "\nDo you want to run it? [y]es/[n]o/[v]iew: "
	}
}

// ask prints a question and returns its answer. Where no person sees it, it is
// only printed if there is an answer.
func (c *InitCmd) ask(ctx context.Context, term *terminal.Terminal, question string) (answer scaffold.Answer, err error) {
	if !term.Interactive() {
		if answer, err = answered(ctx, term.Stdin); errors.Is(err, io.EOF) {
			return answer, err
		}
	}
	if _, writeErr := io.WriteString(term.Stdout, question); writeErr != nil {
		return scaffold.No, fmt.Errorf("asking whether to run init.sh: %w", writeErr)
	}
	if term.Interactive() {
		return answered(ctx, term.Stdin)
	}
	return answer, err
}

// answered reads an answer, or until ctx is done.
func answered(ctx context.Context, stdin io.Reader) (scaffold.Answer, error) {
	type reply struct {
		answer scaffold.Answer
		err    error
	}
	replied := make(chan reply, 1)
	go func() {
		a, err := scaffold.ReadAnswer(stdin)
		replied <- reply{a, err}
	}()
	select {
	case r := <-replied:
		return r.answer, r.err
	case <-ctx.Done():
		return scaffold.No, context.Cause(ctx)
	}
}
