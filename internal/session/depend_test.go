package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
)

// versions is a Resolver that selects version v9 for every dependency. It
// records the dependencies.
type versions struct{ asked []string }

func (v *versions) Reference(_ context.Context, d lock.Dependency) (string, error) {
	v.asked = append(v.asked, d.Package+" "+d.Version)
	if strings.Contains(d.Package, "gone") {
		return "", d.At(errors.New("the registry is away"))
	}
	return "registry.example.org/" + d.Package + ":v9", nil
}

func metadata(dependsOn ...string) string {
	return "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nspec:\n  dependsOn:\n  - " + strings.Join(dependsOn, "\n  - ") + "\n"
}

func TestDependencies(t *testing.T) {
	const dummy = "crossplane-contrib/function-dummy"
	digest := "sha256:" + strings.Repeat("0", 64)
	on := func(pkg, version string) string { return "{function: " + pkg + ", version: '" + version + "'}" }
	cases := map[string]struct {
		reason, metadata, step string
		config                 session.Config
		// want is the runtime and the package that run. asked is the dependency that
		// the Resolver gets.
		want, asked, err string
	}{
		"ByObject":     {"a dependency is found by its name in a cluster", metadata(on("acme/f", ">=v1"), on("other/f", ">=v1")), "acme-f", session.Config{}, "Sandbox registry.example.org/acme/f:v9", "acme/f >=v1", ""},
		"ByLastPart":   {"a dependency is found by the last part of its repository", metadata(on("acme/f", ">=v1"), on("gone/g", ">=v1")), "f", session.Config{}, "Sandbox registry.example.org/acme/f:v9", "acme/f >=v1", ""},
		"Ambiguous":    {"an ambiguous name is unknown", metadata(on("acme/f", ">=v1"), on("other/f", ">=v1")), "f", session.Config{}, "", "", `calls the function "f", which was not found`},
		"Unknown":      {"a name that is not a dependency is unknown", metadata(on("acme/f", ">=v1")), "g", session.Config{}, "", "", `calls the function "g", which was not found`},
		"Away":         {"an error of the resolver has the position of the dependency", metadata(on("acme/f", ">=v1"), on("gone/g", ">=v1")), "g", session.Config{}, "", "gone/g >=v1", "loading functions: crossplane.yaml:6: the registry is away"},
		"Wrong":        {"invalid metadata is an error", metadata("{version: v1}"), "f", session.Config{}, "", "", "crossplane.yaml:5: spec.dependsOn[0] names no package"},
		"Beside":       {"a Function in the file takes precedence over a dependency", metadata(on("acme/f", ">=v1")) + fn("f", "registry.example.org/own:v1", ""), "f", session.Config{}, "Sandbox registry.example.org/own:v1", "", ""},
		"Package":      {"a given package takes precedence over a dependency", metadata(on("acme/f", ">=v1")), "f", session.Config{Packages: map[string]string{"f": "f.xpkg"}}, "Sandbox f.xpkg", "", ""},
		"Builtin":      {"a builtin that the constraint allows is used without the resolver", metadata(on(dummy, ">=v0.4.0")), "function-dummy", session.Config{}, "Builtin " + dummy + ":v0.4.1", "", ""},
		"BuiltinExact": {"a builtin with the exact version is used without the resolver", metadata(on(dummy, "v0.4.0")), "crossplane-contrib-function-dummy", session.Config{}, "Builtin " + dummy + ":v0.4.0", "", ""},
		"BuiltinWhole": {"a builtin with a whole reference is used without the resolver", metadata(on(dummy+":v0.4.0", "")), "function-dummy", session.Config{}, "Builtin " + dummy + ":v0.4.0", "", ""},
		"BuiltinOlder": {"a builtin that the constraint does not allow is resolved, with a warning", metadata(on(dummy, "<v0.4.0")), "function-dummy", session.Config{}, "Builtin registry.example.org/" + dummy + ":v9", dummy + " <v0.4.0", ""},
		"BuiltinOff":   {"without builtins the resolver is used", metadata(on(dummy, ">=v0.4.0")), "function-dummy", session.Config{Builtins: builtin.Policy{Mode: builtin.Off}}, "Sandbox registry.example.org/" + dummy + ":v9", dummy + " >=v0.4.0", ""},
		"OtherRuntime": {"with another runtime the resolver is used", metadata(on(dummy, ">=v0.4.0")), "function-dummy", session.Config{Runtime: session.Docker}, "Docker registry.example.org/" + dummy + ":v9", dummy + " >=v0.4.0", ""},
		"Annotated":    {"with a runtime annotation the resolver is used", metadata(on(dummy, ">=v0.4.0")), "function-dummy", session.Config{Annotations: map[string]string{session.AnnotationRuntime: "docker"}}, "Docker registry.example.org/" + dummy + ":v9", dummy + " >=v0.4.0", ""},
		"Forced":       {"runtime Builtin forces a builtin", metadata(on("acme/function-dummy", ">=v0.4.0")), "function-dummy", session.Config{Runtime: session.Builtin}, "Builtin acme/function-dummy:v0.4.1", "", ""},
		"Digest":       {"a digest is never replaced by a builtin", metadata(on(dummy, digest)), "function-dummy", session.Config{Runtime: session.Sandbox}, "Sandbox registry.example.org/" + dummy + ":v9", dummy + " " + digest, ""},
		"Locked":       {"a lock file decides the version", metadata(on(dummy, ">=v0.4.0")), "function-dummy", session.Config{Locked: true}, "Builtin registry.example.org/" + dummy + ":v9", dummy + " >=v0.4.0", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resolver, shelf := &versions{}, &shelf{}
			config := tc.config
			config.Functions, config.Dependencies = "crossplane.yaml", resolver
			config.Runtimes = map[session.Runtime]runtimes.Runtime{session.Sandbox: shelf, session.Docker: shelf}
			s := open(t, config, map[string]string{"f.xpkg": "", "composition.yaml": steps(tc.step), "crossplane.yaml": tc.metadata})
			r, err := renderOne(t.Context(), s, inputs)
			e2e.Equal(t, tc.reason, tc.asked, strings.Join(resolver.asked, ", "))
			if e2e.WantError(t, tc.reason, err, tc.err); err != nil {
				return
			}
			e2e.Equal(t, tc.reason, tc.want, string(r.Functions[0].Runtime)+" "+r.Functions[0].Package)
		})
	}
}

