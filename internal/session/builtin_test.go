package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// patched returns a Composition with one step that calls
// function-patch-and-transform with this input.
func patched(input string) string {
	return strings.Replace(steps("function-patch-and-transform"), "{response: {}}", input, 1)
}

const thing = "{apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, resources: [{name: thing, base: {apiVersion: v1, kind: Thing}, patches: [{fromFieldPath: spec.size, toFieldPath: size}]}]}"

func TestBuiltinVersions(t *testing.T) {
	cases := map[string]struct {
		reason, pkg     string
		mode            builtin.Mode
		warning, refuse string
	}{
		"Inside":       {"a tested version gives no warning", "xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.10.2", builtin.Strict, "", ""},
		"WithoutV":     {"a version without a v is replaced, but no release has this tag", "crossplane-contrib/function-patch-and-transform:0.8.2", builtin.Strict, "begin with v, did you mean v0.8.2?", ""},
		"OwnWithoutV":  {"another owner may have tags without a v", "example.org/acme/function-patch-and-transform:0.8.2", builtin.Auto, "", "no available runtime"},
		"NoTag":        {"a package without a tag gives the warning of an API server", "crossplane-contrib/function-patch-and-transform", builtin.Strict, "has neither a tag nor a digest", ""},
		"Older":        {"an older version gives a warning", "xpkg.upbound.io/crossplane-contrib/function-patch-and-transform:v0.1.4", builtin.Auto, "replaces versions v0.8.0 to below v0.11.0, not v0.1.4", ""},
		"OlderStrict":  {"policy strict refuses an older version", "xpkg.upbound.io/crossplane-contrib/function-patch-and-transform:v0.1.4", builtin.Strict, "", "replaces versions v0.8.0 to below v0.11.0, not v0.1.4"},
		"Newer":        {"a newer version gives a warning", "crossplane-contrib/function-patch-and-transform:v0.11.0", builtin.Auto, "not v0.11.0", ""},
		"Branch":       {"a tag that is not a version gives a warning", "crossplane-contrib/function-patch-and-transform:main", builtin.Auto, `the tag "main" is not a version`, ""},
		"BranchStrict": {"policy strict refuses a tag that is not a version", "crossplane-contrib/function-patch-and-transform:main", builtin.Strict, "", `the tag "main" is not a version`},
		"PortInHost":   {"a port is not a tag", "localhost:5000/crossplane-contrib/function-patch-and-transform", builtin.Strict, "has neither a tag nor a digest", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var messages log
			s := open(t, session.Config{Builtins: builtin.Policy{Mode: tc.mode}, Progress: messages.record}, map[string]string{
				"composition.yaml": patched(thing), "functions.yaml": fn("function-patch-and-transform", tc.pkg, ""),
			})
			r, err := renderOne(t.Context(), s, inputs)
			if tc.refuse != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refuse) || hint.Of(err) == "" {
					t.Fatalf("%s: got %v (hint: %s)", tc.reason, err, hint.Of(err))
				}
				return
			}
			if err != nil || len(r.Composed) != 1 {
				t.Fatalf("%s: got %v, %v", tc.reason, r, err)
			}
			if got := strings.Join(messages.warnings(), "\n"); tc.warning == "" && got != "" || !strings.Contains(got, tc.warning) {
				t.Errorf("%s: got the warnings %q", tc.reason, got)
			}
		})
	}
}

// TestVersionOfPackage: a builtin behaves like the version in spec.package.
func TestVersionOfPackage(t *testing.T) {
	cases := map[string]struct{ reason, pkg, want string }{
		"Release": {"a release has no field ttl", ":v0.12.2", `unknown name "ttl"`},
		"None":    {"without a version the builtin behaves like the newest release", "", `unknown name "ttl"`},
		"Branch":  {"the main branch has the field ttl", ":main", ""},
		"Next":    {"a version after the newest release has the field ttl", ":0.13.1", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Config{}, map[string]string{
				"composition.yaml": strings.Replace(steps("function-go-templating"), "{response: {}}", "{source: Inline, inline: {template: '# x'}, ttl: 5m}", 1), "functions.yaml": fn("function-go-templating", "crossplane-contrib/function-go-templating"+tc.pkg, ""),
			})
			e2e.WantError(t, tc.reason, e2e.Err(renderOne(t.Context(), s, inputs)), tc.want)
		})
	}
}

