package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

const prefix = "render.crossplane.io/runtime-sandbox-"

// The annotations of a Function that configure its sandbox.
const (
	// AnnotationNetwork is the network of the function: Isolated (the default), or Runner
	// for the network of this machine.
	AnnotationNetwork = prefix + "network"
	// AnnotationEnv adds variables to the image's environment: KEY=value,
	// separated by commas.
	AnnotationEnv = prefix + "env"
	// AnnotationMemory and AnnotationCPU are limits as Kubernetes quantities, such as
	// 128Mi and 500m.
	AnnotationMemory = prefix + "memory"
	AnnotationCPU    = prefix + "cpu"
	// AnnotationTimeout is the timeout of each call of the function, such as 20s.
	AnnotationTimeout = prefix + "timeout"
	// AnnotationWritable, if true, lets the function write to its root. The changes are
	// kept in memory.
	AnnotationWritable = prefix + "writable"
	// AnnotationPullPolicy is IfNotPresent (the default), Always or Never.
	AnnotationPullPolicy = prefix + "pull-policy"
)

// Annotations returns the annotations of a Function that configure its sandbox.
func (Sandbox) Annotations() []string {
	return []string{
		AnnotationNetwork, AnnotationEnv, AnnotationMemory, AnnotationCPU,
		AnnotationTimeout, AnnotationWritable, AnnotationPullPolicy,
	}
}

// Check validates the annotations of a Function. It returns a runtimes.AnnotationError for
// the first annotation that is invalid.
func Check(annotations map[string]string) error {
	_, err := parseSettings(annotations)
	return err
}

type settings struct {
	network  sandbox.Network
	env      []string
	limits   sandbox.Limits
	timeout  time.Duration
	writable bool
	policy   image.Policy
}

// parseSettings parses the annotations of a Function. A setting without an annotation
// gets its default.
func parseSettings(annotations map[string]string) (s settings, err error) {
	all := []runtimes.Setting{
		{Annotation: AnnotationNetwork, Parse: runtimes.ParseInto(&s.network, parseNetwork)},
		{Annotation: AnnotationEnv, Parse: runtimes.ParseInto(&s.env, runtimes.ParseEnv)},
		{Annotation: AnnotationMemory, Parse: runtimes.ParseInto(&s.limits.Memory, parseMemory)},
		{Annotation: AnnotationCPU, Parse: runtimes.ParseInto(&s.limits.CPU, parseCPU)},
		{Annotation: AnnotationTimeout, Parse: runtimes.ParseInto(&s.timeout, parseTimeout)},
		{Annotation: AnnotationWritable, Parse: runtimes.ParseInto(&s.writable, strconv.ParseBool)},
		{Annotation: AnnotationPullPolicy, Parse: runtimes.ParseInto(&s.policy, image.ParsePolicy)},
	}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		isName := func(known runtimes.Setting) bool { return known.Annotation == name }
		if strings.HasPrefix(name, prefix) && !slices.ContainsFunc(all, isName) {
			return s, &runtimes.AnnotationError{Annotation: name, Err: errors.New("unknown setting of the sandbox runtime")}
		}
	}
	err = runtimes.ParseAnnotations(annotations, all)
	return s, err
}

// minMemory is the lowest memory limit that an annotation may set, in bytes. A program
// needs as much to report an error. A smaller value probably lacks a unit.
const minMemory = 16 << 20

func parseMemory(text string) (int64, error) {
	bytes, err := positive(text, (*resource.Quantity).Value)
	if err == nil && bytes < minMemory {
		err = fmt.Errorf("%q is %d bytes, expected at least 16Mi", text, bytes)
	}
	return bytes, err
}

func parseCPU(text string) (int64, error) { return positive(text, (*resource.Quantity).MilliValue) }

func parseNetwork(text string) (sandbox.Network, error) {
	switch text {
	case "Isolated":
		return sandbox.Isolated, nil
	case "Runner":
		return sandbox.Runner, nil
	default:
		return 0, fmt.Errorf("unknown network %q: expected Isolated or Runner", text)
	}
}

func parseTimeout(text string) (time.Duration, error) {
	timeout, err := time.ParseDuration(text)
	if err == nil && timeout <= 0 {
		err = fmt.Errorf("must be positive, got %s", text)
	}
	return timeout, err
}

// positive parses text as a Kubernetes quantity, which must be positive. It converts the
// quantity with the function value.
func positive(text string, value func(*resource.Quantity) int64) (int64, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("expected a quantity such as 128Mi or 500m, got %q", text)
	}
	if q.Sign() <= 0 {
		return 0, fmt.Errorf("must be positive, got %q", text)
	}
	return value(&q), nil
}

// bounded returns a Runner that calls r with the timeout in s. Without a timeout it
// returns r.
func (s settings) bounded(r function.Runner) function.Runner {
	if s.timeout == 0 {
		return r
	}
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no answer within %s", s.timeout))
		defer cancel()
		return r.RunFunction(ctx, name, req)
	})
}
