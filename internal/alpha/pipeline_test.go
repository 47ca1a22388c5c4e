package alpha_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/alpha"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

// TestRequests checks the requests that a runner gets.
func TestRequests(t *testing.T) {
	cases := map[string]struct {
		reason, container string
		want              alpha.ContainerRequest
	}{
		"Image": {
			"limits, network and runner have no defaults if they are not set",
			`{image: a}`,
			alpha.ContainerRequest{Image: "a", PullPolicy: "IfNotPresent", Timeout: 20 * time.Second},
		},
		"Parents": {
			"fields of an object have defaults if the object is set",
			`{image: a, resources: {limits: {}}, network: {}, runner: {}}`,
			alpha.ContainerRequest{
				Image: "a", PullPolicy: "IfNotPresent", Timeout: 20 * time.Second,
				CPU: "100m", Memory: "128Mi", Network: "Isolated", Endpoint: "unix-abstract:crossplane/fn/default.sock",
			},
		},
		"Resources": {
			"fields of limits have defaults if limits are set",
			`{image: a, resources: {}}`,
			alpha.ContainerRequest{Image: "a", PullPolicy: "IfNotPresent", Timeout: 20 * time.Second},
		},
		"All": {
			"quantities are normalized like Kubernetes does",
			`{image: a, imagePullPolicy: Never, timeout: 1m, resources: {limits: {cpu: 0.25, memory: 65536Ki}}, network: {policy: Runner}, runner: {endpoint: "dns:///r:1"}, imagePullSecrets: [{name: s}]}`,
			alpha.ContainerRequest{
				Image: "a", PullPolicy: "Never", Timeout: time.Minute,
				CPU: "250m", Memory: "64Mi", Network: "Runner", Endpoint: "dns:///r:1",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := world{
				spec:      "functions: [{name: f, type: Container, container: " + tc.container + "}]",
				functions: map[string]func(*fnio.FunctionIO){"a": echo},
			}.run(t).ok(t)
			got := p.requests[0]
			got.Input = nil
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestBadFunctions checks Compositions that no API server accepts.
func TestBadFunctions(t *testing.T) {
	cases := map[string]struct{ reason, functions, want string }{
		"NoName":     {"a function requires a name", `[{type: Container}]`, `spec.functions[0].name: a name is required`},
		"TwoOfAName": {"names of functions are unique", `[{name: a, type: Container, container: {image: x}}, {name: a}]`, `spec.functions[1].name: another function has the name "a"`},
		"NoType":     {"a function requires a type", `[{name: a}]`, `spec.functions[0].type: a type is required`},
		"NoImage":    {"a container requires an image", `[{name: a, type: Container}]`, `spec.functions[0].container.image: an image is required`},
		"Pull":       {"a pull policy must be a known one", `[{name: a, type: Container, container: {image: x, imagePullPolicy: Maybe}}]`, `spec.functions[0].container.imagePullPolicy: expected IfNotPresent, Always or Never, got "Maybe"`},
		"Network":    {"a network policy must be a known one", `[{name: a, type: Container, container: {image: x, network: {policy: Host}}}]`, `spec.functions[0].container.network.policy: expected Isolated or Runner, got "Host"`},
		"Config":     {"a config requires an apiVersion and a kind", `[{name: a, type: Container, container: {image: x}, config: {kind: A}}]`, `spec.functions[0].config: a config must have an apiVersion and a kind`},
		"Timeout":    {"a timeout must be a duration", `[{name: a, type: Container, container: {image: x, timeout: soon}}]`, `spec.functions: time: invalid duration "soon"`},
		"Image":      {"an image must be a string", `[{name: a, type: Container, container: {image: [x]}}]`, `spec.functions.container.image: cannot decode a JSON array`},
		"List":       {"functions must be a list", `7`, `spec.functions: cannot decode a JSON number`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := world{spec: "functions: " + tc.functions}.run(t)
			p.failed(t, tc.reason, tc.want)
		})
	}
}

// TestPipeline checks which input each function gets from the previous function.
func TestPipeline(t *testing.T) {
	w := world{
		spec: `
functions:
- {name: a, type: Container, container: {image: first}, config: {apiVersion: v1, kind: Config, n: 1}}
- {name: b, type: Container, container: {image: second}}
`,
		existing: []string{exists("till", "spec: {drawers: 1}")},
		functions: map[string]func(*fnio.FunctionIO){
			"first": func(io *fnio.FunctionIO) {
				desires(`{name: till, resource: {apiVersion: kit.gold.test/v1, kind: Till, metadata: {name: stall-till}}, readinessChecks: [{type: None}]}`)(io)
				io.Observed = fnio.Observed{}
				io.Config.Raw = []byte(`{"changed": true}`)
				io.Results = append(io.Results, fnio.Result{Severity: "Debug", Message: "this result is not passed on"}, fnio.Result{Severity: fnio.Warning, Message: "careful"})
			},
			"second": func(io *fnio.FunctionIO) {
				io.Results = append(io.Results, fnio.Result{Severity: fnio.Normal, Message: "done"})
			},
		},
	}
	p := w.run(t).ok(t)
	first, second := p.input(t, 0), p.input(t, 1)
	e2e.Equal(t, "the observed state differs between the functions", first.Observed, second.Observed)
	if first.Config == nil || second.Config != nil {
		t.Errorf("each function gets only its own config: got %v and %v", first.Config, second.Config)
	}
	if len(second.Desired.Resources) != 1 || len(second.Desired.Resources[0].ReadinessChecks) != 1 || len(second.Results) != 2 {
		t.Errorf("the second function gets the desired state and results of the first: got %v", second)
	}
	want := []alpha.Event{{Type: fnio.Warning, Message: "careful"}, {Type: fnio.Normal, Message: "done"}}
	e2e.Equal(t, "the last results are the events", want, p.Events)
	for _, text := range []string{"apiVersion: fn.", "kind: FunctionIO", "results:"} {
		if strings.Contains(string(p.requests[0].Input), text) {
			t.Errorf("the first input has %q:\n%s", text, p.requests[0].Input)
		}
	}
}

// answers returns a container that writes the given text to standard output.
func answers(text string) alpha.ContainerRunnerFunc {
	return func(context.Context, alpha.ContainerRequest) ([]byte, error) { return []byte(text), nil }
}

func TestFailures(t *testing.T) {
	const pipeline = `cannot run Composition Function pipeline: `
	const xr = `desired: {composite: {resource: {apiVersion: v1, kind: X, metadata: {name: stall}}}`
	cases := map[string]struct {
		reason string
		f      alpha.ContainerRunnerFunc
		want   string
	}{
		"Exit": {
			"the error contains the runner's text",
			func(context.Context, alpha.ContainerRequest) ([]byte, error) {
				return nil, status.Error(codes.Unknown, "exit status 1: xfn: error: exit status 3")
			},
			pipeline + `cannot run function "f": cannot run container: rpc error: code = Unknown desc = exit status 1: xfn: error: exit status 3`,
		},
		"Scalar": {
			"output that is not a FunctionIO is an error",
			answers("hello"),
			pipeline + `cannot run function "f": cannot unmarshal output FunctionIO: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type v1alpha1.FunctionIO`,
		},
		"TooMuch": {
			"output larger than a runner's message is an error",
			answers(strings.Repeat(" ", alpha.MaxMessage+1)),
			pipeline + `cannot run function "f": cannot run container: the container wrote 4194305 bytes, but a message from a runner may have at most 4194304`,
		},
		"Null": {
			"a null instead of an XR is an error",
			answers(`{desired: {composite: {resource: null}}}`),
			pipeline + `cannot unmarshal desired composite resource from FunctionIO: unexpected end of JSON input`,
		},
		"NoKind": {
			"an XR without a kind is an error",
			answers(`{desired: {composite: {resource: {a: 1}}}}`),
			pipeline + `cannot unmarshal desired composite resource from FunctionIO: Object 'Kind' is missing in '{"a":1}'`,
		},
		"Resource": {
			"a composed resource without a kind is an error",
			answers(xr + `, resources: [{name: r}]}`),
			pipeline + `cannot parse desired composed resource "r" from FunctionIO: cannot unmarshal desired composed resource from FunctionIO: unexpected end of JSON input`,
		},
		"Controlled": {
			"a composed resource that another object controls is an error",
			answers(xr + `, resources: [{name: r, resource: {apiVersion: v1, kind: B, metadata: {name: b, ownerReferences: [{controller: true, kind: C, name: c, uid: u}]}}}]}`),
			pipeline + `cannot parse desired composed resource "r" from FunctionIO: cannot set controller reference: b is already controlled by C c (UID u)`,
		},
		"Fatal": {
			"the first Fatal result is the error, before all other errors",
			answers(`results: [{severity: Warning, message: w}, {severity: Fatal, message: "so: it ends"}, {severity: Fatal}]`),
			pipeline + `fatal function pipeline result: so: it ends`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := world{spec: "functions: [{name: f, type: Container, container: {image: f}}]", raw: map[string]alpha.ContainerRunnerFunc{"f": tc.f}}
			p := w.run(t)
			p.failed(t, tc.reason, tc.want)
			if calls := p.store.Calls(); len(calls) > 0 {
				t.Errorf("%s: got calls %q", tc.reason, calls)
			}
			e2e.Equal(t, tc.reason, name == "Fatal", errors.As(p.err, new(*function.FatalError)))
		})
	}
}

func TestTypeIsLookedAtInItsTurn(t *testing.T) {
	p := world{
		spec:      "functions: [{name: a, type: Container, container: {image: echo}}, {name: b, type: Wasm}]",
		functions: map[string]func(*fnio.FunctionIO){"echo": echo},
	}.run(t)
	p.failed(t, "only the type Container is supported", `cannot run Composition Function pipeline: cannot run function "b": unsupported function type "Wasm"`)
	e2e.Equal(t, "the hint names the supported type", "the only type is Container", string(hint.Of(p.err)))
	e2e.Equal(t, "the function before the unsupported one is called", 1, len(p.requests))
}

func TestInputIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it encodes and decodes megabytes")
	}
	p := world{
		spec:      calls("grow", "echo"),
		functions: map[string]func(*fnio.FunctionIO){"echo": echo},
		raw: map[string]alpha.ContainerRunnerFunc{"grow": func(_ context.Context, req alpha.ContainerRequest) ([]byte, error) {
			// The output fits into a message as JSON. As the input of the next
			// function it is YAML, which is larger because it is indented.
			list := strings.Repeat("1,", 450_000) + "1"
			return fmt.Appendf(nil, `{"desired": {"composite": {"resource": {"kind": "X", "a": [%s]}}}}`, list), nil
		}},
	}.run(t)
	if p.err == nil || len(p.requests) != 1 || !strings.Contains(p.err.Error(), `cannot run function "echo": cannot run container: the FunctionIO has `) {
		t.Errorf("got %v, after %d calls", p.err, len(p.requests))
	}
}

