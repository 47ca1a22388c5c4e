package session_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/spf13/afero"
	kjson "sigs.k8s.io/json"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

// legacyDir contains a legacy Composition, an equivalent Composition with a
// pipeline, and the inputs of both.
const legacyDir = "testdata/legacy"

// old is a legacy Composition with one resource.
const old = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
  resources:
  - name: bolt
    base: {apiVersion: parts.gold.test/v1, kind: Bolt}
    patches: [{fromFieldPath: spec.size}]
`

// TestLegacyEqualsPipeline: a legacy Composition and an equivalent pipeline
// have the same output in every profile.
func TestLegacyEqualsPipeline(t *testing.T) {
	for profile := range engines {
		t.Run(string(profile), func(t *testing.T) {
			var outputs []string
			for _, file := range []string{"legacy.yaml", "pipeline.yaml"} {
				outputs = append(outputs, renderLegacyDir(t, profile, file))
			}
			e2e.Equal(t, "the legacy form has the output of the pipeline", outputs[1], outputs[0])
			for _, want := range []string{"size-12", "zone: b1", "grade: a"} {
				e2e.Has(t, "the output has the patched values", outputs[0], want)
			}
		})
	}
}

func renderLegacyDir(t *testing.T, profile render.Profile, file string) string {
	t.Helper()
	s := session.Open(session.Config{Reader: manifest.Reader{FS: afero.NewBasePathFs(afero.NewOsFs(), legacyDir)}})
	r, err := renderOne(t.Context(), s, session.Inputs{
		Profile: profile, XRs: []string{"xr.yaml"}, Composition: file, Observed: []string{"observed.yaml"}, Required: []string{"environments.yaml"},
	})
	e2e.NoError(t, err)
	var out strings.Builder
	e2e.NoError(t, manifest.Write(&out, r.Documents(render.Include{Results: true, Context: true, ConnectionDetails: true})...))
	return out.String()
}

type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) record(e progress.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case progress.Note:
		l.lines = append(l.lines, "note: "+e.Text)
	case progress.Warning:
		l.lines = append(l.lines, "warning: "+e.Text)
	}
}

// of returns the rest of each line that begins with prefix.
func (l *log) of(prefix string) (all []string) {
	for _, line := range l.lines {
		if text, ok := strings.CutPrefix(line, prefix); ok {
			all = append(all, text)
		}
	}
	return all
}

func (l *log) warnings() []string { return l.of("warning: ") }

func TestLegacyFunctions(t *testing.T) {
	const (
		converted = "warning: composition.yaml:6: Crossplane v2 refuses Composition \"widgets\" of mode Resources; it is rendered as the pipeline that `convert pipeline-composition` makes of it"
		unknown   = `composition.yaml:6: spec.resources: the step "patch-and-transform" calls the function "function-patch-and-transform", which was not found`
	)
	b, _ := builtin.Named("function-patch-and-transform")
	environments, _ := builtin.Named("function-environment-configs")
	ran := "note: function-patch-and-transform: Builtin, measured against function-patch-and-transform " + b.Measured
	cases := map[string]struct {
		reason, functions, composition string
		config                         session.Config
		want                           []string
		wantErr                        string
	}{
		"NoFile":      {"without a functions file the builtin is used", "", old, session.Config{}, []string{converted, ran}, ""},
		"Unlisted":    {"the function may be missing from the functions file", fn("function-dummy", "x:v1", ""), old, session.Config{}, []string{converted, ran}, ""},
		"Listed":      {"a function in the functions file is used", fn("function-patch-and-transform", "ghcr.io/acme/mine:v1", ""), old, session.Config{}, []string{converted}, `no available runtime can run package "ghcr.io/acme/mine:v1"`},
		"Runner":      {"a given package is used", "", old, session.Config{Runners: function.Mux{"function-patch-and-transform": unchanged}}, []string{converted}, ""},
		"BuiltinsOff": {"without builtins the function must be listed", "", old, session.Config{Builtins: builtin.Policy{Mode: builtin.Off}}, []string{converted}, unknown},
		"Pipeline":    {"a pipeline must have its functions listed", fn("function-dummy", "x:v1", ""), strings.Replace(steps("function-patch-and-transform"), "response", "resources", 1), session.Config{}, nil, "calls the function \"function-patch-and-transform\", which was not found"},
		"Lost": {
			"a field that is not converted is a warning", "", old + "  publishConnectionDetailsWithStoreConfigRef: {name: default}\n",
			session.Config{},
			[]string{converted, "warning: composition.yaml:10: spec.publishConnectionDetailsWithStoreConfigRef: the field was removed from Compositions: Crossplane no longer supports external secret stores", ran},
			"",
		},
		"Environment": {
			"EnvironmentConfigs are read by a builtin", "", old + "  environment: {environmentConfigs: [{ref: {name: a}}], policy: {resolution: Optional}}\n",
			session.Config{},
			[]string{converted, "note: function-environment-configs: Builtin, measured against function-environment-configs " + environments.Measured, ran},
			"",
		},
		"EnvironmentOff": {
			"without builtins the function for EnvironmentConfigs must be listed", "", old + "  environment: {environmentConfigs: [{ref: {name: a}}]}\n",
			session.Config{Builtins: builtin.Policy{Mode: builtin.Off}},
			[]string{converted},
			`composition.yaml:10: spec.environment: the step "environment-configs" calls the function "function-environment-configs", which was not found`,
		},
		"Empty": {"a Composition without resources is an error", "", strings.Replace(steps(), "mode: Pipeline\n  pipeline:", "mode: Resources", 1), session.Config{}, nil, "composition.yaml:5: spec.resources: a Composition of mode Resources must have resources"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var messages log
			tc.config.Progress = messages.record
			s := open(t, tc.config, map[string]string{"composition.yaml": tc.composition, "functions.yaml": tc.functions})
			e2e.WantError(t, tc.reason, e2e.Err(renderOne(t.Context(), s, inputs)), tc.wantErr)
			e2e.Equal(t, tc.reason, tc.want, messages.lines)
		})
	}
}

// TestLegacyStrict: Inputs.Strict refuses a legacy Composition, unless the profile is of Crossplane v1
// and the conversion to a pipeline loses no field.
func TestLegacyStrict(t *testing.T) {
	const lost = "  publishConnectionDetailsWithStoreConfigRef: {name: default}\n"
	in := inputs
	in.Strict = true
	for _, tc := range []struct {
		profile    render.Profile
		text, want string
	}{
		{render.V2, old, "composition.yaml:6: Crossplane v2 refuses Composition"},
		{render.V1_20, old, ""},
		{render.V2, old + lost, "composition.yaml:10: spec.publishConnectionDetailsWithStoreConfigRef: "},
		{render.V1_20, old + lost, ""}, // This Crossplane has the field.
	} {
		in.Profile = tc.profile
		e2e.WantError(t, "the profile rejects what its Crossplane rejects: "+string(tc.profile), e2e.Err(renderOne(t.Context(), open(t, session.Config{}, map[string]string{"composition.yaml": tc.text}), in)), tc.want)
	}
}

// TestLegacyLibrary renders XRs by a legacy Composition of a library. The conversion is
// reported once. An invalid Composition that no XR uses is ignored.
func TestLegacyLibrary(t *testing.T) {
	alpha := strings.NewReplacer("XWidget", "XOther", "widgets", "others", "  resources:", "  functions: [{name: f}]\n  resources:").Replace(old)
	files := map[string]string{
		"xr.yaml": xr + "---" + strings.Replace(xr, "alpha", "beta", 1), "other.yaml": strings.Replace(xr, "XWidget", "XOther", 1),
		"lib/old.yaml": old, "lib/alpha.yaml": alpha, "functions.yaml": fn("function-dummy", "x", ""),
	}
	var messages log
	s := open(t, session.Config{Functions: "functions.yaml", Progress: messages.record}, files)
	in := session.Inputs{XRs: []string{"xr.yaml"}, AllDocuments: true, Compositions: []string{"lib"}}
	got, err := names(t, s, in)
	e2e.NoError(t, err)
	e2e.Equal(t, "each XR is rendered", []string{"alpha", "beta"}, got)
	e2e.Equal(t, "the conversion is reported once", 1, strings.Count(strings.Join(messages.lines, "\n"), "of mode Resources"))
	in.XRs = []string{"other.yaml"}
	err = e2e.Err(renderOne(t.Context(), s, in))
	e2e.ErrorHas(t, "an alpha function is an error", err, "lib/alpha.yaml:6: spec.functions: alpha functions can only be rendered in profile alpha")
	e2e.Has(t, "the hint names the profile for alpha functions", string(hint.Of(err)), "render the Composition with {profile} alpha, or convert it with `convert pipeline-composition lib/alpha.yaml`")
}

// FuzzLegacy: a converted legacy Composition is a valid pipeline, and its input
// can be decoded strictly by function-patch-and-transform.
func FuzzLegacy(f *testing.F) {
	text := []byte(e2e.ReadFile(f, legacyDir+"/legacy.yaml"))
	f.Add(text)
	f.Add([]byte(old))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc := manifest.Document{Path: "f.yaml", Line: 1, Text: text}
		obj, err := doc.Object()
		if err != nil {
			return
		}
		e, err := composition.Decode(doc)
		if !legacy.Is(obj) || err != nil || !e.Converted {
			return
		}
		if len(e.Spec.Pipeline) == 0 || e.Spec.Mode != "Pipeline" {
			t.Fatalf("expected a pipeline, got %+v", e.Spec)
		}
		for _, step := range e.Spec.Pipeline {
			if step.FunctionRef.Name != "function-patch-and-transform" || obj["spec"].(map[string]any)["pipeline"] != nil {
				continue
			}
			unknown, err := kjson.UnmarshalStrict(step.Input.Raw, &spec.Resources{}, kjson.DisallowUnknownFields)
			if err != nil || len(unknown) > 0 {
				t.Errorf("the function refuses the input: %v %v\n%s", err, unknown, step.Input.Raw)
			}
		}
	})
}
