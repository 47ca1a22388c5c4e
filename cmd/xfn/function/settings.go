package function

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// settings are the flags for the function's sandbox. In a render, annotations
// of the Function configure it.
type settings struct {
	Network         string        `enum:"Isolated,Runner" default:"Isolated" placeholder:"NETWORK" help:"Network of the function: Isolated has only its own loopback interface, Runner is this machine's. Default: ${default}."`
	Env             []string      `short:"e" sep:"none" placeholder:"KEY=VALUE" help:"Add an environment variable to the variables of the image. Repeatable."`
	Memory          string        `placeholder:"QUANTITY" help:"Memory limit, such as 512Mi. Default: 2Gi."`
	CPU             string        `name:"cpu" placeholder:"QUANTITY" help:"CPU limit, such as 500m. Default: no limit."`
	Writable        bool          `help:"Let the function write to its root file system, in memory."`
	Timeout         time.Duration `placeholder:"DURATION" help:"Timeout of each call. Default: none."`
	ImagePullPolicy string        `enum:"IfNotPresent,Always,Never" default:"IfNotPresent" placeholder:"POLICY" help:"When to fetch the image: ${enum}. Default: ${default}."`
}

// flagOf maps each annotation of a Function to the flag of xfn run with the same effect.
var flagOf = map[string]string{
	sandbox.AnnotationNetwork:    "--network",
	sandbox.AnnotationMemory:     "--memory",
	sandbox.AnnotationCPU:        "--cpu",
	sandbox.AnnotationWritable:   "--writable",
	sandbox.AnnotationTimeout:    "--timeout",
	sandbox.AnnotationPullPolicy: "--image-pull-policy",
}

// annotations returns the settings as annotations of a Function. It leaves out the
// environment, because annotations cannot express all of its values.
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

// check returns an error that names an invalid flag.
func (s settings) check() error {
	for _, pair := range s.Env {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return fmt.Errorf("reading --env: expected KEY=VALUE, got %q", pair)
		}
	}
	err := sandbox.Check(s.annotations())
	if wrong, ok := errors.AsType[*runtimes.AnnotationError](err); ok {
		return fmt.Errorf("reading %s: %w", flagOf[wrong.Annotation], wrong.Err)
	}
	return err
}
