package dev_test

import (
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

func TestDiscover(t *testing.T) {
	composition := func(names ...string) string {
		text := "kind: Composition\nspec:\n  pipeline:\n"
		for _, n := range names {
			text += "  - functionRef: {name: " + n + "}\n"
		}
		return text
	}
	base := func(more map[string]string) map[string]string {
		files := map[string]string{"go.mod": "module example.org/function-mod\n", "example/xr.yaml": "kind: X", "example/composition.yaml": composition("a", "function-mod", "function-pkg")}
		for name, text := range more {
			files[name] = text
			if text == "" {
				delete(files, name)
			}
		}
		return files
	}
	found := dev.Project{XR: "example/xr.yaml", Composition: "example/composition.yaml", Source: "."}
	named := func(name string) dev.Project { p := found; p.Function = name; return p }
	all := named("function-pkg")
	all.Functions, all.XRD = "example/functions.yaml", "example/definition.yaml"
	cases := map[string]struct {
		reason  string
		files   map[string]string
		want    dev.Project
		wantErr string
	}{
		"Whole": {
			"a folder that a template created is found", base(map[string]string{"package/crossplane.yaml": "metadata: {name: function-pkg}", "example/functions.yaml": "x", "example/definition.yaml": "x"}),
			all, "",
		},
		"Module":        {"the package can have another name", base(map[string]string{"package/crossplane.yaml": "metadata: {name: other}"}), named("function-mod"), ""},
		"Only":          {"a single function can have any name", base(map[string]string{"example/composition.yaml": composition("hello", "hello")}), named("hello"), ""},
		"Unclear":       {"an ambiguous function is an error", base(map[string]string{"example/composition.yaml": composition("a", "b")}), dev.Project{}, "calls a, b, but not a function with the name"},
		"BeingWritten":  {"a Composition that cannot be parsed is accepted", base(map[string]string{"example/composition.yaml": "kind: ["}), named("function-mod"), ""},
		"CallsNone":     {"a Composition without a pipeline is accepted", base(map[string]string{"example/composition.yaml": "kind: X"}), named("function-mod"), ""},
		"NoComposition": {"a missing Composition is an error", base(map[string]string{"example/composition.yaml": ""}), dev.Project{}, "there is no example/composition.yaml"},
		"NoXR":          {"a missing XR is an error", base(map[string]string{"example/xr.yaml": ""}), dev.Project{}, "there is no example/xr.yaml"},
		"NoModule":      {"a missing go.mod is an error", base(map[string]string{"go.mod": ""}), dev.Project{}, "there is no go.mod"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fsys := e2e.Memory(t, tc.files)
			got, err := dev.Discover(t.Context(), fsys, ".")
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || hint.Of(err) == "" {
					t.Errorf("%s: got %v with hint %q, want %s", tc.reason, err, hint.Of(err), tc.wantErr)
				}
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// A function that is not in Go is found in the folder itself or in its folder function.
func TestDiscoverLanguages(t *testing.T) {
	for file, want := range map[string]string{"kcl.mod": ".", "function/kcl.mod": "./function", "function/a.yaml.gotmpl": "./function"} {
		t.Chdir(t.TempDir())
		for name, text := range map[string]string{file: "", "example/xr.yaml": "kind: X", "example/composition.yaml": "spec: {pipeline: [{functionRef: {name: fn}}]}"} {
			e2e.WriteFile(t, name, text)
		}
		got, err := dev.Discover(t.Context(), afero.NewOsFs(), ".")
		if err != nil || got.Source != want || got.Function != "fn" {
			t.Errorf("%s: got %+v, %v", file, got, err)
		}
	}
}