// TestUnknownField: the hint for an unknown input field names the version of the builtin.
func TestUnknownField(t *testing.T) {
	s := open(t, session.Config{}, map[string]string{"composition.yaml": patched("{resources: [{name: thing, bases: {}}]}")})
	_, err := renderOne(t.Context(), s, inputs)
	e2e.ErrorHas(t, "an unknown field is an error", err, "cannot get Function input: cannot get function input *v1beta1.Resources")
	if got := string(hint.Of(err)); !strings.Contains(got, "resources[0].bases") || !strings.Contains(got, "{package}") {
		t.Errorf("got the hint %q", got)
	}
}

// real is a Runtime that simulates a package. Its functions respond like the
// builtin, except that change modifies each response.
type real struct {
	change func(*fnv1.RunFunctionResponse)
}

func (r real) Start(context.Context, runtimes.Function) (*runtimes.Instance, error) {
	b, _ := builtin.Named("function-patch-and-transform")
	run := b.New(builtin.Options{})
	return &runtimes.Instance{
		Detail: "a package",
		Runner: function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			rsp, err := run.RunFunction(ctx, name, req)
			rsp = proto.CloneOf(rsp)
			r.change(rsp)
			return rsp, err
		}),
		Stop: func(context.Context) error { return nil },
	}, nil
}

func TestCrosscheck(t *testing.T) {
	alike := func(*fnv1.RunFunctionResponse) {}
	differs := func(rsp *fnv1.RunFunctionResponse) {
		rsp.GetDesired().GetResources()["thing"].Ready = fnv1.Ready_READY_TRUE
	}
	cases := map[string]struct {
		reason, name string
		change       func(*fnv1.RunFunctionResponse)
		packages     map[string]string
		want         string
	}{
		"Alike":       {"equal answers pass", "function-patch-and-transform", alike, map[string]string{"function-patch-and-transform": "pt.xpkg"}, ""},
		"Managed":     {"a function with the package manager's name is checked", "crossplane-contrib-function-patch-and-transform", alike, map[string]string{"crossplane-contrib-function-patch-and-transform": "pt.xpkg"}, ""},
		"Differ":      {"a difference is an error", "function-patch-and-transform", differs, map[string]string{"function-patch-and-transform": "pt.xpkg"}, `desired.resources.thing.ready is nothing by the builtin, but "READY_TRUE" by the runtime Process`},
		"NoBuiltin":   {"a function without a builtin is not checked", "function-mine", differs, map[string]string{"function-mine": "mine.xpkg"}, ""},
		"OnlyBuiltin": {"a builtin cannot be checked against itself", "function-patch-and-transform", alike, nil, "runs only as a builtin"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Config{Packages: tc.packages, Crosscheck: true, Runtimes: map[session.Runtime]runtimes.Runtime{session.Process: real{tc.change}}}, map[string]string{
				"pt.xpkg": "", "mine.xpkg": "", "composition.yaml": strings.Replace(patched(thing), "{name: function-patch-and-transform}", "{name: "+tc.name+"}", 1),
			})
			r, err := renderOne(t.Context(), s, inputs)
			if tc.want == "" {
				if err != nil || len(r.Composed) != 1 {
					t.Errorf("%s: got %v, %v", tc.reason, r, err)
				}
				return
			}
			e2e.ErrorHas(t, tc.reason, err, tc.want)
			if hint.Of(err) == "" && !errors.As(err, new(*intercept.CrosscheckError)) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

// TestBuiltinSettings: the user's settings and the annotations of a Function configure its builtin.
func TestBuiltinSettings(t *testing.T) {
	templated := func(input string) string {
		return strings.Replace(steps("function-go-templating"), "{response: {}}", input, 1)
	}
	const missing = "{source: Inline, inline: {template: '# {{ .none }}'}}"
	annotation := func(key, value string) string {
		return strings.Replace(fn("function-go-templating", "crossplane-contrib/function-go-templating:main", "Auto"), "render.crossplane.io/runtime: Auto", builtin.AnnotationPrefix+key+": "+value, 1)
	}
	cases := map[string]struct {
		reason, input, functions string
		settings                 builtin.Settings
		annotations              map[string]string
		want                     string
	}{
		"Default":    {"without a setting, a missing key has no value", missing, annotation("ttl", "1m"), nil, nil, ""},
		"Setting":    {"a setting applies", missing, annotation("ttl", "1m"), builtin.Settings{"go-templating.default-options": "missingkey=error"}, nil, `map has no entry for key "none"`},
		"Annotation": {"an annotation applies", missing, annotation("default-options", "missingkey=error"), nil, nil, `map has no entry for key "none"`},
		"Given":      {"the input has precedence", "{source: Inline, options: [], inline: {template: '# {{ .none }}'}}", annotation("default-options", "missingkey=error"), nil, nil, ""},
		"All":        {"an annotation of all Functions has precedence over the annotation of one Function", missing, annotation("default-options", "missingkey=error"), nil, map[string]string{builtin.AnnotationPrefix + "default-options": "missingkey=zero"}, ""},
		"Unknown":    {"an unknown annotation is an error", missing, annotation("default-option", "a"), nil, nil, `function-go-templating has no setting "default-option"`},
		"Release":    {"a release does not have the setting", missing, strings.Replace(annotation("default-options", "a"), ":main", ":v0.12.2", 1), nil, nil, "function-go-templating v0.12.2 has no setting default-options"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Config{BuiltinOptions: builtin.Options{Settings: tc.settings}, Annotations: tc.annotations}, map[string]string{"composition.yaml": templated(tc.input), "functions.yaml": tc.functions})
			e2e.WantError(t, tc.reason, e2e.Err(renderOne(t.Context(), s, inputs)), tc.want)
		})
	}
}