// TestDependenciesListed: the error for an unknown function has a hint that
// lists the dependencies.
func TestDependenciesListed(t *testing.T) {
	s := open(t, session.Config{Functions: "root", Dependencies: &versions{}}, map[string]string{
		"composition.yaml":     steps("f"),
		"root/crossplane.yaml": metadata("{function: registry.example.org/z/f, version: v1}", "{function: registry.example.org/acme/f, version: v1}"),
		"root/crd.yaml":        "kind: CustomResourceDefinition\n",
	})
	const want = "the functions of root are acme-f, z-f: use one of these names, add the function to the dependencies, or name its package with {package} NAME=PATH"
	e2e.Equal(t, "the hint lists the dependencies", want, string(hint.Of(e2e.Err(renderOne(t.Context(), s, inputs)))))
}

// TestDependenciesUnused: dependencies that no pipeline uses, or that
// Config.Runners replaces, are not resolved.
func TestDependenciesUnused(t *testing.T) {
	resolver := &versions{}
	s := open(t, session.Config{Functions: "crossplane.yaml", Dependencies: resolver, Runners: function.Mux{"f": unchanged}}, map[string]string{
		"composition.yaml": steps("f"), "crossplane.yaml": metadata("{function: acme/f, version: v1}", "{function: gone/g, version: v1}"),
	})
	e2e.NoError(t, e2e.Err(renderOne(t.Context(), s, inputs)))
	e2e.Equal(t, "dependencies that no pipeline uses are not resolved", 0, len(resolver.asked))
}
