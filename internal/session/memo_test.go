package session_test

import (
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/session"
)

// TestChangedFiles: a session goes by what files say when they are read.
func TestChangedFiles(t *testing.T) {
	r := reader(t, map[string]string{"xr.yaml": xr, "composition.yaml": steps("function-dummy")})
	s := session.Open(session.Config{Reader: r})
	in := session.Inputs{XRs: []string{"xr.yaml"}, Composition: "composition.yaml"}
	for _, step := range []struct{ reason, from, to, err string }{
		{"it is as it was", "", "", ""},
		{"it is as it was, still", "", "", ""},
		{"a Composition may change", "kind: XWidget", "kind: XOther", "is for kind XOther"},
		{"and back", "kind: XOther", "kind: XWidget", ""},
		{"or become wrong", "mode: Pipeline", "mode: Magic", "composition.yaml:7: spec.mode"},
	} {
		text, err := afero.ReadFile(r.FS, "composition.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := afero.WriteFile(r.FS, "composition.yaml", []byte(strings.Replace(string(text), step.from, step.to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = renderOne(t.Context(), s, in)
		if step.err == "" && err != nil || step.err != "" && (err == nil || !strings.Contains(err.Error(), step.err)) {
			t.Errorf("%s: got %v, want %q", step.reason, err, step.err)
		}
	}
}

// TestManyCompositions: more documents than are kept do no harm.
func TestManyCompositions(t *testing.T) {
	files := map[string]string{"xr.yaml": xr}
	var paths []string
	for i := range 1100 {
		path := strings.Repeat("c", 1+i%40) + strings.Repeat("d", 1+i/40) + ".yaml"
		files[path], paths = steps("function-dummy"), append(paths, path)
	}
	s := session.Open(session.Config{Reader: reader(t, files)})
	for _, path := range append(paths, paths[0]) {
		if _, err := renderOne(t.Context(), s, session.Inputs{XRs: []string{"xr.yaml"}, Composition: path}); err != nil {
			t.Fatal(err)
		}
	}
}