func TestCancelled(t *testing.T) {
	why := errors.New("cancelled by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	run := alpha.ContainerRunnerFunc(func(ctx context.Context, _ alpha.ContainerRequest) ([]byte, error) {
		cancel(why)
		<-ctx.Done()
		return nil, errors.New("signal: killed")
	})
	w := world{spec: calls("a", "b")}
	store := alpha.NewStore()
	_, err := alpha.Run(ctx, alpha.Request{XR: w.composite(t), Composition: decoded(t, map[string]any{"spec": e2e.Object(t, w.spec)})}, run, store)
	if !errors.Is(err, why) || len(store.Calls()) > 0 {
		t.Errorf("got %v, calls %q", err, store.Calls())
	}
}

// TestDeadline checks that the deadline covers all functions together.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		run := alpha.ContainerRunnerFunc(func(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
			n++
			select {
			case <-ctx.Done():
				return nil, errors.New("signal: killed")
			case <-time.After(50 * time.Second):
				return req.Input, nil
			}
		})
		w := world{spec: calls("a", "b", "c", "d")}
		_, err := alpha.Run(t.Context(), alpha.Request{XR: w.composite(t), Composition: decoded(t, map[string]any{"spec": e2e.Object(t, w.spec)})}, run, alpha.NewStore())
		want := `cannot run Composition Function pipeline: cannot run function "c": cannot run container: the reconcile timed out after 2m0s`
		if err == nil || err.Error() != want || n != 3 {
			t.Errorf("after %d functions got %v", n, err)
		}
	})
}

