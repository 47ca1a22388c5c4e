package function

import (
	"context"
	"time"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/alpha"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// AlphaRunCmd is xfn alpha run, which runs one container.
type AlphaRunCmd struct {
	Image string `arg:"" help:"Reference of an image, or an .xpkg file or a folder with an OCI layout."`
	File  string `arg:"" optional:"" default:"-" help:"FunctionIO, or - for stdin. Default: ${default}."`

	Timeout         time.Duration `positive:"" default:"30s" help:"Timeout, including the pull of the image. Default: ${default}."`
	ImagePullPolicy string        `enum:"IfNotPresent,Always,Never" default:"IfNotPresent" placeholder:"POLICY" help:"When to fetch the image: ${enum}. Default: ${default}."`
	NetworkPolicy   string        `enum:"Isolated,Runner" default:"Isolated" placeholder:"POLICY" help:"Network of the function: Isolated has none, Runner is this machine's. Default: ${default}."`
	containerFlags
}

// Help is shown by --help.
func (AlphaRunCmd) Help() string {
	return `The output of the function is printed without validation. Its stderr is printed if it fails, or with --debug.

Examples:

    xfn alpha run registry.example.org/acme/function-hello:v1 io.yaml
    xfn alpha run function-hello.xpkg --network-policy=Runner <io.yaml
`
}

// Run runs the container and prints its output.
func (c *AlphaRunCmd) Run(ctx context.Context, term *terminal.Terminal, containers sandbox.Containers) error {
	containers.Files = true // Accept the path of a local file as the image, because the user wrote it.
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
	return term.Printf("%s", output)
}
