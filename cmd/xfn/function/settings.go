package function

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/runtimes/local"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// settings are how the function is confined: what annotations say for a render.
type settings struct {
	Network         string        `enum:"Isolated,Runner" default:"Isolated" placeholder:"NETWORK" help:"The function's network: Isolated is its own loopback, Runner this machine's. Default: ${default}."`
	Env             []string      `short:"e" sep:"none" placeholder:"KEY=VALUE" help:"Add to the image's environment. Repeatable."`
	Memory          string        `placeholder:"QUANTITY" help:"How much memory it may use, as 512Mi. Default: 2Gi."`
	CPU             string        `name:"cpu" placeholder:"QUANTITY" help:"How much of the processors it may use, as 500m. Default: no limit."`
	Writable        bool          `help:"Let it write to its root file system, in memory."`
	Timeout         time.Duration `placeholder:"DURATION" help:"How long a call may take. Default: as long as it wants."`
	ImagePullPolicy string        `enum:"IfNotPresent,Always,Never" default:"IfNotPresent" placeholder:"POLICY" help:"When the image is fetched: ${enum}. Default: ${default}."`
}

// ownVariables are the annotations' names here.
var ownVariables = map[string]string{
	sandbox.AnnotationNetwork:    "--network",
	sandbox.AnnotationMemory:     "--memory",
	sandbox.AnnotationCPU:        "--cpu",
	sandbox.AnnotationWritable:   "--writable",
	sandbox.AnnotationTimeout:    "--timeout",
	sandbox.AnnotationPullPolicy: "--image-pull-policy",
}

// annotations returns the settings but for the environment, of which annotations
// cannot say everything.
func (s settings) annotations() map[string]string {
	all := map[string]string{
		sandbox.AnnotationNetwork:    s.Network,
		sandbox.AnnotationWritable:   strconv.FormatBool(s.Writable),
		sandbox.AnnotationPullPolicy: s.ImagePullPolicy,
	}
	if s.Memory != "" {
		all[sandbox.AnnotationMemory] = s.Memory
	}
	if s.CPU != "" {
		all[sandbox.AnnotationCPU] = s.CPU
	}
	if s.Timeout != 0 {
		all[sandbox.AnnotationTimeout] = s.Timeout.String()
	}
	return all
}

// check returns what is wrong with the ownVariables.
func (s settings) check() error {
	for _, pair := range s.Env {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return fmt.Errorf("reading --env: expected KEY=VALUE, got %q", pair)
		}
	}
	err := sandbox.Check(s.annotations())
	var wrong *local.AnnotationError
	if errors.As(err, &wrong) {
		return fmt.Errorf("reading %s: %w", ownVariables[wrong.Annotation], wrong.Err)
	}
	return err
}
