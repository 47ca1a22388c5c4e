package legacy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// head is the beginning of a Composition. The five lines end with an incomplete
// spec, whose fields are indented by two spaces.
const head = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets, labels: {shape: square}}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
`

func document(text string) manifest.Document {
	return manifest.Document{Path: "composition.yaml", Line: 1, Text: []byte(text)}
}

// convert returns the pipeline that the Composition head+spec is converted to,
// and the notes.
func convert(t *testing.T, spec string) (pipeline any, notes []string) {
	t.Helper()
	obj := e2e.Object(t, head+spec)
	got, all, err := legacy.Convert(obj, legacy.Names{})
	e2e.NoError(t, err)
	for _, n := range all {
		notes = append(notes, n.Error())
	}
	return got["spec"].(map[string]any)["pipeline"], notes
}

// list decodes a YAML list that is indented by tabs.
func list(t *testing.T, text string) any {
	t.Helper()
	return e2e.Must(document(text).Value())(t)
}

func TestIs(t *testing.T) {
	cases := map[string]struct {
		reason, text      string
		want, hasFunction bool
	}{
		"Resources":       {"mode Resources is legacy", head + "  mode: Resources\n", true, false},
		"NoMode":          {"Resources is the default mode", head + "  resources: []\n", true, false},
		"EmptyMode":       {"an empty mode is the default", head + "  mode: ''\n  resources: []\n", true, false},
		"NullMode":        {"a null mode is the default", head + "  mode:\n  resources: []\n", true, false},
		"Functions":       {"alpha functions are legacy", head + "  functions: [{}]\n", true, true},
		"Both":            {"alpha functions may have resources", head + "  mode: Resources\n  resources: []\n  functions: [{}]\n", true, true},
		"NoFunctions":     {"an empty list of functions is ignored", head + "  mode: Resources\n  functions: []\n", true, false},
		"Pipeline":        {"a pipeline is not legacy, even with resources", head + "  mode: Pipeline\n  resources: []\n  functions: []\n", false, false},
		"PipelineNoMode":  {"Pipeline is the default mode without resources", head + "  pipeline: []\n", false, false},
		"OtherMode":       {"an unknown mode is not legacy", head + "  mode: Magic\n  resources: []\n", false, false},
		"ModeIsNoText":    {"a mode of another type is not legacy", head + "  mode: [Resources]\n", false, false},
		"NoSpec":          {"an empty Composition is not legacy", "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\n", false, false},
		"SpecIsNoObject":  {"a spec of another type is not legacy", "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec: [1]\n", false, false},
		"OtherKind":       {"another kind is not legacy", strings.Replace(head, "Composition", "Usage", 1) + "  mode: Resources\n", false, false},
		"OtherGroup":      {"another group is not legacy", strings.Replace(head, "apiextensions.", "other.", 1) + "  mode: Resources\n", false, false},
		"EmptyObject":     {"an empty object is not legacy", "{}\n", false, false},
		"ApiVersionIsMap": {"an apiVersion of another type is not legacy", "apiVersion: {}\nkind: []\nspec: {mode: Resources}\n", false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := e2e.Object(t, tc.text)
			e2e.Equal(t, tc.reason, tc.want, legacy.Is(obj))
			e2e.Equal(t, tc.reason, tc.hasFunction, legacy.HasFunctions(obj))
		})
	}
}

// TestConverts checks which Compositions are converted. Other Compositions become what
// the crossplane CLI v1.20 returns for them.
func TestConverts(t *testing.T) {
	cases := map[string]struct {
		reason, spec string
		want         bool
		steps        string
	}{
		"Resources":   {"resources without a mode are converted", "  resources: [{name: a}]\n", true, "[{step: patch-and-transform, functionRef: {name: function-patch-and-transform}, input: {apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, resources: [{name: a}]}}]"},
		"Neither":     {"a Composition with neither mode nor resources is converted", "  writeConnectionSecretsToNamespace: a\n", true, emptyStep},
		"EmptyMode":   {"an empty mode is a missing mode", "  mode: ''\n", true, emptyStep},
		"Mode":        {"mode Resources without resources is converted", "  mode: Resources\n", true, emptyStep},
		"EmptyLists":  {"empty lists count as missing", "  resources: []\n  functions: []\n  pipeline: []\n", true, emptyStep},
		"NoSteps":     {"a pipeline without steps counts as missing", "  pipeline:\n", true, emptyStep},
		"PatchSets":   {"patch sets are kept", "  patchSets: [{name: a, patches: [{fromFieldPath: a}]}]\n", true, "[{step: patch-and-transform, functionRef: {name: function-patch-and-transform}, input: {apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, patchSets: [{name: a, patches: [{type: FromCompositeFieldPath, fromFieldPath: a}]}]}}]"},
		"Steps":       {"a pipeline without a mode keeps its steps", "  pipeline: [{step: a, functionRef: {name: f}}]\n", false, ""},
		"TextSteps":   {"a pipeline of another type is not converted", "  pipeline: one\n", false, ""},
		"Pipeline":    {"mode Pipeline is not converted", "  mode: Pipeline\n", false, ""},
		"OtherMode":   {"an unknown mode is not converted", "  mode: Magic\n", false, ""},
		"ModeIsAList": {"a mode of another type is not converted", "  mode: [Resources]\n", false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := e2e.Object(t, head+tc.spec)
			e2e.Equal(t, tc.reason, tc.want, legacy.Converts(obj))
			got, notes, err := legacy.Convert(obj, legacy.Names{})
			if errors.Is(err, legacy.ErrNotLegacy) == tc.want {
				t.Fatalf("%s: Convert: got error %v", tc.reason, err)
			}
			if !tc.want {
				return
			}
			e2e.Equal(t, tc.reason, list(t, tc.steps), got["spec"].(map[string]any)["pipeline"])
			e2e.Equal(t, name, name != "Resources", slices.Contains(notes, legacy.NoResources))
		})
	}
}

// emptyStep is the pipeline of a Composition that had no resources.
const emptyStep = "[{step: patch-and-transform, functionRef: {name: function-patch-and-transform}, input: {apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources}}]"

func TestConvertWithoutSpec(t *testing.T) {
	got, _, err := legacy.Convert(e2e.Object(t, "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\n"), legacy.Names{})
	e2e.NoError(t, err)
	e2e.Equal(t, "a Composition without a spec becomes a pipeline with an empty step", e2e.Object(t, "mode: Pipeline\npipeline: "+emptyStep), got["spec"])
}

// TestConvert converts a Composition that has all fields. Fields that the
// pipeline does not replace are kept, and Convert does not change its argument.
func TestConvert(t *testing.T) {
	obj := e2e.Object(t, head+`  mode: Resources
  writeConnectionSecretsToNamespace: secrets
  unheard: {of: 1}
  patchSets:
  - {name: common, patches: [{fromFieldPath: a}]}
  environment:
    defaultData: {a: 1}
    environmentConfigs: [{ref: {name: one}}]
    policy: {resolve: Always, resolution: Optional}
    patches: [{type: ToCompositeFieldPath, fromFieldPath: a}]
  resources:
  - {name: one, base: {apiVersion: v1, kind: ConfigMap, data: {n: '1'}}}
  functions:
  - {name: After, config: {apiVersion: acme.test/v1, kind: Config, big: 9007199254740993}, container: {image: acme/after:v1}}
