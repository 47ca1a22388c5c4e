package suite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite"
)

// fuzzXRD defines the composite resources of fuzzed. %s is the schema of spec.
const fuzzXRD = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: %s
          status: {type: object, properties: {number: {type: integer}}}
`

const fuzzSchema = `{type: object, properties: {count: {type: integer, minimum: 0, maximum: 20}, size: {type: string, enum: [small, medium, large]}, title: {type: string}, list: {type: array, items: {type: string}}}}`

// thingCRD defines the kind that the templates of fuzz tests compose.
const thingCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.net}
spec:
  group: example.net
  names: {kind: Thing, plural: things, listKind: ThingList, singular: thing}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {count: {type: integer, maximum: 19}, title: {type: string}}}}}}
`

// fuzzed returns the files of a suite whose Composition has a template.
func fuzzed(template string) map[string]string {
	const name = `{{ $xr := .observed.composite.resource }}{{ $spec := $xr.spec | default dict }}`
	return map[string]string{
		"xrd.yaml": fmt.Sprintf(fuzzXRD, fuzzSchema), "crd.yaml": thingCRD,
		"fuzzed.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: fuzzed}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  mode: Pipeline
  pipeline:
` + templateStep + `          ` + name + `
          ` + strings.ReplaceAll(strings.TrimSpace(template), "\n", "\n          ") + "\n",
		"fuzzed.test.yaml": head + `metadata: {name: fuzzed}
defaults: {composition: fuzzed.yaml, functions: functions.yaml, schemas: crd.yaml}
cases:
- name: one
  xr: {apiVersion: example.org/v1, kind: XThing, metadata: {name: x, namespace: default}, spec: {}}
`,
		"functions.yaml": mutated["functions.yaml"],
	}
}

// thing returns a template of a Thing with fields, called after the composite resource and an end.
func thing(resource, end, fields string) string {
	return `apiVersion: example.net/v1
kind: Thing
metadata:
  name: {{ $xr.metadata.name }}` + end + `
  annotations: {gotemplating.fn.crossplane.io/composition-resource-name: ` + resource + `}
spec: {` + fields + `}
`
}

func fuzz(t *testing.T, ctx context.Context, files map[string]string, f suite.FuzzOptions) (suite.Fuzzed, error) {
	t.Helper()
	return fuzzWith(t, ctx, options(example(t, files)), f)
}

func fuzzWith(t *testing.T, ctx context.Context, o suite.Options, f suite.FuzzOptions) (suite.Fuzzed, error) {
	t.Helper()
	return suite.Fuzz(ctx, planned(t, loaded(t, o, "fuzzed.test.yaml"), suite.Selection{}), o, f)
}

// TestFuzz checks that each planted fault is found within a number of generated composite
// resources, with the smallest resource that shows it. The seed makes this deterministic.
func TestFuzz(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, template string
		within           int
		kind             suite.FindingKind
		text, xr         string // a part of the text, and spec of the composite resource
	}{
		"None": {reason: "a correct Composition has no failure", template: thing("a", "", "count: {{ $spec.count | default 3 | min 19 }}, title: {{ $spec.title | toJson }}"), within: 200},
		"Missing": {
			"an optional field that the template requires is absent", thing("a", "", `count: {{ $spec.count | mustRegexFind "x" }}`), 10,
			suite.RenderFails, "invalid value; expected string", `{}`,
		},
		"Branch": {
			"one value of an enum fails", `{{ if eq ($spec.size | default "") "medium" }}{{ fail "no medium" }}{{ end }}` + "\n" + thing("a", "", ""), 20,
			suite.RenderFails, "no medium", `{"size":"medium"}`,
		},
		"Quotes": {
			"text is not quoted in YAML", thing("a", "", "title: {{ $spec.title | default \"a\" }}"), 50,
			suite.RenderFails, "did not find expected node content", `{"title":":"}`,
		},
		"Boundary": {
			"the schema of the composed resource does not allow the maximum", thing("a", "", "count: {{ $spec.count | default 1 }}"), 100,
			suite.InvalidOutput, "spec.count: Invalid value: 20", `{"count":20}`,
		},
		"Settles": {
			"the status counts the passes", "apiVersion: example.org/v1\nkind: XThing\nstatus: {number: {{ $xr.status.number | default 0 | add 1 }}}\n---\n" + thing("a", "", ""), 10,
			suite.NeverSettles, "status.number", `{}`,
		},
		"Varies": {
			"a name is random", thing("a", "-{{ randAlpha 8 | lower }}", ""), 10,
			suite.OutputVaries, "two renders differ in Thing", `{}`,
		},
		"Constant": {
			"two composite resources have a constant name in common", strings.Replace(thing("a", "", ""), "{{ $xr.metadata.name }}", "shared", 1), 10,
			suite.NameCollides, "Thing shared of example.net/v1 in namespace default is also composed", `{}`,
		},
		"Truncated": {
			"long names lose their ends", strings.Replace(thing("a", "", ""), "{{ $xr.metadata.name }}", "{{ $xr.metadata.name | trunc 20 }}", 1), 50,
			suite.NameCollides, "is also composed", `{}`,
		},
		"Elements": {
			"two elements of a list get one name", "{{ range $i, $e := $spec.list }}\n---\n" + thing("r{{ $i }}", "", "") + "{{ end }}", 50,
			suite.NameCollides, "two composed resources are Thing", `{"list":["",""]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.within > 20 && testing.Short() {
				t.Skip("it renders many inputs")
			}
			got, err := fuzz(t, t.Context(), fuzzed(tc.template), suite.FuzzOptions{XRD: "xrd.yaml", Runs: tc.within, Seed: 1})
			if err != nil || got.Inputs != tc.within {
				t.Fatalf("%s: %d inputs: %v", tc.reason, got.Inputs, err)
			}
			for _, f := range got.Findings {
				text, _ := json.Marshal(f.XR)
				t.Logf("input %d, %d times: %s: %s: %s", f.Input, f.Count, f.Kind, f.Text, text)
			}
			if tc.kind == "" && len(got.Findings) == 0 {
				return
			}
			if len(got.Findings) == 0 || tc.kind == "" {
				t.Fatalf("%s: got %d findings", tc.reason, len(got.Findings))
			}
			f := got.Findings[0]
			spec, err := json.Marshal(f.XR["spec"])
			if err != nil || f.Kind != tc.kind || !strings.Contains(f.Text, tc.text) || string(spec) != tc.xr {
				t.Errorf("%s: got %s: %s for spec %s", tc.reason, f.Kind, f.Text, spec)
			}
		})
	}
}

