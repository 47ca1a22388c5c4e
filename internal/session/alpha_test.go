package session_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/alpha"
	containergrpc "github.com/xfn-dev/xfn/internal/alpha/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

// alphaInputs are inputs for profile Alpha.
var alphaInputs = session.Inputs{Profile: render.Alpha, XRs: []string{"xr.yaml"}, Composition: "lib/composition.yaml"}

// calling returns a Composition with one resource, and with one alpha function
// for each of containers, which are in YAML flow style.
func calling(containers ...string) string {
	text := old
	for i, c := range containers {
		if i == 0 {
			text += "  functions:\n"
		}
		text += fmt.Sprintf("  - {name: f%d, type: Container, container: {%s}}\n", i, c)
	}
	return text
}

// echoes is a ContainerRunner whose functions return their input. It records
// the images that it runs.
type echoes struct {
	name string

	mu     sync.Mutex
	images []string
}

func (e *echoes) RunContainer(_ context.Context, req alpha.ContainerRequest) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.images = append(e.images, e.name+" "+req.Image)
	return req.Input, nil
}

// served serves a ContainerRunner by gRPC and returns its endpoint: an abstract
// socket on Linux, and a TCP port on other systems.
func served(t *testing.T, r alpha.ContainerRunner) string {
	t.Helper()
	network, address, prefix := "tcp", "127.0.0.1:0", "dns:///"
	if runtime.GOOS == "linux" {
		network, address, prefix = "unix", "@xfn-test-"+strings.ReplaceAll(t.TempDir(), "/", "-"), "unix-abstract:"
	}
	lis := e2e.Must(net.Listen(network, address))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- containergrpc.Serve(ctx, lis, r) }()
	t.Cleanup(func() {
		cancel()
		e2e.NoError(t, e2e.Receive(t, done))
	})
	return prefix + strings.TrimPrefix(lis.Addr().String(), "@")
}

// TestAlphaRunners: a function runs in the remote runner that the Composition names, or
// otherwise locally. A path of an image is relative to the Composition.
func TestAlphaRunners(t *testing.T) {
	here, there := &echoes{name: "here"}, &echoes{name: "there"}
	endpoint := served(t, there)
	var messages log
	s := open(t, session.Config{Containers: here, Progress: messages.record}, map[string]string{
		"lib/fn.xpkg": "", "observed.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: n}}", "lib/composition.yaml": calling("image: acme/a", "image: acme/b, runner: {endpoint: '"+endpoint+"'}", "image: ./fn.xpkg"),
	})
	in := alphaInputs
	in.Observed = []string{"observed.yaml"}
	got := e2e.Must(renderOne(t.Context(), s, in))(t)
	e2e.Equal(t, "the local runner gets the calls without a runner", []string{"here acme/a", "here " + filepath.Join("lib", "fn.xpkg")}, here.images)
	e2e.Equal(t, "the remote runner gets the call that names it", []string{"there acme/b"}, there.images)
	want := []session.Run{
		{Function: "f0", Package: "acme/a", Runtime: session.Sandbox, Detail: "acme/a"},
		{Function: "f1", Package: "acme/b", Runtime: session.Runner, Detail: "acme/b by the runner at " + endpoint},
		{Function: "f2", Package: "./fn.xpkg", Runtime: session.Sandbox, Detail: "./fn.xpkg"},
	}
	e2e.Equal(t, "each function has the runner that ran it", want, got.Functions)
	if want := "note: f1: Runner, acme/b by the runner at " + endpoint; !slices.Contains(messages.lines, want) {
		t.Errorf("%q is not among %q", want, messages.lines)
	}
	if len(got.Composed) != 1 || got.Composed[0]["kind"] != "Bolt" || got.Passes != 1 {
		t.Errorf("got %v", got.LastPass)
	}
}

