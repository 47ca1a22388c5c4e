package builtin_test

import (
	"maps"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

func TestParseSettings(t *testing.T) {
	cases := map[string]struct {
		reason    string
		in        []string
		want      builtin.Settings
		err, hint string
	}{
		"All": {
			"every setting of both builtins is accepted",
			[]string{"go-templating.default-source=tpl", "go-templating.default-options=missingkey=error", "go-templating.ttl=5m", "auto-ready.feature-gates=AllAlpha=true", "function-auto-ready.ttl=0s"},
			builtin.Settings{"go-templating.default-source": "tpl", "go-templating.default-options": "missingkey=error", "go-templating.ttl": "5m", "auto-ready.feature-gates": "AllAlpha=true", "auto-ready.ttl": "0s"},
			"", "",
		},
		"Last":     {"the last of several values applies", []string{"auto-ready.ttl=1s", "auto-ready.ttl=2s"}, builtin.Settings{"auto-ready.ttl": "2s"}, "", ""},
		"NoValue":  {"a value is required", []string{"auto-ready.ttl"}, nil, `expected NAME.KEY=VALUE, got "auto-ready.ttl"`, ""},
		"NoKey":    {"a key is required, even if the value has a dot", []string{"auto-ready=a.b"}, nil, `expected NAME.KEY=VALUE, got "auto-ready=a.b"`, ""},
		"Name":     {"an unknown builtin is an error with a suggestion", []string{"auto-redy.ttl=1s"}, nil, `there is no builtin "auto-redy": the builtins are `, "did you mean auto-ready?"},
		"Key":      {"an unknown setting is an error with a suggestion", []string{"go-templating.default-sorce=a"}, nil, `function-go-templating has no setting "default-sorce": its settings are default-options, default-source, ttl`, "did you mean default-source?"},
		"None":     {"a builtin may have no settings", []string{"dummy.ttl=1s"}, nil, `function-dummy has no settings, got "ttl"`, ""},
		"Duration": {"a TTL is a Go duration", []string{"go-templating.ttl=5"}, nil, `setting ttl of function-go-templating: expected a duration such as 5m, got "5"`, ""},
		"Gate":     {"an unknown feature gate is an error with a suggestion", []string{"auto-ready.feature-gates=CELHealthCheckCustomization=true"}, nil, "unrecognized feature gate: CELHealthCheckCustomization", "did you mean CELHealthcheckCustomizations?"},
		"GateBool": {"the value of a feature gate is a boolean", []string{"auto-ready.feature-gates=AllAlpha=on"}, nil, `expected AllAlpha=true or AllAlpha=false, got "AllAlpha=on"`, ""},
		"GateBare": {"a feature gate must have a value", []string{"auto-ready.feature-gates=AllAlpha"}, nil, `expected AllAlpha=true or AllAlpha=false, got "AllAlpha"`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := builtin.ParseSettings(tc.in)
			if tc.err == "" {
				e2e.NoError(t, err)
				e2e.Equal(t, tc.reason, tc.want, got)
				return
			}
			e2e.ErrorHas(t, tc.reason, err, tc.err)
			e2e.Equal(t, tc.reason, tc.hint, string(hint.Of(err)))
		})
	}
}

