package session_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

const xr = `
apiVersion: gold.test/v1
kind: XWidget
metadata: {name: alpha}
spec: {size: 3}
`

// steps returns a Composition with one step for each of names, which calls the
// function with that name.
func steps(names ...string) string {
	var b strings.Builder
	b.WriteString(`
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: widgets}
spec:
  compositeTypeRef: {apiVersion: gold.test/v1, kind: XWidget}
  mode: Pipeline
  pipeline:
`)
	for i, name := range names {
		fmt.Fprintf(&b, "  - {step: s%d, functionRef: {name: %s}, input: {response: {}}}\n", i, name)
	}
	return b.String()
}

func fn(name, pkg, annotation string) string {
	s := "---\napiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: " + name + "\n"
	if annotation != "" {
		s += "  annotations: {render.crossplane.io/runtime: " + annotation + "}\n"
	}
	return s + "spec: {package: " + pkg + "}\n"
}

func reader(t *testing.T, files map[string]string) manifest.Reader {
	t.Helper()
	return manifest.Reader{FS: e2e.Memory(t, files)}
}

// open returns a Session that reads files. xr.yaml is xr if files lack it, and functions.yaml has the
// functions, if there is one.
func open(t *testing.T, c session.Config, files map[string]string) *session.Session {
	t.Helper()
	all := map[string]string{"xr.yaml": xr}
	maps.Copy(all, files)
	c.Reader = reader(t, all)
	if all["functions.yaml"] != "" {
		c.Functions = "functions.yaml"
	}
	return session.Open(c)
}

// shelf is a Runtime whose functions return their input. It records the
// functions that were started and stopped.
type shelf struct {
	refuse string

	mu               sync.Mutex
	started, stopped []string
}

func (r *shelf) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	if fn.Name == r.refuse {
		return nil, fmt.Errorf("starting function %q: it exited at once: exit status 3", fn.Name)
	}
	if r.refuse != "" {
		// The start of any other function lasts until it is canceled.
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = append(r.started, fn.Name+" "+fn.Package)
	return &runtimes.Instance{
		Runner: unchanged,
		Detail: "from " + fn.Package,
		Stop: func(context.Context) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.stopped = append(r.stopped, fn.Name+" "+fn.Package)
			return nil
		},
	}, nil
}

var inputs = session.Inputs{XRs: []string{"xr.yaml"}, Composition: "composition.yaml"}

// renderOne renders inputs with one XR and returns its Result.
func renderOne(ctx context.Context, s *session.Session, in session.Inputs) (session.Result, error) {
	var result session.Result
	err := s.Render(ctx, in, func(r session.Result) error {
		result = r
		return r.Err
	})
	return result, err
}