// TestAlphaMany renders XRs concurrently with one Composition.
func TestAlphaMany(t *testing.T) {
	var all strings.Builder
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("xr-%d", i))
		fmt.Fprintf(&all, "---\n%s", strings.Replace(xr, "alpha", want[i], 1))
	}
	here := &echoes{}
	s := open(t, session.Config{Containers: here}, map[string]string{"xr.yaml": all.String(), "lib/composition.yaml": calling("image: a")})
	in := alphaInputs
	in.AllDocuments = true
	got := e2e.Must(names(t, s, in))(t)
	e2e.Equal(t, "each XR is rendered", want, got)
	e2e.Equal(t, "the function runs once for each XR", 40, len(here.images))
}

// TestAlphaEnvironment: the environment is the value of a context key. If
// patches need the environment and it is missing, a warning is reported.
func TestAlphaEnvironment(t *testing.T) {
	const key = "apiextensions.crossplane.io/environment"
	composition := strings.Replace(old, "patches: [", "patches: [{type: FromEnvironmentFieldPath, fromFieldPath: count, toFieldPath: spec.count, transforms: [{type: string, string: {fmt: '%03d'}}]}, ", 1)
	cases := map[string]struct {
		reason        string
		files, values map[string]string
		want, err     string
	}{
		"Value":  {"the environment can be a value", nil, map[string]string{key: "{count: 7}"}, "007", ""},
		"File":   {"the environment can be in a file", map[string]string{key: "env.yaml"}, nil, "008", ""},
		"None":   {"a missing environment is a warning", nil, nil, "", ""},
		"Other":  {"other context keys are an error", nil, map[string]string{"k": "{}"}, "", `reading context "k": alpha functions have no context`},
		"Scalar": {"the environment must be an object", nil, map[string]string{key: "7"}, "", "the environment must be an object"},
		"Broken": {"the environment must be valid YAML", nil, map[string]string{key: "{"}, "", `reading context "` + key + `"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var messages log
			s := open(t, session.Config{Progress: messages.record}, map[string]string{"lib/composition.yaml": composition, "env.yaml": "count: 8"})
			in := alphaInputs
			in.ContextFiles, in.ContextValues = tc.files, tc.values
			got, err := renderOne(t.Context(), s, in)
			if e2e.WantError(t, tc.reason, err, tc.err); err != nil {
				return
			}
			count, _ := got.Composed[0]["spec"].(map[string]any)["count"].(string)
			e2e.Equal(t, tc.reason, tc.want, count)
			e2e.Equal(t, tc.reason, tc.want == "", strings.Contains(strings.Join(messages.lines, "\n"), "there is no environment"))
		})
	}
}

func TestAlphaRefuses(t *testing.T) {
	config := func(change func(*session.Config)) func(*session.Config, *session.Inputs) {
		return func(c *session.Config, _ *session.Inputs) { change(c) }
	}
	in := func(change func(*session.Inputs)) func(*session.Config, *session.Inputs) {
		return func(_ *session.Config, in *session.Inputs) { change(in) }
	}
	composition := func(text string) func(*session.Config, *session.Inputs) {
		return func(c *session.Config, _ *session.Inputs) {
			c.Reader = reader(t, map[string]string{"xr.yaml": xr, "lib/composition.yaml": text})
		}
	}
	cases := map[string]struct {
		reason    string
		change    func(*session.Config, *session.Inputs)
		err, hint string
	}{
		"Functions":    {"a functions file is not supported", config(func(c *session.Config) { c.Functions = "functions.yaml" }), "profile alpha does not support a functions file", ""},
		"Packages":     {"packages are not supported", config(func(c *session.Config) { c.Packages = map[string]string{"f0": "."} }), "does not support packages", ""},
		"Runtime":      {"another runtime is not supported", config(func(c *session.Config) { c.Runtime = session.Process }), `choosing a runtime for function "f0": runtime Process cannot run a container`, ""},
		"NoContainers": {"without a container runner there is an error", config(func(c *session.Config) { c.Containers = nil }), "no container runtime is available", "container.runner.endpoint"},
		"Compositions": {"a choice of Compositions is not supported", in(func(in *session.Inputs) { in.Compositions = []string{"lib"} }), "does not support Compositions to choose from", ""},
		"Loop":         {"an observe loop is not supported", in(func(in *session.Inputs) { in.ObserveLoop = 1 }), "does not support an observe loop", ""},
		"WrapRunner":   {"tracing is not supported", in(func(in *session.Inputs) { in.WrapRunner = func(_ int, r function.Runner) function.Runner { return r } }), "does not support tracing of functions", ""},
		"Required":     {"required resources are not supported", in(func(in *session.Inputs) { in.Extra = []string{"x"} }), "does not support resources or schemas", ""},
		"Credentials":  {"credentials are not supported", in(func(in *session.Inputs) { in.Credentials = []string{"x"} }), "does not support credentials", ""},
		"XRD":          {"a file that is not an XRD is an error", in(func(in *session.Inputs) { in.XRD = "xr.yaml" }), "loading the XRD", ""},
		"Observed":     {"a missing observed file is an error", in(func(in *session.Inputs) { in.Observed = []string{"none.yaml"} }), "loading observed resources", ""},
		"Missing":      {"a missing Composition is an error", in(func(in *session.Inputs) { in.Composition = "none.yaml" }), "loading the Composition", ""},
		"Kind":         {"a file that is not a Composition is an error", composition(xr), "expected a Composition", ""},
		"Pipeline":     {"a Composition without resources and functions is an error", composition(steps("f")), "lib/composition.yaml:5: spec: the Composition has neither resources nor functions", "another {profile}"},
		"Name":         {"errors of resources have lines", composition(strings.Replace(calling("image: a"), "name: bolt", "x: y", 1)), "lib/composition.yaml:7: spec.resources[0].name: cannot have anonymous resources", ""},
		"Image":        {"errors of functions have lines", composition(calling("image: a", "x: y")), "lib/composition.yaml:12: spec.functions[1].container.image: an image is required", ""},
		"Type":         {"an unknown type of a function has a line", composition(strings.Replace(calling("image: a", "image: b"), "f1, type: Container", "f1, type: Containr", 1)), `unsupported function type "Containr" (at lib/composition.yaml:12: spec.functions[1].type)`, "did you mean Container?"},
		"Match":        {"a Composition for another kind is an error", composition(strings.Replace(calling(), "XWidget", "XOther", 1)), `is for kind XOther`, ""},
		"Profile":      {"literal deletion is an error in other profiles", in(func(in *session.Inputs) { in.Profile, in.LiteralDeletion = render.V2, true }), "literal deletion is only supported for profile alpha", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := session.Config{Reader: reader(t, map[string]string{"xr.yaml": xr, "lib/composition.yaml": calling("image: a")}), Containers: &echoes{}}
			inputs := alphaInputs
			tc.change(&c, &inputs)
			_, err := renderOne(t.Context(), session.Open(c), inputs)
			e2e.ErrorHint(t, tc.reason, err, tc.err, tc.hint)
		})
	}
}

// TestAlphaXRD applies the defaults of the XRD to an XR.
func TestAlphaXRD(t *testing.T) {
	const xrd = `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xwidgets.gold.test}
spec:
  group: gold.test
  names: {kind: XWidget, plural: xwidgets}
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, default: 9}}}}}}}
`
	files := map[string]string{"xr.yaml": strings.Replace(xr, "{size: 3}", "{}", 1), "lib/composition.yaml": old, "xrd.yaml": xrd}
	in := alphaInputs
	in.XRD = "xrd.yaml"
	got := e2e.Must(renderOne(t.Context(), open(t, session.Config{}, files), in))(t)
	e2e.Equal(t, "the composed resource has the patched spec", map[string]any{"size": int64(9)}, got.Composed[0]["spec"])
}
