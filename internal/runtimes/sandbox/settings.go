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

// prefix is what the annotations here begin with.
const prefix = "render.crossplane.io/runtime-sandbox-"

// The annotations of a Function that say how it runs in its sandbox.
const (
	// AnnotationNetwork is Isolated by default; Runner gives the function the
	// network of this machine.
	AnnotationNetwork = prefix + "network"
	// AnnotationEnv adds to the image's environment: KEY=value, separated by
	// commas.
	AnnotationEnv = prefix + "env"
	// AnnotationMemory and AnnotationCPU are quantities, as 128Mi and 500m.
	AnnotationMemory = prefix + "memory"
	AnnotationCPU    = prefix + "cpu"
	// AnnotationTimeout bounds each call, as 20s.
	AnnotationTimeout = prefix + "timeout"
	// AnnotationWritable lets the function write to a copy of its root in
	// memory: true or false.
	AnnotationWritable = prefix + "writable"
	// AnnotationPullPolicy is IfNotPresent by default, or Always, or Never.
	AnnotationPullPolicy = prefix + "pull-policy"
)

// An AnnotationError says what is wrong with an annotation.
type AnnotationError struct {
	Annotation string
	Err        error
}

func (e *AnnotationError) Error() string {
	return fmt.Sprintf("annotation %s: %v", e.Annotation, e.Err)
}

func (e *AnnotationError) Unwrap() error { return e.Err }

// Check reads the annotations of a Function, and returns an AnnotationError for
// the first that is wrong.
func Check(annotations map[string]string) error {
	_, err := settingsOf(annotations)
	return err
}

// settings are what a function's annotations say.
type settings struct {
	network  sandbox.Network
	env      []string
	limits   sandbox.Limits
	timeout  time.Duration
	writable bool
	policy   image.Policy
}

// settingsOf reads annotations. Those that are not there leave the default.
func settingsOf(annotations map[string]string) (s settings, err error) {
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
			return s, &AnnotationError{name, errors.New("there is no such setting of a sandbox")}
		}
		if err := readers[i].read(annotations[name]); err != nil {
			return s, &AnnotationError{name, err}
		}
	}
	return s, nil
}

// A reader reads the text of an annotation.
type reader struct {
	annotation string
	read       func(text string) error
}

// minMemory is what a program needs to say that it has too little, in bytes. Who
// means less has forgotten a unit.
const minMemory = 16 << 20

func memory(text string) (int64, error) {
	bytes, err := positive(text, (*resource.Quantity).Value)
	if err == nil && bytes < minMemory {
		err = fmt.Errorf("%q is %d bytes, and no program runs with less than 16Mi", text, bytes)
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
		return fmt.Errorf("unknown network %q: it is Isolated or Runner", text)
	}
	return nil
}

func (s *settings) readTimeout(text string) (err error) {
	if s.timeout, err = time.ParseDuration(text); err == nil && s.timeout <= 0 {
		err = fmt.Errorf("%s is no time to answer in", text)
	}
	return err
}

// positive reads a quantity, in the unit of value.
func positive(text string, value func(*resource.Quantity) int64) (int64, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no quantity", text)
	}
	if q.Sign() <= 0 {
		return 0, fmt.Errorf("%q is not above zero", text)
	}
	return value(&q), nil
}

// bounded holds each call of a function to the timeout, if there is one.
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