func TestRuntimeChoice(t *testing.T) {
	const contrib = "xpkg.crossplane.io/crossplane-contrib/function-dummy:v0.4.1"
	cases := map[string]struct {
		reason, functions, step string
		config                  session.Config
		want, wantErr           string
	}{
		"Builtin":                  {"a tagged package of crossplane-contrib is replaced by the builtin", fn("f", contrib, ""), "f", session.Config{}, "Builtin " + contrib, ""},
		"BuiltinsOff":              {"without builtins, a reference has no runtime", fn("f", contrib, ""), "f", session.Config{Builtins: builtin.Policy{Mode: builtin.Off}}, "", `no available runtime can run package "` + contrib},
		"Stranger":                 {"a reference without a builtin has no runtime", fn("f", "ghcr.io/acme/f:v1", ""), "f", session.Config{}, "", `choosing a runtime for function "f": no available runtime can run package "ghcr.io/acme/f:v1"`},
		"File":                     {"a package file runs as a process; the path is relative to the functions file if it exists there", fn("f", "./f.xpkg", ""), "f", session.Config{}, "Process fns/f.xpkg", ""},
		"FileElsewhere":            {"a path that is not beside the functions file is relative to the working directory", fn("f", "./other.xpkg", ""), "f", session.Config{}, "Process ./other.xpkg", ""},
		"Folder":                   {"a folder beside the functions file is a path, not the reference fns/src", fn("f", "./src", ""), "f", session.Config{}, "Process ./fns/src", ""},
		"Package":                  {"--package replaces the functions file's package and the annotation", fn("f", contrib, "Development"), "f", session.Config{Packages: map[string]string{"f": "fns/src"}}, "Process ./fns/src", ""},
		"PackageMissing":           {"a given path that does not exist is not a reference", fn("f", contrib, ""), "f", session.Config{Packages: map[string]string{"f": "nodir"}}, "", `reading "nodir": `},
		"WhiteSpace":               {"a reference with white space has the position of its field", fn("f", "'ghcr.io/acme/f:v1 '", ""), "f", session.Config{}, "", `functions.yaml:6: spec.package "ghcr.io/acme/f:v1 " contains white space`},
		"WhiteSpaceDevelopment":    {"runtime Development does not read the reference", fn("f", "a function of mine", "Development"), "f", session.Config{}, "Development a function of mine", ""},
		"Annotation":               {"the annotation selects the runtime of one function", fn("f", contrib, "Development"), "f", session.Config{}, "Development " + contrib, ""},
		"AnnotationCase":           {"the annotation's value ignores case", fn("f", contrib, "development"), "f", session.Config{}, "Development " + contrib, ""},
		"AnnotationUnknown":        {"an unknown runtime is an error", fn("f", contrib, "Dockre"), "f", session.Config{}, "", `functions.yaml:6: annotation render.crossplane.io/runtime: unknown runtime "Dockre"`},
		"Forced":                   {"--runtime decides for all, whatever the annotation says", fn("f", "./f.xpkg", "Development"), "f", session.Config{Runtime: session.Process}, "Process fns/f.xpkg", ""},
		"ForcedBuiltinMissing":     {"a builtin that does not exist is an error", fn("f", "ghcr.io/acme/f:v1", ""), "f", session.Config{Runtime: session.Builtin}, "", "no builtin replaces package"},
		"ForcedBuiltinOther":       {"runtime Builtin runs a builtin for any owner", fn("f", "ghcr.io/acme/function-dummy:v1", "Builtin"), "f", session.Config{}, "Builtin ghcr.io/acme/function-dummy:v1", ""},
		"ForcedProcessOfReference": {"runtime Process runs a reference, and no builtin", fn("f", contrib, "Process"), "f", session.Config{}, "Process " + contrib, ""},
		"Missing":                  {"a function that is missing from the file is named with its step", fn("g", contrib, ""), "f", session.Config{}, "", `composition.yaml:9: spec.pipeline[0].functionRef.name: the step "s0" calls the function "f", which was not found`},
		"NoFile":                   {"without a functions file, a builtin is found by its name", "", "function-dummy", session.Config{}, "Builtin crossplane-contrib/function-dummy", ""},
		"NoFilePrefixed":           {"without a functions file, a builtin is found by the package manager's name", "", "crossplane-contrib-function-dummy", session.Config{}, "Builtin crossplane-contrib/function-dummy", ""},
		"NoFileUnknown":            {"without a functions file, other functions are unknown", "", "f", session.Config{}, "", `the step "s0" calls the function "f", which was not found`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"composition.yaml": steps(tc.step), "fns/f.xpkg": "package", "fns/src/go.mod": "module f"}
			if tc.functions != "" {
				files["fns/functions.yaml"] = tc.functions
				tc.config.Functions = "fns/functions.yaml"
			}
			rt := &shelf{}
			tc.config.Runtimes = map[session.Runtime]runtimes.Runtime{session.Process: rt, session.Development: rt}
			s := open(t, tc.config, files)
			r, err := renderOne(t.Context(), s, inputs)
			e2e.NoError(t, s.Close(t.Context()))
			if e2e.WantError(t, tc.reason, err, tc.wantErr); err != nil {
				return
			}
			if len(r.Functions) != 1 {
				t.Fatalf("%s: got %+v", tc.reason, r.Functions)
			}
			e2e.Equal(t, tc.reason, tc.want, string(r.Functions[0].Runtime)+" "+r.Functions[0].Package)
		})
	}
}

func TestOnlyUsedFunctionsStartOnceAndAllStop(t *testing.T) {
	rt := &shelf{}
	s := open(t, session.Config{Runtimes: map[session.Runtime]runtimes.Runtime{session.Process: rt}}, map[string]string{
		"composition.yaml": steps("a", "b", "a"), "functions.yaml": fn("a", "./a.xpkg", "") + fn("b", "./b.xpkg", "") + fn("unused", "./c.xpkg", ""),
	})
	for range 3 {
		e2e.NoError(t, e2e.Err(renderOne(t.Context(), s, inputs)))
	}
	e2e.NoError(t, s.Close(t.Context()))
	slices.Sort(rt.started)
	slices.Sort(rt.stopped)
	want := []string{"a ./a.xpkg", "b ./b.xpkg"}
	e2e.Equal(t, "only functions that the pipeline uses start, and only once", want, rt.started)
	e2e.Equal(t, "each function that started is stopped", want, rt.stopped)
}