// TestFuzzPasses checks that a case with few passes does not limit the passes of generated inputs.
func TestFuzzPasses(t *testing.T) {
	t.Parallel()
	files := fuzzed("apiVersion: example.org/v1\nkind: XThing\nstatus: {number: {{ $xr.status.number | default 0 | add 1 | min 4 }}}\n---\n" + thing("a", "", ""))
	files["fuzzed.test.yaml"] = strings.Replace(files["fuzzed.test.yaml"], "defaults: {", "defaults: {observe: {passes: 2}, ", 1)
	got, err := fuzz(t, t.Context(), files, suite.FuzzOptions{XRD: "xrd.yaml", Runs: 3, Seed: 1})
	if err != nil || len(got.Findings) > 0 {
		t.Errorf("an output that settles in pass 5: got %+v and error %v", got, err)
	}
}

// TestFuzzErrors checks the errors about inputs that cannot be generated.
func TestFuzzErrors(t *testing.T) {
	t.Parallel()
	none := fuzzed(thing("a", "", ""))
	none["xrd.yaml"] = fmt.Sprintf(fuzzXRD, `{type: object, required: [size], properties: {size: {type: integer, minimum: 2, maximum: 1}}}`)
	if _, err := fuzz(t, t.Context(), none, suite.FuzzOptions{XRD: "xrd.yaml", Runs: 1}); !errors.Is(err, suite.ErrNoInput) || !strings.Contains(err.Error(), "field spec.size") {
		t.Errorf("a schema without values: got error %v", err)
	}
	other := fuzzed(thing("a", "", ""))
	other["xrd.yaml"] = strings.ReplaceAll(other["xrd.yaml"], "XThing", "XOther")
	e2e.ErrorHas(t, "an XRD of another kind is an error", e2e.Err(fuzz(t, t.Context(), other, suite.FuzzOptions{XRD: "xrd.yaml", Runs: 1})), "no case tests a Composition for XOther")
}

