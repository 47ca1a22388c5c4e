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
	"github.com/xfn-dev/xfn/internal/runtimes/local"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// prefix begins the annotations of this runtime.
const prefix = "render.crossplane.io/runtime-sandbox-"

// Annotations of a Function for its sandbox.
const (
	// AnnotationNetwork is Isolated (the default), or Runner for the
	// network of this machine.
	AnnotationNetwork = prefix + "network"
	// AnnotationEnv adds variables to the image's environment: KEY=value,
	// separated by commas.
	AnnotationEnv = prefix + "env"
	// AnnotationMemory and AnnotationCPU are limits as quantities, such as
	// 128Mi and 500m.
	AnnotationMemory = prefix + "memory"
	AnnotationCPU    = prefix + "cpu"
	// AnnotationTimeout is the timeout of each call, such as 20s.
	AnnotationTimeout = prefix + "timeout"
	// AnnotationWritable set to true gives the function a writable copy of
	// its root in memory.
	AnnotationWritable = prefix + "writable"
	// AnnotationPullPolicy is IfNotPresent (the default), Always or Never.
	AnnotationPullPolicy = prefix + "pull-policy"
)

// An AnnotationError says which annotation is invalid, and why.
type AnnotationError struct {
	Annotation string
	Err        error
}

func (e *AnnotationError) Error() string {
	return fmt.Sprintf("annotation %s: %v", e.Annotation, e.Err)
}

func (e *AnnotationError) Unwrap() error { return e.Err }

// Check validates the annotations of a Function. It returns an AnnotationError
// for the first that is invalid.
func Check(annotations map[string]string) error {
	_, err := parseSettings(annotations)
	return err
}

// settings are the values of a function's annotations.
type settings struct {
	network  sandbox.Network
	env      []string
	limits   sandbox.Limits
	timeout  time.Duration
	writable bool
	policy   image.Policy
}

// parseSettings parses annotations. A missing annotation leaves the default.
func parseSettings(annotations map[string]string) (s settings, err error) {
	readers := []reader{
		{AnnotationNetwork, s.readNetwork},
		{AnnotationEnv, func(text string) (err error) { s.env, err = local.ParseEnv(text); return err }},
		{AnnotationMemory, func(text string) (err error) {
			s.limits.Memory, err = memory(text)
			return err
		}},
		{AnnotationCPU, func(text string) (err error) {
			s.limits.CPU, err = positive(text, (*resource.Quantity).MilliValue)
			return err
		}},
		{AnnotationTimeout, s.readTimeout},
		{AnnotationWritable, func(text string) (err error) { s.writable, err = strconv.ParseBool(text); return err }},
		{AnnotationPullPolicy, func(text string) (err error) { s.policy, err = image.ParsePolicy(text); return err }},
	}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		i := slices.IndexFunc(readers, func(r reader) bool { return r.annotation == name })
		if i < 0 {
			return s, &AnnotationError{name, errors.New("unknown setting of the sandbox runtime")}
		}
		if err := readers[i].read(annotations[name]); err != nil {
			return s, &AnnotationError{name, err}
		}
	}
	return s, nil
}

// A reader parses the value of an annotation.
type reader struct {
	annotation string
	read       func(text string) error
}

// minMemory is the memory in bytes that a program needs to report an error. A
// smaller value probably lacks a unit.
const minMemory = 16 << 20

func memory(text string) (int64, error) {
	bytes, err := positive(text, (*resource.Quantity).Value)
	if err == nil && bytes < minMemory {
		err = fmt.Errorf("%q is %d bytes, expected at least 16Mi", text, bytes)
	}
	return bytes, err
}

func (s *settings) readNetwork(text string) error {
	switch text {
	case "Isolated":
		s.network = sandbox.Isolated
	case "Runner":
		s.network = sandbox.Runner
	default:
		return fmt.Errorf("unknown network %q: expected Isolated or Runner", text)
	}
	return nil
}

func (s *settings) readTimeout(text string) (err error) {
	if s.timeout, err = time.ParseDuration(text); err == nil && s.timeout <= 0 {
		err = fmt.Errorf("must be positive, got %s", text)
	}
	return err
}

// positive parses a quantity and returns it in the unit of value.
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

// bounded returns a Runner whose calls have the timeout, if there is one.
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