// TestCancelledRenderLeavesOthersAlone: two renders wait for the same function
// to start. If one render is canceled, the other one still gets the function.
func TestCancelledRenderLeavesOthersAlone(t *testing.T) {
	rt := &gate{open: make(chan struct{}), entered: make(chan struct{})}
	s := open(t, session.Config{Runtimes: map[session.Runtime]runtimes.Runtime{session.Process: rt}}, map[string]string{"composition.yaml": steps("a"), "functions.yaml": fn("a", "./a.xpkg", "")})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := renderOne(ctx, s, inputs); first <- err }()
	<-rt.entered
	waits := make(chan struct{})
	go func() {
		close(waits)
		_, err := renderOne(t.Context(), s, inputs)
		second <- err
	}()
	e2e.Receive(t, waits)
	cancel()
	e2e.ErrorIs(t, "a canceled render returns the cause of its context", e2e.Receive(t, first), context.Canceled)
	close(rt.open)
	e2e.NoError(t, e2e.Receive(t, second))
	e2e.NoError(t, s.Close(t.Context()))
	e2e.ErrorHas(t, "a closed session renders nothing", e2e.Err(renderOne(t.Context(), s, inputs)), "the session is closed")
}

// gate is a Runtime that starts functions only after the channel open is
// closed and, if it is not nil, the channel answers. A start whose context is done before
// that fails. The build of a function from source ends when open is closed.
type gate struct {
	once    sync.Once
	entered chan struct{}
	open    chan struct{}
	answers chan struct{}
	shelf
}

func (g *gate) Start(ctx context.Context, fn runtimes.Function) (*runtimes.Instance, error) {
	g.once.Do(func() { close(g.entered) })
	build, built := ctx, func() {}
	if runtimes.IsSource(fn.Package) {
		build, built = runtimes.WithBuildTimeout(ctx)
	}
	err := opened(build, g.open)
	built()
	if err == nil && g.answers != nil {
		err = opened(ctx, g.answers)
	}
	if err != nil {
		return nil, err
	}
	return g.shelf.Start(ctx, fn)
}