`)
	before := runtime.DeepCopyJSON(obj)
	got, notes, err := legacy.Convert(obj, legacy.Names{PatchAndTransform: "pt", EnvironmentConfigs: "ec"})
	e2e.NoError(t, err)
	want := e2e.Object(t, head+`  mode: Pipeline
  writeConnectionSecretsToNamespace: secrets
  unheard: {of: 1}
  pipeline:
  - step: environment-configs
    functionRef: {name: ec}
    input:
      apiVersion: environmentconfigs.fn.crossplane.io/v1beta1
      kind: Input
      spec:
        defaultData: {a: 1}
        environmentConfigs: [{ref: {name: one}}]
        policy: {resolution: Optional}
  - step: patch-and-transform
    functionRef: {name: pt}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      patchSets:
      - {name: common, patches: [{type: FromCompositeFieldPath, fromFieldPath: a}]}
      environment:
        patches: [{type: ToCompositeFieldPath, fromFieldPath: a}]
      resources:
      - {name: one, base: {apiVersion: v1, kind: ConfigMap, data: {n: '1'}}}
  - step: After
    functionRef: {name: after}
    input: {apiVersion: acme.test/v1, kind: Config, big: 9007199254740993}
`)
	e2e.Equal(t, "the pipeline has the fields of the mode Resources, and other fields are kept", want, got)
	if len(notes) != 1 || notes[0].Field != "spec.functions[0].container.image" {
		t.Errorf("want only notes about the function, got %v", notes)
	}
	e2e.Equal(t, "Convert does not change its argument", before, obj)
	if _, _, err := legacy.Convert(got, legacy.Names{}); !errors.Is(err, legacy.ErrNotLegacy) {
		t.Errorf("a pipeline is converted again: %v", err)
	}
}

// TestSteps checks the steps of converted Compositions.
func TestSteps(t *testing.T) {
	const (
		resources = "  resources: [{name: one}]\n"
		ignored   = "spec.environment.defaultData: function-environment-configs ignores default data if there are no environmentConfigs"
	)
	cases := map[string]struct {
		reason, spec string
		want, notes  []string
	}{
		"Resources":       {"all resources are converted to one step", resources, []string{"patch-and-transform"}, nil},
		"EnvironmentOnly": {"a patched environment needs no resources", "  mode: Resources\n  environment: {patches: [{fromFieldPath: a}]}\n", []string{"patch-and-transform"}, nil},
		"DataOnly":        {"environment data without patches and resources lacks resources", "  mode: Resources\n  environment: {defaultData: {a: 1}}\n", []string{"environment-configs", "patch-and-transform"}, []string{ignored, legacy.NoResources.Error()}},
		"PolicyOnly":      {"an environment policy alone needs no step", resources + "  environment: {policy: {resolve: IfNotPresent, resolution: Required}}\n", []string{"patch-and-transform"}, nil},
		"SameName": {"the names of steps are unique", resources + "  functions: [{name: patch-and-transform}, {name: f-2}, {name: f}, {name: f}, {name: f}]\n", []string{"patch-and-transform", "patch-and-transform-2", "f-2", "f", "f-3", "f-4"}, []string{
			`spec.functions[0].container.image: a pipeline calls servers of RunFunction, but "" reads a FunctionIO from its standard input: port the function, and install it as Function "patch-and-transform"`,
			`spec.functions[1].container.image: a pipeline calls servers of RunFunction, but "" reads a FunctionIO from its standard input: port the function, and install it as Function "f-2"`,
			`spec.functions[2].container.image: a pipeline calls servers of RunFunction, but "" reads a FunctionIO from its standard input: port the function, and install it as Function "f"`,
			`spec.functions[3].container.image: a pipeline calls servers of RunFunction, but "" reads a FunctionIO from its standard input: port the function, and install it as Function "f"`,
			`spec.functions[4].container.image: a pipeline calls servers of RunFunction, but "" reads a FunctionIO from its standard input: port the function, and install it as Function "f"`,
		}},
		"OwnPipeline": {"mode Resources with only a pipeline uses the pipeline", "  mode: Resources\n  pipeline: [{step: own, functionRef: {name: f}}]\n", []string{"own"}, []string{
			"spec.mode: the pipeline is used, since there are no resources: Crossplane would reject the Composition",
		}},
		"PipelineBesides": {"mode Resources with resources drops the pipeline", resources + "  pipeline: [{step: own, functionRef: {name: f}}]\n", []string{"patch-and-transform"}, []string{
			"spec.pipeline: a Composition of mode Resources does not run its pipeline, so the pipeline is left out",
		}},
		"Stores": {"removed fields are noted", resources + "  publishConnectionDetailsWithStoreConfigRef: {name: default}\n", []string{"patch-and-transform"}, []string{
			"spec.publishConnectionDetailsWithStoreConfigRef: the field was removed from Compositions: Crossplane no longer supports external secret stores",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pipeline, notes := convert(t, tc.spec)
			var got []string
			for _, step := range pipeline.([]any) {
				got = append(got, step.(map[string]any)["step"].(string))
			}
			e2e.Equal(t, tc.reason, tc.want, got)
			e2e.Equal(t, tc.reason, tc.notes, notes)
		})
	}
}

func TestErrors(t *testing.T) {
	cases := map[string]struct{ reason, spec, want string }{
		"NotAList":      {"a field of another type is named", "  mode: Resources\n  resources: {}\n", "composition.yaml:7: spec.resources: cannot decode a JSON object"},
		"Deep":          {"the error of a nested field has its path", "  resources:\n  - name: one\n    patches:\n    - fromFieldPath: 1\n", "composition.yaml:6: spec.resources.patches.fromFieldPath: cannot decode a JSON number"},
		"Fraction":      {"an integer must not have a fraction", "  resources:\n  - name: one\n    patches:\n    - {transforms: [{math: {multiply: 1.5}}]}\n", "spec.resources.patches.transforms.math.multiply: cannot decode a JSON number 1.5"},
		"BaseIsNoMap":   {"a base must be an object", "  resources: [{base: text}]\n", "spec.resources.base: cannot decode a JSON string"},
		"PipelineOfAny": {"the steps of a pipeline must be objects", "  mode: Resources\n  pipeline: [one]\n", "spec.pipeline: cannot decode a JSON string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			doc := document(head + tc.spec)
			_, _, err := legacy.Convert(e2e.Object(t, head+tc.spec), legacy.Names{})
			var note legacy.Note
			if !errors.As(err, &note) {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			e2e.Has(t, tc.reason, note.At(doc.Path, doc.Lines()).Error(), tc.want)
		})
	}
}

// FuzzConvert checks that each legacy Composition becomes a pipeline or an
// error with a field, and that Convert does not change it.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(head + "  mode: Resources\n"))
	f.Add([]byte(head + "  resources: [{name: one, patches: [{combine: {string: {fmt: '%d'}}, policy: {mergeOptions: {}}}]}]\n"))
	f.Add([]byte(head + "  functions: [{name: Ü, config: 1}]\n  environment: {environmentConfigs: [{type: Selector}]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		obj, err := document(string(text)).Object()
		if err != nil {
			return
		}
		before := runtime.DeepCopyJSON(obj)
		got, _, err := legacy.Convert(obj, legacy.Names{})
		if diff := cmp.Diff(before, obj); diff != "" {
			t.Fatalf("the original was changed (-before +after):\n%s", diff)
		}
		var note legacy.Note
		switch {
		case errors.As(err, &note):
			if note.Field == "" || note.Text == "" {
				t.Errorf("got %+v", note)
			}
		case (err == nil) != legacy.Converts(obj):
			t.Errorf("got error %v", err)
		case err == nil && legacy.Converts(got):
			t.Errorf("the result is still legacy: %v", got)
		}
	})
}