// unchanged is a function that returns the desired state of its request.
var unchanged = function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return &fnv1.RunFunctionResponse{Desired: req.GetDesired()}, nil
})

// TestExplainBuiltins: a note for each step says why it runs as a builtin or not.
func TestExplainBuiltins(t *testing.T) {
	const contrib = "crossplane-contrib/function-dummy:v0.4.1"
	cases := map[string]struct {
		reason, functions string
		config            session.Config
		steps             map[string]function.Runner
		want              string
	}{
		"Builtin":    {"a package of crossplane-contrib", fn("f", contrib, ""), session.Config{}, nil, `"s0": f runs as builtin function-dummy, because the owner of the package is crossplane-contrib; version v0.4.1 is in the range v0.4.0 to below v0.5.0`},
		"Other":      {"a package of another owner", fn("f", "ghcr.io/acme/function-dummy:v0.4.1", ""), session.Config{}, nil, `"s0": f runs by Docker, not as a builtin, because the owner of the package is not crossplane-contrib`},
		"Digest":     {"a package by digest", fn("f", "crossplane-contrib/function-dummy@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", ""), session.Config{}, nil, `"s0": f runs by Docker, not as a builtin, because the package is referenced by digest`},
		"Off":        {"builtins that are off", fn("f", contrib, ""), session.Config{Builtins: builtin.Policy{Mode: builtin.Off}}, nil, `"s0": f runs by Docker, not as a builtin, because builtins are off`},
		"Package":    {"a package that is given", fn("f", contrib, ""), session.Config{Packages: map[string]string{"f": "f.xpkg"}}, nil, `"s0": f runs by Docker, not as a builtin, because package "f.xpkg" is a file`},
		"Annotation": {"a runtime in the annotation", fn("f", contrib, "Docker"), session.Config{}, nil, `"s0": f runs by Docker, not as a builtin, because the annotation render.crossplane.io/runtime selects runtime Docker`},
		"Runtime":    {"a runtime for all functions", fn("f", contrib, ""), session.Config{Runtime: session.Builtin}, nil, `"s0": f runs as builtin function-dummy, because runtime Builtin is selected for all functions`},
		"Crosscheck": {"a builtin that checks a package", fn("function-dummy", contrib, ""), session.Config{Builtins: builtin.Policy{Mode: builtin.Off}, Crosscheck: true}, nil, `"s0": function-dummy runs by Docker and as builtin function-dummy, because builtins are off`},
		"Replaced":   {"a step whose response is replaced", "", session.Config{}, map[string]function.Runner{"s0": unchanged}, `"s0": f is not called, because its response is replaced`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var messages log
			called := "f"
			if strings.Contains(tc.functions, "name: function-dummy") {
				called = "function-dummy"
			}
			c := tc.config
			c.ExplainBuiltins, c.Progress, c.Runtimes = true, messages.record, map[session.Runtime]runtimes.Runtime{session.Docker: &shelf{}}
			s := open(t, c, map[string]string{"composition.yaml": steps(called), "functions.yaml": tc.functions, "f.xpkg": ""})
			in := inputs
			in.Steps = tc.steps
			for range 2 { // The second render adds no note.
				if _, err := renderOne(t.Context(), s, in); err != nil && !c.Crosscheck {
					t.Errorf("%s: %v", tc.reason, err)
				}
			}
			e2e.Equal(t, tc.reason, tc.want, strings.Join(messages.of("note: step "), "\n"))
		})
	}
}