// TestSameAgain checks that two reconciles with the same inputs have the same output.
func TestSameAgain(t *testing.T) {
	var resources, existing []string
	for _, name := range strings.Split("abcdefghij", "") {
		resources = append(resources, `{name: `+name+`, resource: {apiVersion: v1, kind: Box, metadata: {generateName: x-}}, connectionDetails: [{name: same, type: FromValue, value: `+name+`}]}`)
		existing = append(existing, exists("old-"+name, "spec: {}"))
	}
	w := world{spec: calls("f", "echo"), existing: existing, functions: map[string]func(*fnio.FunctionIO){"f": desires(resources...), "echo": echo}}
	first, second := w.run(t).ok(t), w.run(t).ok(t)
	if diff := cmp.Diff(first.requests, second.requests) + cmp.Diff(first.store.Calls(), second.store.Calls()) +
		cmp.Diff(first.Output(nil), second.Output(nil)) + cmp.Diff(first.ConnectionDetails, second.ConnectionDetails); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

// FuzzOutput checks that no output of a function causes a panic.
func FuzzOutput(f *testing.F) {
	for _, text := range []string{
		"", "{desired: [unclosed", "null", "a: &a [*a]",
		`{desired: {composite: {resource: {kind: X, metadata: 3, spec: []}}, resources: [{name: till, resource: {kind: Y, metadata: {name: a, labels: 3, ownerReferences: [1]}}}]}}`,
		`{desired: {composite: {resource: {kind: X, metadata: {name: stall}, spec: null}, connectionDetails: [{name: a, value: 1}]}, resources: [{name: b, resource: {kind: Y, metadata: {generateName: a-}}, readinessChecks: [{type: NonEmpty, fieldPath: "a[x"}], connectionDetails: [{type: FromFieldPath, name: n, fromFieldPath: metadata}]}]}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, literal := range []bool{false, true} {
			w := world{
				spec:     "resources:\n" + till + "}\n" + calls("f"),
				existing: []string{exists("till", "spec: {}"), exists("old", "spec: {}")},
				literal:  literal,
				raw:      map[string]alpha.ContainerRunnerFunc{"f": answers(text)},
			}
			if p := w.run(t); p.err == nil {
				p.Output(nil)
			}
		}
	})
}