func opened(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestOneFailedStartEndsTheOthers(t *testing.T) {
	rt := &shelf{refuse: "b"}
	s := open(t, session.Config{Runtimes: map[session.Runtime]runtimes.Runtime{session.Process: rt}}, map[string]string{
		"composition.yaml": steps("a", "b", "c"), "functions.yaml": fn("a", "./a.xpkg", "") + fn("b", "./b.xpkg", "") + fn("c", "./c.xpkg", ""),
	})
	e2e.ErrorHas(t, "a function that exits is an error", e2e.Err(renderOne(t.Context(), s, inputs)), `starting function "b": it exited at once: exit status 3`)
	e2e.NoError(t, s.Close(t.Context()))
}

func TestNotes(t *testing.T) {
	composition := strings.Replace(steps("function-dummy"), "{response: {}}", "{apiVersion: dummy.fn.crossplane.io/v1beta1, kind: Response, response: {}}", 1)
	var messages log
	s := open(t, session.Config{Packages: map[string]string{"typo": "x.xpkg"}, Progress: messages.record}, map[string]string{"xr.yaml": xr + "---\na: b\n", "composition.yaml": composition})
	e2e.NoError(t, e2e.Err(renderOne(t.Context(), s, inputs)))
	want := []string{
		"note: xr.yaml has several documents; only the first is used",
		`warning: no step uses function "typo", for which a package is given`,
		"note: function-dummy: Builtin, measured against function-dummy v0.4.1",
	}
	e2e.Equal(t, "the render says what it ignores, and how each function runs", want, messages.lines)
}

// TestEmptyContextFile: the value in an empty file is null, as for Crossplane v2.
func TestEmptyContextFile(t *testing.T) {
	t.Parallel()
	composition := strings.Replace(steps("function-dummy"), "{response: {}}", "{apiVersion: dummy.fn.crossplane.io/v1beta1, kind: Response, response: {}}", 1)
	var messages log
	s := open(t, session.Config{Progress: messages.record}, map[string]string{"composition.yaml": composition, "k.yaml": "# nothing\n"})
	in := inputs
	in.ContextFiles = map[string]string{"k": "k.yaml"}
	got := e2e.Must(renderOne(t.Context(), s, in))(t)
	e2e.Equal(t, "the value is null", any(map[string]any{"k": nil}), got.Context["fields"])
	e2e.Has(t, "an empty file is probably a mistake", strings.Join(messages.lines, "\n"), `warning: k.yaml is empty, so the context "k" is null`)
}

func TestBadInput(t *testing.T) {
	good := map[string]string{"composition.yaml": steps("function-dummy"), "functions.yaml": fn("function-dummy", "crossplane-contrib/function-dummy:v1", "")}
	required := session.Inputs{Required: []string{"o.yaml"}, Strict: true}
	cases := map[string]struct {
		reason, file, text string
		in                 session.Inputs
		want               string
	}{
		"RequiredName":    {"a required resource has a name", "o.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b}}\n", required, "o.yaml:1: an API server has no ConfigMap without metadata.name"},
		"RequiredLabel":   {"a label of a required resource of an unknown kind is a string", "o.yaml", "apiVersion: a.org/v1\nkind: A\nmetadata:\n  name: a\n  labels: {tier: 1}\n", required, "o.yaml:5: an API server refuses this A: metadata.labels[tier]: Invalid value: 1: must be a string, not the number 1"},
		"RequiredValue":   {"a required resource is valid for its kind", "o.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n", required, "o.yaml:4: an API server refuses this ConfigMap: data[a]"},
		"RequiredKind":    {"the misspelled kind of a required resource is named", "o.yaml", "apiVersion: v1\nkind: ConfigMpa\nmetadata: {name: a}\n", required, "o.yaml:1: no function can require the unknown kind ConfigMpa, did you mean ConfigMap?"},
		"WithoutData":     {"an EnvironmentConfig has data", "o.yaml", "apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: {name: a}\ndata:\n", required, "o.yaml:4: this EnvironmentConfig has no data"},
		"ExtraName":       {"an extra resource has a name", "o.yaml", "apiVersion: v1\nkind: ConfigMap\n", session.Inputs{Extra: []string{"o.yaml"}, Invalid: session.RefuseInvalid}, "o.yaml:1: an API server has no ConfigMap without metadata.name"},
		"ObservedLabel":   {"an annotation of an observed resource is a string", "o.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {annotations: {a: true}}\n", session.Inputs{Observed: []string{"o.yaml"}, Strict: true}, "o.yaml:3: an API server refuses this ConfigMap: metadata.annotations[a]"},
		"XRLabel":         {"a label of an XR is a string", "xr.yaml", strings.Replace(xr, "name: alpha", "name: alpha, labels: {tier: 1}", 1), session.Inputs{Invalid: session.RefuseInvalid}, "xr.yaml:4: an API server refuses this composite resource: metadata.labels[tier]"},
		"FunctionField":   {"an unknown field of a Function is named", "functions.yaml", fn("function-dummy", "a/b/function-dummy:v1, runtimeConfigRf: {name: a}", ""), session.Inputs{Strict: true}, `functions.yaml:6: an API server refuses this Function: unknown field "spec.runtimeConfigRf", did you mean runtimeConfigRef?`},
		"CredentialsKind": {"credentials are in Secrets", "o.yaml", "apiVersion: v1\nkind: Secrt\nmetadata: {name: a, namespace: b}\n", session.Inputs{Credentials: []string{"o.yaml"}, Strict: true}, `o.yaml:1: no function gets credentials from this Secrt of apiVersion "v1", only from a Secret of apiVersion v1, did you mean Secret?`},
		"CredentialsData": {"credentials that cannot be decoded are refused in every render", "o.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\ndata: {password: s3cret}\n", session.Inputs{Credentials: []string{"o.yaml"}}, `o.yaml:4: an API server refuses this Secret: data[password]: Invalid value: must be text in base64`},
		"NoXR":            {"a missing file is named", "", "", session.Inputs{XRs: []string{"absent.yaml"}}, `loading the composite resource: reading "absent.yaml": `},
		"ListVersion":     {"an apiVersion of another type is not missing", "xr.yaml", "kind: XA\napiVersion: []\n", session.Inputs{}, "loading the composite resource: xr.yaml:2: apiVersion must be a string, not a list"},
		"TextSpec":        {"the error for a spec that is not an object has the line of the spec", "xr.yaml", "apiVersion: a.org/v1\nkind: XA\nmetadata: {name: a}\nspec: |\n  a: b\n", session.Inputs{}, "loading the composite resource: xr.yaml:4: spec must be an object, not a string"},
		"EmptyXR":         {"an empty file is named", "xr.yaml", "", session.Inputs{}, "loading the composite resource: xr.yaml: there is no YAML document"},
		"XRWithoutKind":   {"an XR must have a kind", "xr.yaml", "apiVersion: v1\n", session.Inputs{}, "loading the composite resource: xr.yaml:1: the object has no kind"},
		"XRSyntax":        {"an error has its line", "xr.yaml", "a: 1\nb: ]\n", session.Inputs{}, "loading the composite resource: xr.yaml:2: "},
		"NoComposition":   {"a missing Composition is named", "", "", session.Inputs{Composition: "absent.yaml"}, `loading the Composition: reading "absent.yaml"`},
		"OtherKind":       {"a Composition for another kind is named", "xr.yaml", strings.Replace(xr, "XWidget", "XGadget", 1), session.Inputs{}, "composition.yaml:6: the Composition \"widgets\" is for kind XWidget"},
		"FunctionsKind":   {"an object that is not a Function is named", "functions.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nope}\n", session.Inputs{}, `loading functions: functions.yaml:2: expected a Function, got ConfigMap "nope"`},
		"Observed":        {"a missing observed file is named", "", "", session.Inputs{Observed: []string{"absent.yaml"}}, `loading observed resources: reading "absent.yaml"`},
		"ObservedNoYAML":  {"a folder without YAML files has no observed resources", "o/notes.txt", "a", session.Inputs{Observed: []string{"o"}}, `loading observed resources: the directory "o" has no .yaml or .yml file`},
		"ObservedNoKind":  {"an observed resource must have a kind", "o.yaml", "a: b\n", session.Inputs{Observed: []string{"o.yaml"}}, "loading observed resources: o.yaml:1: the object has no kind"},
		"ContextFile":     {"a missing context file is named with its key", "", "", session.Inputs{ContextFiles: map[string]string{"k": "absent.json"}}, `loading context "k": reading "absent.json"`},
		"ContextValue":    {"a context value must be YAML", "", "", session.Inputs{ContextValues: map[string]string{"k": "["}}, `reading context "k": value:1: `},
		"ContextYAML":     {"profile v1.20 reads no YAML in context files", "k.yaml", "a: 1\n", session.Inputs{Profile: render.V1_20, ContextFiles: map[string]string{"k": "k.yaml"}}, `loading context "k": k.yaml:1: expected JSON`},
		"NoSecretRef":     {"profile v1.20 refuses credentials without a Secret", "composition.yaml", strings.Replace(steps("function-dummy"), "input: ", "credentials: [{name: c, source: Secret}], input: ", 1), session.Inputs{Profile: render.V1_20}, "spec.pipeline[0].credentials[0].secretRef.name: source Secret requires the name of a Secret"},
		"TwoCredentials":  {"profile v1.20 refuses credentials of one name", "composition.yaml", strings.Replace(steps("function-dummy"), "input: ", "credentials: [{name: c, source: None}, {name: c, source: None}], input: ", 1), session.Inputs{Profile: render.V1_20}, "spec.pipeline[0].credentials[1].name: the name \"c\" is also the name of spec.pipeline[0].credentials[0]"},
		"ContextEmpty":    {"profile v1.20 reads no empty context file", "k.yaml", "", session.Inputs{Profile: render.V1_20, ContextFiles: map[string]string{"k": "k.yaml"}}, `loading context "k": k.yaml: there is no YAML document`},
		"XRDKind":         {"a file that is not an XRD is an error", "xrd.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", session.Inputs{XRD: "xrd.yaml"}, `loading the XRD: xrd.yaml:2: expected a CompositeResourceDefinition, got ConfigMap "x"`},
		"XRDOfAnother":    {"an XRD for another kind is an error", "xrd.yaml", "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nspec: {group: gold.test, names: {kind: XGadget}}\n", session.Inputs{XRD: "xrd.yaml"}, `applying the defaults of XRD "xrd.yaml" to the composite resource "alpha"`},
		"XRDVersion":      {"an XRD that lacks the version of the XR has its line", "xrd.yaml", "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nspec:\n  group: gold.test\n  names: {kind: XWidget, plural: xwidgets}\n  versions: [{name: v2, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]\n", session.Inputs{XRD: "xrd.yaml"}, `version "v1" does not exist; the versions are v2 (at xrd.yaml:6: spec.versions)`},
		"XRDWithoutGroup": {"the missing field of an XRD is named", "xrd.yaml", "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nspec: {grup: gold.test, names: {kind: XWidget}}\n", session.Inputs{XRD: "xrd.yaml"}, `loading the XRD: xrd.yaml:3: spec.group is missing: did you mean group in place of grup?`},
		"UnknownProfile":  {"an unknown profile is named", "", "", session.Inputs{Profile: "v9"}, `unknown profile "v9"`},
		"FullWithoutSpec": {"profile classic needs a spec", "xr.yaml", "apiVersion: gold.test/v1\nkind: XWidget\nmetadata: {name: alpha}\n", session.Inputs{Full: true, Profile: render.Classic}, render.ErrNoSpec.Error()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(good)
			if tc.file != "" {
				files[tc.file] = tc.text
			}
			if tc.in.XRs == nil {
				tc.in.XRs = inputs.XRs
			}
			tc.in.Composition = cmp.Or(tc.in.Composition, inputs.Composition)
			e2e.ErrorHas(t, tc.reason, e2e.Err(renderOne(t.Context(), open(t, session.Config{}, files), tc.in)), tc.want)
		})
	}
}

