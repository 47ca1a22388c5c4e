package alpha

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// RunCmd runs one container.
type RunCmd struct {
	Image string `arg:"" help:"Reference of an image, or an .xpkg file or a folder with an OCI layout."`
	File  string `arg:"" optional:"" default:"-" help:"FunctionIO, or - for stdin, which is the default."`

	Timeout         time.Duration `default:"30s" help:"How long it may take, with getting the image. Default: ${default}."`
	ImagePullPolicy string        `enum:"IfNotPresent,Always,Never" default:"IfNotPresent" placeholder:"POLICY" help:"When the image is fetched: ${enum}. Default: ${default}."`
	NetworkPolicy   string        `enum:"Isolated,Runner" default:"Isolated" placeholder:"POLICY" help:"The function's network: Isolated is none, Runner this machine's. Default: ${default}."`
	containerFlags
}

// Help is shown by --help.
func (RunCmd) Help() string {
	return `What the function writes is printed as it is: nobody looks whether it is a FunctionIO. What it writes to stderr is printed if it fails, or with --debug.

Examples:

    xfn alpha run registry.example.org/acme/function-hello:v1 io.yaml
    xfn alpha run function-hello.xpkg --network-policy=Runner <io.yaml
`
}

// Run runs the container and prints what it answers.
func (c *RunCmd) Run(ctx context.Context, group *Cmd, term *terminal.Terminal, program terminal.Program) error {
	if c.Timeout <= 0 {
		return &terminal.UsageError{Err: fmt.Errorf("reading --timeout: %s is no time to run in", c.Timeout)}
	}
	containers, err := group.containers(c.containerFlags, term, program)
	if err != nil {
		return err
	}
	containers.Files = true // They are the user's own.
	input, err := manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin}.Bytes(ctx, c.File)
	if err != nil {
		return err
	}
	output, err := containers.RunContainer(ctx, alpha.ContainerRequest{
		Image:      c.Image,
		Input:      input,
		PullPolicy: alpha.PullPolicy(c.ImagePullPolicy),
		Network:    alpha.NetworkPolicy(c.NetworkPolicy),
		Timeout:    c.Timeout,
	})
	if err != nil {
		return err
	}
	if _, err := term.Stdout.Write(output); err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}
