package session_test

import (
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session"
)

// TestChangedFiles: each render of a session uses the current content of files.
func TestChangedFiles(t *testing.T) {
	const composition, xrd = "composition.yaml", "xrd.yaml"
	r := reader(t, map[string]string{"xr.yaml": xr, composition: steps("function-dummy"), xrd: "apiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nspec: {group: gold.test, names: {kind: XWidget}, versions: [{name: v1}]}\n"})
	s := session.Open(session.Config{Reader: r})
	in := session.Inputs{XRs: []string{"xr.yaml"}, Composition: composition, XRD: xrd}
	for _, step := range []struct{ reason, file, from, to, err string }{
		{"an unchanged file has the same output", composition, "", "", ""},
		{"an unchanged file has the same output again", composition, "", "", ""},
		{"a changed Composition is used", composition, "kind: XWidget", "kind: XOther", "is for kind XOther"},
		{"a restored Composition is used", composition, "kind: XOther", "kind: XWidget", ""},
		{"a changed XRD is used", xrd, "kind: XWidget", "kind: XOther", "the XRD defines XOther"},
		{"a restored XRD is used", xrd, "kind: XOther", "kind: XWidget", ""},
		{"an invalid Composition is an error", composition, "mode: Pipeline", "mode: Magic", "composition.yaml:7: spec.mode"},
	} {
		text := e2e.Must(afero.ReadFile(r.FS, step.file))(t)
		e2e.NoError(t, afero.WriteFile(r.FS, step.file, []byte(strings.Replace(string(text), step.from, step.to, 1)), 0o644))
		e2e.WantError(t, step.reason, e2e.Err(renderOne(t.Context(), s, in)), step.err)
	}
}

// TestManyCompositions renders with more Compositions than the cache of decoded
// documents can store.
func TestManyCompositions(t *testing.T) {
	if testing.Short() {
		t.Skip("it renders 1,100 Compositions")
	}
	files := map[string]string{"xr.yaml": xr}
	var paths []string
	for i := range 1100 {
		path := strings.Repeat("c", 1+i%40) + strings.Repeat("d", 1+i/40) + ".yaml"
		files[path], paths = steps("function-dummy"), append(paths, path)
	}
	s := open(t, session.Config{}, files)
	for _, path := range append(paths, paths[0]) {
		e2e.NoError(t, e2e.Err(renderOne(t.Context(), s, session.Inputs{XRs: []string{"xr.yaml"}, Composition: path})))
	}
}
