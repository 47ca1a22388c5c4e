package alpha_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/alpha"
	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/e2e"
)

const till = "- {name: till, base: {apiVersion: kit.gold.test/v1, kind: Till, spec: {drawers: 2}}"

// TestTemplates checks the rendered resources that the first function gets.
func TestTemplates(t *testing.T) {
	cases := map[string]struct {
		reason string
		world
		// want is the spec of the rendered resource.
		want string
	}{
		"FromComposite": {
			"a patch from the XR keeps the type of an integer",
			world{spec: "resources:\n" + till + `, patches: [{fromFieldPath: spec.slots, toFieldPath: spec.text, transforms: [{type: string, string: {fmt: "%03d"}}]}]}`},
			`{"drawers": 2, "text": "004"}`,
		},
		"Optional": {
			"an optional patch of a missing value changes nothing",
			world{spec: "resources:\n" + till + ", patches: [{fromFieldPath: spec.nothing, toFieldPath: spec.width}]}"},
			`{"drawers": 2}`,
		},
		"PatchSet": {
			"a patch set is expanded",
			world{spec: "patchSets: [{name: a, patches: [{fromFieldPath: spec.slots}]}]\nresources:\n" + till + ", patches: [{type: PatchSet, patchSetName: a}]}"},
			`{"drawers": 2, "slots": 4}`,
		},
		"Combine": {
			"several values are combined",
			world{spec: "resources:\n" + till + `, patches: [{type: CombineFromComposite, combine: {strategy: string, variables: [{fromFieldPath: spec.slots}, {fromFieldPath: metadata.name}], string: {fmt: "%d-%s"}}, toFieldPath: spec.text}]}`},
			`{"drawers": 2, "text": "4-stall"}`,
		},
		"Merge": {
			"merge options keep existing values",
			world{
				xr:   "spec: {size: {drawers: 3, feet: 4}}",
				spec: "resources:\n- {name: till, base: {apiVersion: kit.gold.test/v1, kind: Till, spec: {size: {drawers: 2}}}, patches: [{fromFieldPath: spec.size, policy: {mergeOptions: {keepMapValues: true}}}]}",
			},
			`{"size": {"drawers": 2, "feet": 4}}`,
		},
		"Wildcard": {
			"a wildcard addresses all existing elements",
			world{spec: "resources:\n- {name: till, base: {apiVersion: kit.gold.test/v1, kind: Till, spec: {l: [{a: 1}, {b: 2}, {a: 3}]}}, patches: [{fromFieldPath: spec.slots, toFieldPath: 'spec.l[*].a'}]}"},
			`{"l": [{"a": 4}, {"b": 2}, {"a": 4}]}`,
		},
		"Transforms": {
			"transforms run in order, and keep integers",
			world{spec: "resources:\n" + till + `, patches: [{fromFieldPath: spec.slots, toFieldPath: spec.text, transforms: [{type: math, math: {multiply: 3}}, {type: convert, convert: {toType: string}}, {type: string, string: {type: TrimPrefix, trim: "1"}}, {type: match, match: {patterns: [{type: regexp, regexp: "^2$", result: {a: two}}], fallbackValue: none}}]}]}`},
			`{"drawers": 2, "text": {"a": "two"}}`,
		},
		"ByWayOfTheXR": {
			"a later template reads what an earlier template patched to the XR",
			world{
				spec: "resources:\n- {name: old, base: {apiVersion: kit.gold.test/v1, kind: Till}, patches: [{type: ToCompositeFieldPath, fromFieldPath: status.ref, toFieldPath: status.ref}]}\n" +
					till + ", patches: [{fromFieldPath: status.ref, toFieldPath: spec.ref}]}",
				existing: []string{exists("old", "status: {ref: r1}")},
			},
			`{"drawers": 2, "ref": "r1"}`,
		},
		"NoEnvironment": {
			"without an environment its patches do nothing",
			world{spec: "resources:\n" + till + ", patches: [{type: FromEnvironmentFieldPath, fromFieldPath: zone, toFieldPath: spec.zone, policy: {fromFieldPath: Required}}]}"},
			`{"drawers": 2}`,
		},
		"Environment": {
			"environment patches run first, and templates read the result",
			world{
				spec: "environment: {patches: [{fromFieldPath: spec.slots, toFieldPath: slots}, {type: ToCompositeFieldPath, fromFieldPath: zone, toFieldPath: spec.zone}]}\nresources:\n" +
					till + ", patches: [{type: FromEnvironmentFieldPath, fromFieldPath: slots, toFieldPath: spec.slots}, {fromFieldPath: spec.zone}]}",
				environment: map[string]any{"zone": "eu"},
			},
			`{"drawers": 2, "slots": 4, "zone": "eu"}`,
		},
		"ToEnvironment": {
			"a patch writes the rendered value to the environment, and a later patch reads it",
			world{
				spec: "resources:\n" + till + ", patches: [{type: ToEnvironmentFieldPath, fromFieldPath: spec.drawers, toFieldPath: count}," +
					"{type: CombineFromEnvironment, combine: {strategy: string, variables: [{fromFieldPath: count}], string: {fmt: '%d!'}}, toFieldPath: spec.text}]}",
				environment: map[string]any{},
			},
			`{"drawers": 2, "text": "2!"}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := tc.world.run(t).ok(t)
			for _, c := range p.Composed {
				if c.Name == "till" {
					got, _ := json.Marshal(c.Desired.Object["spec"])
					e2e.Equal(t, tc.reason, value(t, tc.want), value(t, string(got)))
				}
			}
			if len(p.Events) > 0 {
				t.Errorf("got events %v", p.Events)
			}
		})
	}
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	e2e.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// TestUnrendered checks templates that cannot be rendered: each adds an event,
// functions get the partially rendered resource, and it is not applied.
func TestUnrendered(t *testing.T) {
	cases := map[string]struct {
		reason string
		world
		event string
		// partial is the partially rendered resource that the first function gets.
		partial string
	}{
		"Required": {
			"a required patch fails if its source is missing",
			world{spec: "resources:\n" + till + ", patches: [{fromFieldPath: metadata.name, toFieldPath: spec.a}, {fromFieldPath: spec.no, policy: {fromFieldPath: Required}}]}\n" + calls("echo")},
			`composed resource "till": cannot apply the patch at index 1: spec.no: no such field`,
			`{"apiVersion": "kit.gold.test/v1", "kind": "Till", "metadata": {"generateName": "stall-"}, "spec": {"drawers": 2, "a": "stall"}}`,
		},
		"WrongType": {
			"a patch fails if its path goes through a value that is not an object",
			world{spec: "resources:\n" + till + ", patches: [{fromFieldPath: spec.slots.a, toFieldPath: spec.a}]}\n" + calls("echo")},
			`composed resource "till": cannot apply the patch at index 0: spec.slots: not an object`,
			"",
		},
		"Transform": {
			"a transform fails after a patch from a patch set",
			world{spec: "patchSets: [{name: a, patches: [{fromFieldPath: spec.slots}]}]\nresources:\n" + till +
				", patches: [{type: PatchSet, patchSetName: a}, {fromFieldPath: metadata.name, toFieldPath: spec.a, transforms: [{type: map, map: {x: 1}}]}]}\n" + calls("echo")},
			`composed resource "till": cannot apply the patch at index 1: transform at index 0 returned error: map transform could not resolve: key stall is not found in map`,
			`{"apiVersion": "kit.gold.test/v1", "kind": "Till", "metadata": {"generateName": "stall-"}, "spec": {"drawers": 2, "slots": 4}}`,
		},
		"Write": {
			"a patch fails at a value of another type, and earlier changes stay",
			world{spec: "resources:\n" + till + ", patches: [{fromFieldPath: spec.slots}, {fromFieldPath: spec.slots, toFieldPath: spec.drawers.a}, {fromFieldPath: metadata.name, toFieldPath: spec.late}]}\n" + calls("echo")},
			`composed resource "till": cannot apply the patch at index 1: cannot patch to object: spec.drawers is not an object`,
			`{"apiVersion": "kit.gold.test/v1", "kind": "Till", "metadata": {"generateName": "stall-"}, "spec": {"drawers": 2, "slots": 4}}`,
		},
		"NoFrom": {
			"a patch requires a path to read",
			world{spec: "resources:\n" + till + ", patches: [{toFieldPath: spec.a}]}\n" + calls("echo")},
			`composed resource "till": cannot apply the patch at index 0: FromFieldPath is required by type FromCompositeFieldPath`,
			"",
		},
		"NoCombine": {
			"a combine patch requires a strategy",
			world{spec: "resources:\n" + till + ", patches: [{type: CombineFromComposite, toFieldPath: spec.a}]}\n" + calls("echo")},
			`composed resource "till": cannot apply the patch at index 0: Combine is required by type CombineFromComposite`,
			"",
		},
		"NoTo": {
			"a combine patch requires a path to write",
			world{spec: "resources:\n" + till + ", patches: [{type: CombineFromComposite, combine: {strategy: string, variables: [{fromFieldPath: a}]}}]}\n" + calls("echo")},
			`composed resource "till": cannot apply the patch at index 0: ToFieldPath is required by type CombineFromComposite`,
			"",
		},
		"NoVariables": {
			"a combine patch requires variables",
			world{spec: "resources:\n" + till + ", patches: [{type: CombineFromComposite, combine: {strategy: string}, toFieldPath: spec.a}]}\n" + calls("echo")},
			`composed resource "till": cannot apply the patch at index 0: combine patch types require at least one variable`,
			"",
		},
		"NoPrefix": {
			"a generated name requires a label of the XR",
			world{xr: "metadata: {labels: {crossplane.io/composite: ''}}", spec: "resources:\n" + till + "}\n" + calls("echo")},
			`composed resource "till": name prefix is not found in labels`,
			`{"apiVersion": "kit.gold.test/v1", "kind": "Till", "spec": {"drawers": 2}}`,
		},
		"Kind": {
			"the kind of an existing resource cannot be changed",
			world{existing: []string{exists("till", "spec: {drawers: 1}")}, spec: "resources:\n- {name: till, base: {apiVersion: kit.gold.test/v1, kind: Box}}\n" + calls("echo")},
			`composed resource "till": cannot change the kind of an existing composed resource`,
			`{"apiVersion": "kit.gold.test/v1", "kind": "Box"}`,
		},
		"Base": {
			"a base must be a Kubernetes object",
			world{existing: []string{exists("till", "spec: {drawers: 1}")}, spec: "resources:\n- {name: till, base: {a: 1}}\n" + calls("echo")},
			`composed resource "till": cannot unmarshal base template: Object 'Kind' is missing in '{"a":1}'`,
			"",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.world.functions = map[string]func(*fnio.FunctionIO){"echo": echo}
			p := tc.world.run(t).ok(t)
			e2e.Equal(t, tc.reason, []alpha.Event{{Type: fnio.Warning, Message: tc.event}}, p.Events)
			if got := p.input(t, 0).Desired.Resources; tc.partial != "" {
				e2e.Equal(t, tc.reason, value(t, tc.partial), value(t, string(got[0].Resource.Raw)))
			}
			e2e.Equal(t, tc.reason, []string{"patch application/merge-patch+json XStall stall"}, p.store.Calls())
			if c := p.Composed; len(c) != 1 || c[0].Ready || c[0].Desired != nil {
				t.Errorf("%s: got composed %v", tc.reason, c)
			}
		})
	}
}

// TestReferencesOfUnrendered checks when the XR keeps its reference to an
// existing resource that could not be rendered. With LiteralDeletion, it depends
// on the object that functions return, as in Crossplane's code.
func TestReferencesOfUnrendered(t *testing.T) {
	spec := "resources:\n- {name: till, base: {apiVersion: kit.gold.test/v1, kind: Till}, patches: [{fromFieldPath: spec.no, policy: {fromFieldPath: Required}}]}"
	cases := map[string]struct {
		reason   string
		existing []string
		literal  bool
		want     int
	}{
		"New":     {"a resource that does not exist gets no reference", nil, false, 0},
		"Exists":  {"an existing resource keeps its reference if a function returns it with its creation timestamp", []string{exists("till", "spec: {}")}, false, 1},
		"Literal": {"an existing resource loses its reference if a function returns it without its creation timestamp", []string{exists("till", "spec: {}")}, true, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := world{spec: spec, existing: tc.existing, literal: tc.literal}.run(t).ok(t)
			refs := p.stored("XStall", "stall")["spec"].(map[string]any)["resourceRefs"].([]any)
			e2e.Equal(t, tc.reason, tc.want, len(refs))
		})
	}
}

// TestTerminal checks errors that end a reconcile before any function runs.
func TestTerminal(t *testing.T) {
	cases := map[string]struct {
		reason string
		world
		want string
	}{
		"ToComposite": {
			"a required patch to the XR fails if its source is missing",
			world{existing: []string{exists("till", "status: {}")}, spec: "resources:\n" + till + ", patches: [{type: ToCompositeFieldPath, fromFieldPath: status.no, policy: {fromFieldPath: Required}}]}\n" + calls("echo")},
			`cannot patch and transform: cannot render composite resource from composed resource "till" (a Till named stall-till): cannot apply the patch at index 0: status.no: no such field`,
		},
		"Environment": {
			"a required environment patch fails if its source is missing",
			world{environment: map[string]any{}, spec: "environment: {patches: [{type: ToCompositeFieldPath, fromFieldPath: zone, policy: {fromFieldPath: Required}}]}\nresources:\n" + till + "}"},
			`cannot patch and transform: cannot apply environment patch at index 0: zone: no such field`,
		},
		"PatchSet": {
			"a patch set must exist",
			world{spec: "resources:\n" + till + ", patches: [{type: PatchSet, patchSetName: a}]}"},
			`cannot patch and transform: cannot inline Composition patch sets: cannot find PatchSet by name a`,
		},
		"PatchSetName": {
			"a patch of type PatchSet requires a name",
			world{spec: "resources:\n" + till + ", patches: [{type: PatchSet}]}"},
			`cannot patch and transform: cannot inline Composition patch sets: PatchSetName is required by type PatchSet`,
		},
		"Nested": {
			"a patch set must not contain a patch set",
			world{spec: "patchSets: [{name: a, patches: [{type: PatchSet}]}]\nresources:\n" + till + "}"},
			`cannot patch and transform: cannot inline Composition patch sets: a patch in a PatchSet cannot be of type PatchSet`,
		},
		"NoAnnotation": {
			"an existing resource requires the annotation with its name",
			world{
				existing: []string{`{apiVersion: v1, kind: Box, metadata: {name: b}}`},
				spec:     calls("echo"),
			},
			`cannot get existing composed resources: encountered composed resource without required "crossplane.io/composition-resource-name" annotation`,
		},
		"Anonymous": {
			"resources of a Composition with functions require names",
			world{spec: "resources: [{name: a, base: {}}, {base: {}}]\n" + calls("echo")},
			`spec.resources[1].name: cannot have anonymous resources when composition has functions`,
		},
		"AnonymousAlone": {
			"a Composition without functions is not supported",
			world{spec: "resources: [{base: {}}]"},
			`spec.resources[0].name: the composer of Compositions with functions does not support resources without names`,
		},
		"PatchType": {
			"a patch requires a known type",
			world{spec: "resources:\n" + till + ", patches: [{fromFieldPath: a}, {type: Sideways, fromFieldPath: a}]}"},
			`spec.resources[0].patches[1].type: patch type "Sideways" is not allowed in this list of patches`,
		},
		"EnvironmentType": {
			"environment patches read and write only the XR",
			world{spec: "environment: {patches: [{type: FromEnvironmentFieldPath, fromFieldPath: a}]}\nresources:\n" + till + "}"},
			`spec.environment.patches[0].type: patch type "FromEnvironmentFieldPath" is not allowed in this list of patches`,
		},
		"TooMany": {
			"the number of expanded patches is limited",
			world{spec: "patchSets: [{name: a, patches: [" + strings.Repeat("{fromFieldPath: a}, ", 400) + "]}]\nresources:\n" + till + ", patches: [" + strings.Repeat("{type: PatchSet, patchSetName: a}, ", 400) + "]}"},
			`spec.resources[0].patches[250]: the resources have more than 100000 patches`,
		},
		"Join": {
			"transforms of later versions are refused",
			world{spec: "patchSets: [{name: a, patches: [{fromFieldPath: a, transforms: [{type: convert, convert: {toType: string}}, {type: string, string: {type: Join, join: {separator: x}}}]}]}]\nresources:\n" + till + "}"},
			`spec.patchSets[0].patches[0].transforms[1].string.type: string transform "Join" needs Crossplane v1.14 or later`,
		},
		"Replace": {
			"patch types of later versions are refused",
			world{spec: "resources:\n" + till + ", patches: [{fromFieldPath: a, transforms: [{type: string, string: {replace: {search: a, replace: b}}}]}]}"},
			`spec.resources[0].patches[0].transforms[0].string.type: string transform "Replace" needs Crossplane v1.14 or later`,
		},
		"Nothing": {
			"an empty Composition is an error",
			world{spec: "resources: []"},
			`spec: the Composition has neither resources nor functions`,
		},
		"Malformed": {
			"a field of another type is an error",
			world{spec: "resources: [{name: a, patches: 1}]"},
			`spec.resources.patches: cannot decode a JSON number`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := tc.world.run(t)
			p.failed(t, tc.reason, tc.want)
			if len(p.requests)+len(p.store.Calls()) > 0 {
				t.Errorf("%s: a function was run, or an object applied", tc.reason)
			}
		})
	}
}

// TestObserved checks which of the XR's references lead to an observed resource.
func TestObserved(t *testing.T) {
	cases := map[string]struct {
		reason string
		world
		want []string
	}{
		"Referred":   {"a resource that the XR refers to is observed by name", world{existing: []string{exists("b", "spec: {}"), exists("a", "spec: {}")}}, []string{"a", "b"}},
		"Unreferred": {"a resource without a reference is not observed", world{existing: []string{exists("a", "spec: {}")}, xr: "spec: {resourceRefs: []}"}, nil},
		"Gone":       {"a reference to a deleted resource is skipped", world{xr: "spec: {resourceRefs: [{apiVersion: v1, kind: Box, name: x}]}"}, nil},
		"Nameless":   {"a reference without a name is skipped", world{xr: "spec: {resourceRefs: [{apiVersion: v1, kind: Box}, 3]}"}, nil},
		"NamelessObject": {
			"a reference without a name is skipped although an object has no name",
			world{existing: []string{`{apiVersion: v1, kind: Box, metadata: {annotations: {crossplane.io/composition-resource-name: box}}}`}},
			nil,
		},
		"Uncontrolled": {
			"a resource without controller is observed",
			world{existing: []string{`{apiVersion: v1, kind: Box, metadata: {name: b, annotations: {crossplane.io/composition-resource-name: box}}}`}},
			[]string{"box"},
		},
		"Others": {
			"a resource that another object controls is not observed",
			world{existing: []string{`{apiVersion: v1, kind: Box, metadata: {name: b, ownerReferences: [{controller: true, uid: other}]}}`}},
			nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.world.spec = calls("echo")
			tc.world.functions = map[string]func(*fnio.FunctionIO){"echo": echo}
			p := tc.world.run(t).ok(t)
			var got []string
			for _, r := range p.input(t, 0).Observed.Resources {
				got = append(got, r.Name)
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestUnrenderedAndReported checks that the events of resources that could not be
// rendered come before the functions' results. All other resources are applied.
func TestUnrenderedAndReported(t *testing.T) {
	p := world{
		spec: "resources:\n" + till + ", patches: [{fromFieldPath: spec.no, policy: {fromFieldPath: Required}}]}\n- {name: box, base: {apiVersion: v1, kind: Box}}\n" + calls("f"),
		functions: map[string]func(*fnio.FunctionIO){"f": func(io *fnio.FunctionIO) {
			io.Results = []fnio.Result{{Severity: fnio.Normal, Message: "done"}}
		}},
	}.run(t).ok(t)
	want := []alpha.Event{
		{Type: fnio.Warning, Message: `composed resource "till": cannot apply the patch at index 0: spec.no: no such field`},
		{Type: fnio.Normal, Message: "done"},
	}
	e2e.Equal(t, "the event of a resource that is not rendered comes before the function's result", want, p.Events)
	calls := []string{"dry-run create Box stall-00001", "patch application/merge-patch+json XStall stall", "create Box stall-00001"}
	e2e.Equal(t, "the resource that can be rendered is applied", calls, p.store.Calls())
	out := p.Output(nil)
	if len(out.Composed) != 1 || len(out.Results) != 2 {
		t.Errorf("got %d composed resources and %d results to print", len(out.Composed), len(out.Results))
	}
}

// TestNames checks the names that resources from templates get.
func TestNames(t *testing.T) {
	cases := map[string]struct {
		reason string
		world
		calls []string
	}{
		"New": {
			"the store generates names in the order of templates",
			world{spec: "resources:\n- {name: b, base: {apiVersion: v1, kind: B}}\n- {name: a, base: {apiVersion: v1, kind: A}}"},
			[]string{
				"dry-run create B stall-00001", "dry-run create A stall-00002",
				patchXR, "create A stall-00002", "create B stall-00001",
			},
		},
		"Patched": {
			"a patched name is kept",
			world{spec: "resources:\n- {name: b, base: {apiVersion: v1, kind: B, metadata: {name: gone}}, patches: [{fromFieldPath: metadata.name}]}"},
			[]string{patchXR, "create B stall"},
		},
		"Base": {
			"the name in the base is ignored",
			world{spec: "resources:\n- {name: b, base: {apiVersion: v1, kind: B, metadata: {name: gone, namespace: gone, generateName: gone-}}}"},
			[]string{"dry-run create B stall-00001", patchXR, "create B stall-00001"},
		},
		"Kept": {
			"an existing resource keeps its name",
			world{existing: []string{exists("till", "spec: {}")}, spec: "resources:\n" + till + "}"},
			[]string{patchXR, "patch application/merge-patch+json Till stall-till"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := tc.world.run(t).ok(t)
			e2e.Equal(t, tc.reason, tc.calls, p.store.Calls())
		})
	}
}

// TestBootstrap checks the input of the first function. It has the patched XR and
// the rendered templates, which have no fields of existing resources.
func TestBootstrap(t *testing.T) {
	p := world{
		existing: []string{
			exists("till", "spec: {drawers: 1, colour: red, writeConnectionSecretToRef: {name: s, namespace: xs}}, status: {ref: r}"),
			exists("old", "spec: {}"), secret,
		},
		spec:      "resources:\n" + till + ", patches: [{type: ToCompositeFieldPath, fromFieldPath: status.ref}], connectionDetails: [{name: a, value: v}], readinessChecks: [{type: None}]}\n" + calls("f"),
		functions: map[string]func(*fnio.FunctionIO){"f": echo},
	}.run(t).ok(t)
	io := p.input(t, 0)
	if len(io.Desired.Resources) != 1 || len(io.Observed.Resources) != 2 {
		t.Fatalf("got %v", io)
	}
	desired, observed := io.Desired.Resources[0], io.Observed.Resources[1]
	if len(desired.ConnectionDetails)+len(desired.ReadinessChecks) > 0 {
		t.Errorf("a template's connection details and checks are not passed to functions: got %v", desired)
	}
	got := value(t, string(desired.Resource.Raw)).(map[string]any)
	metadata := got["metadata"].(map[string]any)
	if got["status"] != nil || metadata["uid"] != nil || metadata["creationTimestamp"] != nil {
		t.Errorf("a desired resource has no fields of the existing one: got %v", got)
	}
	e2e.Equal(t, "the desired resource has its template's spec", value(t, `{"drawers": 2}`), got["spec"])
	wantDetails := []fnio.ExplicitConnectionDetail{{Name: "binary", Value: "\ufffd"}, {Name: "key", Value: "v"}}
	e2e.Equal(t, "connection details are plain text", wantDetails, observed.ConnectionDetails)
	status := func(raw []byte) any { return value(t, string(raw)).(map[string]any)["status"] }
	if got := status(io.Observed.Composite.Resource.Raw); got != nil {
		t.Errorf("the observed XR is not patched: got status %v", got)
	}
	e2e.Equal(t, "the desired XR is patched", value(t, `{"ref": "r"}`), status(io.Desired.Composite.Resource.Raw))
}
