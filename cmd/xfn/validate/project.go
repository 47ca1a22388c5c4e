package validate

import (
	"context"
	"errors"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/inspect"
)

const usage = "the usage is xfn validate [<schemas> [<resources>]] [flags]; separate several paths by commas, as in a.yaml,b.yaml"

// paths returns the arguments. Without arguments, it returns those of the project in the
// working directory, its APIs and dependencies, and its examples, and changes o for it.
func (c *Cmd) paths(ctx context.Context, term *terminal.Terminal, o *inspect.CRDOptions) (schemas, resources []string, err error) {
	switch {
	case c.Extensions != "" && c.Resources != "":
		return split(c.Extensions), split(c.Resources), nil
	case c.Extensions != "" || c.Resources != "":
		return nil, nil, &terminal.UsageError{Err: hint.Wrap(errors.New("expected both schemas and resources"), usage)}
	}
	p, err := flags.FindProject(ctx, term)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, &terminal.UsageError{Err: hint.Wrap(errors.New("expected schemas and resources, or a project in the working directory"), usage)}
	}
	if schemas, err = p.Existing(p.Paths.APIs); err != nil {
		return nil, nil, err
	}
	if resources, err = p.Existing(p.Paths.Examples); err != nil {
		return nil, nil, err
	}
	o.Rewrite = p.Rewritten
	more, err := flags.FunctionFolders(p, o)
	if err != nil {
		return nil, nil, err
	}
	schemas = append(schemas, more...)
	images := image.Options{Remote: o.Remote, Progress: o.Progress, Offline: o.Offline || o.Follow == inspect.FollowNone}
	return append(schemas, p.Path), resources, c.UseDependencies(ctx, p, &o.Files, images, o.Lock)
}