func TestConfigured(t *testing.T) {
	settings := func(option, value string) builtin.Settings { return builtin.Settings{option: value} }
	cases := map[string]struct {
		reason, builtin, pkg string
		settings, annotated  builtin.Settings
		ttl, err             string
	}{
		"None":      {"without settings the TTL is a minute", "auto-ready", "a/b:v0.7.0", nil, nil, "1m0s", ""},
		"AutoReady": {"auto-ready has the TTL since v0.7.0", "auto-ready", "a/b:v0.7.0", settings("auto-ready.ttl", "5m"), nil, "5m0s", ""},
		"Old":       {"an older version of auto-ready has no settings", "auto-ready", "a/b:v0.6.7", settings("auto-ready.ttl", "5m"), nil, "", "function-auto-ready v0.6.7 has no setting ttl"},
		"Release":   {"no release of go-templating has the TTL", "go-templating", "a/b:0.12.2", settings("go-templating.ttl", "5m"), nil, "", "function-go-templating 0.12.2 has no setting ttl"},
		"Options":   {"no release of go-templating has default options", "go-templating", "a/b:v0.12.2", settings("go-templating.default-options", "missingkey=error"), nil, "", "function-go-templating v0.12.2 has no setting default-options"},
		"Source":    {"go-templating has a default source since v0.12.0", "go-templating", "a/b:v0.12.0", settings("go-templating.default-source", "nope"), nil, "1m0s", ""},
		"NoSource":  {"go-templating v0.11 has no default source", "go-templating", "a/b:v0.11.9", settings("go-templating.default-source", "nope"), nil, "", "function-go-templating v0.11.9 has no setting default-source"},
		"Branch":    {"the main branch of go-templating has the TTL", "go-templating", "a/b:main", settings("go-templating.ttl", "-5m"), nil, "-5m0s", ""},
		"NoVersion": {"a package without a version has all settings", "go-templating", "a/b", settings("go-templating.ttl", "0s"), nil, "0s", ""},
		"Other":     {"a setting of another builtin has no effect", "auto-ready", "a/b:v0.7.0", settings("go-templating.ttl", "5m"), nil, "1m0s", ""},
		"Annotated": {"annotations set the TTL", "auto-ready", "a/b", nil, settings("auto-ready.ttl", "5m"), "5m0s", ""},
		"Both":      {"the user's settings take precedence over annotations", "auto-ready", "a/b", settings("auto-ready.ttl", "7m"), settings("auto-ready.ttl", "5m"), "7m0s", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := e2e.Must(builtin.Find(tc.builtin))(t)
			r, err := b.Configured(builtin.Options{Package: tc.pkg, Settings: tc.settings, Annotated: tc.annotated})
			if tc.err != "" {
				if err == nil || err.Error() != tc.err || hint.Of(err) == "" {
					t.Errorf("%s: got %v (hint: %q)", tc.reason, err, hint.Of(err))
				}
				return
			}
			e2e.NoError(t, err)
			rsp := e2e.Must(r.RunFunction(t.Context(), b.Name, &fnv1.RunFunctionRequest{}))(t)
			e2e.Equal(t, tc.reason, tc.ttl, rsp.GetMeta().GetTtl().AsDuration().String())
		})
	}
}

// TestAnnotated checks the settings in annotations of a Function.
func TestAnnotated(t *testing.T) {
	const prefix = builtin.AnnotationPrefix
	cases := map[string]struct {
		reason, builtin, name, value string
		want                         builtin.Settings
		err, hint                    string
	}{
		"Setting": {"an annotation is a setting of the Function's builtin", "go-templating", prefix + "default-source", "tpl", builtin.Settings{"go-templating.default-source": "tpl"}, "", ""},
		"Other":   {"a setting of another builtin is ignored, because annotations may be for all Functions", "auto-ready", prefix + "default-source", "tpl", builtin.Settings{}, "", ""},
		"Foreign": {"other annotations are ignored", "dummy", "render.crossplane.io/runtime", "Builtin", builtin.Settings{}, "", ""},
		"Unknown": {"an unknown setting is an error with a suggestion", "go-templating", prefix + "tl", "5m", nil, `annotation render.crossplane.io/runtime-builtin-tl: function-go-templating has no setting "tl"`, "did you mean ttl?"},
		"Value":   {"an invalid value is an error", "auto-ready", prefix + "ttl", "x", nil, `annotation render.crossplane.io/runtime-builtin-ttl: setting ttl of function-auto-ready: expected a duration such as 5m, got "x"`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := e2e.Must(builtin.Find(tc.builtin))(t)
			got, err := b.Annotated(map[string]string{tc.name: tc.value})
			if tc.err == "" && (err != nil || !maps.Equal(got, tc.want)) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) || string(hint.Of(err)) != tc.hint {
				t.Errorf("%s: got %v, %v (hint: %q)", tc.reason, got, err, hint.Of(err))
			}
		})
	}
}