func TestHintsAboutReferences(t *testing.T) {
	for name, tc := range map[string]struct{ reason, old, by, wantErr, want string }{
		"Misspelled": {"a misspelled reference has its line", "compositeTypeRef", "compositTypeRef", "spec.compositeTypeRef is missing", "did you mean compositeTypeRef at composition.yaml:"},
		"Kind":       {"a misspelled kind of a reference has its line", "kind: XWidget", "knid: XWidget", "spec.compositeTypeRef.kind is missing", "did you mean kind at composition.yaml:"},
		"None":       {"a missing reference is to be added", "compositeTypeRef", "other", "spec.compositeTypeRef is missing", "add compositeTypeRef"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(steps("f"), tc.old, tc.by, 1)
			s := open(t, session.Config{}, map[string]string{"composition.yaml": text})
			_, err := renderOne(t.Context(), s, inputs)
			e2e.ErrorHas(t, tc.reason, err, tc.wantErr)
			e2e.Has(t, tc.reason, string(hint.Of(err)), tc.want)
		})
	}
}

func TestHints(t *testing.T) {
	const claimed = "{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, spec: {group: gold.test, names: {kind: XWidget}, claimNames: {kind: WidgetClaim}}}"
	replaced := func(old, by string) string { return strings.Replace(xr, old, by, 1) }
	cases := map[string]struct {
		reason, xr, wantErr, want string
	}{
		"NoFunction": {"a missing function is named by an option", xr, `calls the function "f"`, "{package} NAME=PATH"},
		"Kind":       {"a similar kind is suggested with its line", replaced("XWidget", "XWidgt"), "is for kind XWidget", `did you mean "kind: XWidget" at xr.yaml:3, or "kind: XWidgt" at composition.yaml:`},
		"Claim":      {"a claim has the kind without X, and needs its XRD", replaced("XWidget", "Widget"), "is for kind XWidget", `or, if this is a claim, name the directory of its XRD and Composition with {compositions}`},
		"ClaimOfXRD": {"a kind in claimNames of the XRD is a claim", replaced("XWidget", "WidgetClaim"), "is for kind XWidget", `xr.yaml:3 is the kind of claims (xrd.yaml:1): name the directory of this XRD and its Composition with {compositions}`},
		"OtherKind":  {"the line of another kind is named", replaced("XWidget", "Bucket"), "is for kind XWidget", `set "kind: XWidget" at xr.yaml:3; or, if this is a claim, name the directory of its XRD and Composition with {compositions}`},
		"Version":    {"a similar version is suggested with its line", replaced("gold.test/v1", "gold.test/v2"), "is for apiVersion gold.test/v1", `did you mean "apiVersion: gold.test/v1" at xr.yaml:2, or "apiVersion: gold.test/v2" at composition.yaml:`},
		"NoVersion":  {"a missing version has the line of the object", replaced("apiVersion: gold.test/v1", ""), "loading the composite resource: xr.yaml:3: apiVersion is missing", `add "apiVersion: gold.test/v1"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Config{}, map[string]string{"xr.yaml": tc.xr, "composition.yaml": steps("f"), "xrd.yaml": claimed})
			in := inputs
			in.XRD = "xrd.yaml"
			_, err := renderOne(t.Context(), s, in)
			e2e.ErrorHas(t, tc.reason, err, tc.wantErr)
			e2e.Has(t, tc.reason, string(hint.Of(err)), tc.want)
		})
	}
}