// TestFuzzStops checks that what was found is returned if the context ends.
func TestFuzzStops(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	o := options(example(t, fuzzed(`{{ fail "no" }}`)))
	now, calls := o.Now, atomic.Int64{}
	o.Now = func() time.Time {
		if calls.Add(1) > 200 {
			cancel(stopped)
		}
		return now()
	}
	got, err := fuzzWith(t, ctx, o, suite.FuzzOptions{XRD: "xrd.yaml", Runs: 1_000_000, Seed: 1})
	if !errors.Is(err, stopped) || got.Inputs == 0 || len(got.Findings) != 1 {
		t.Errorf("got %d inputs and %d findings: %v", got.Inputs, len(got.Findings), err)
	}
}

// TestSaveFindings checks that the case of a finding fails for the same reason, in another folder.
func TestSaveFindings(t *testing.T) {
	t.Parallel()
	fsys := example(t, fuzzed(thing("a", "", "count: {{ $spec.count | default 20 }}")))
	got, err := fuzzWith(t, t.Context(), options(fsys), suite.FuzzOptions{XRD: "xrd.yaml", Runs: 5, Seed: 1})
	if err != nil || len(got.Findings) != 1 {
		t.Fatalf("got %v: %v", got, err)
	}
	text := e2e.Must(suite.SaveFindings("saved/found.yaml", "xrd.yaml", got.Findings))(t)
	elsewhere := e2e.Must(filepath.Abs(filepath.FromSlash("saved/found.yaml")))(t)
	e2e.Equal(t, "the paths in a file with an absolute path", string(text), string(e2e.Must(suite.SaveFindings(elsewhere, "xrd.yaml", got.Findings))(t)))
	e2e.Has(t, "the paths in a file above the working directory", string(e2e.Must(suite.SaveFindings("../found.yaml", "xrd.yaml", got.Findings))(t)), "xrd: suite/xrd.yaml")
	e2e.NoError(t, afero.WriteFile(fsys, "saved/found.yaml", text, 0o644))
	o := options(fsys)
	outcomes := runItems(t, planned(t, loaded(t, o, "saved"), suite.Selection{}), o)
	if len(outcomes) != 1 || len(outcomes[0].Failures) != 1 || !strings.Contains(outcomes[0].Failures[0].Text, "spec.count: Invalid value: 20") {
		t.Errorf("got %+v\n%s", outcomes, text)
	}
}

// A fragile runtime starts functions that end at the first composite resource of size medium.
type fragile struct{ started atomic.Int64 }

func (f *fragile) Start(context.Context, runtimes.Function) (*runtimes.Instance, error) {
	f.started.Add(1)
	ended := &atomic.Bool{}
	return &runtimes.Instance{
		Runner: function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			if strings.Contains(fmt.Sprint(req.GetObserved().GetComposite().GetResource().AsMap()), "size:medium") {
				ended.Store(true)
			}
			if ended.Load() {
				return nil, fmt.Errorf("calling the function: %w", runtimes.ErrEnded)
			}
			return &fnv1.RunFunctionResponse{Desired: req.GetDesired()}, nil
		}),
		Stop: func(context.Context) error { return nil },
	}, nil
}

// TestFuzzCrash checks that a function that an input kills is started again, so that only inputs
// that kill it are failures.
func TestFuzzCrash(t *testing.T) {
	t.Parallel()
	o, rt := options(example(t, fuzzed(thing("a", "", "")))), &fragile{}
	o.Config.Runtime, o.Config.Runtimes = session.Process, map[session.Runtime]runtimes.Runtime{session.Process: rt}
	got, err := fuzzWith(t, t.Context(), o, suite.FuzzOptions{XRD: "xrd.yaml", Runs: 20, Seed: 1})
	if err != nil || got.Inputs != 20 || len(got.Findings) != 1 {
		t.Fatalf("got %d inputs and %d findings: %v", got.Inputs, len(got.Findings), err)
	}
	f := got.Findings[0]
	spec, err := json.Marshal(f.XR["spec"])
	if err != nil || f.Kind != suite.RenderFails || string(spec) != `{"size":"medium"}` || f.Count == 20 || rt.started.Load() < 2 {
		t.Errorf("got %s, %d times, for %s after %d starts: %s", f.Kind, f.Count, spec, rt.started.Load(), f.Text)
	}
}