// TestAnnotatedFolder: annotations are part of a file that the user may not have written, so a
// default source in them is below the working directory. The user's own may be anywhere.
func TestAnnotatedFolder(t *testing.T) {
	outside := t.TempDir()
	b, _ := builtin.Named("function-go-templating")
	folder := builtin.Settings{"go-templating.default-source": outside}
	for reason, tc := range map[string]struct {
		options builtin.Options
		refused bool
	}{
		"the user may name any folder":                            {builtin.Options{Settings: folder}, false},
		"an annotation must not name a folder outside":            {builtin.Options{Annotated: folder}, true},
		"an annotation may name a folder that the user names too": {builtin.Options{Annotated: folder, GoTemplating: gotemplating.Options{Templates: []gotemplating.Folder{{Dir: outside}}}}, false},
	} {
		r := e2e.Must(b.Configured(tc.options))(t)
		rsp, err := r.RunFunction(t.Context(), b.Name, &fnv1.RunFunctionRequest{Input: &structpb.Struct{}})
		if refused := len(rsp.GetResults()) > 0; err != nil || refused != tc.refused {
			t.Errorf("%s: got %v, %v", reason, rsp, err)
		}
	}
}

func TestExplain(t *testing.T) {
	const pt = "crossplane-contrib/function-patch-and-transform"
	mapped := builtin.Policy{Mode: builtin.Off, Repositories: map[string]string{"ghcr.io/acme/pt": "patch-and-transform"}}
	cases := map[string]struct {
		reason    string
		policy    builtin.Policy
		pkg, want string
	}{
		"Contrib":   {"a package of crossplane-contrib in the range", builtin.Policy{}, "xpkg.crossplane.io/" + pt + ":v0.10.8", "the owner of the package is crossplane-contrib; version v0.10.8 is in the range v0.8.0 to below v0.11.0"},
		"Outside":   {"a version outside of the range", builtin.Policy{}, pt + ":v0.7.0", "the owner of the package is crossplane-contrib; version v0.7.0 is not in the range v0.8.0 to below v0.11.0"},
		"NoVersion": {"a package without a version", builtin.Policy{}, pt, "the owner of the package is crossplane-contrib; the package has no version"},
		"Digest":    {"a package by digest", builtin.Policy{}, pt + "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "the package is referenced by digest"},
		"Invalid":   {"a package that is not a reference", builtin.Policy{}, "::", "the package is not referenced by a tag"},
		"Owner":     {"a package of another owner", builtin.Policy{}, "ghcr.io/acme/function-patch-and-transform:v1", "the owner of the package is not crossplane-contrib"},
		"Any":       {"a package of another owner in mode any", builtin.Policy{Mode: builtin.Any}, "ghcr.io/acme/function-dummy:v0.4.1", "builtins replace packages of any owner; version v0.4.1 is in the range v0.4.0 to below v0.5.0"},
		"Off":       {"mode off", builtin.Policy{Mode: builtin.Off}, pt + ":v0.10.8", "builtins are off"},
		"Name":      {"a package that no builtin replaces", builtin.Policy{}, "crossplane-contrib/function-nobody:v1", "no builtin has the name function-nobody"},
		"Mapped":    {"a repository in the policy", mapped, "ghcr.io/acme/pt:v0.10.1", "repository ghcr.io/acme/pt is mapped to function-patch-and-transform; version v0.10.1 is in the range v0.8.0 to below v0.11.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, tc.policy.Explain(tc.pkg))
		})
	}
}
