package manifest_test

import (
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// TestSimilar suggests another path only for a path that does not exist.
func TestSimilar(t *testing.T) {
	t.Chdir(t.TempDir())
	fsys := afero.NewOsFs()
	e2e.NoError(t, fsys.Mkdir("dir", 0o700))
	for _, f := range []string{"a.yaml", "dir/b.yaml"} {
		e2e.NoError(t, afero.WriteFile(fsys, f, nil, 0o600))
	}
	cases := map[string]struct {
		reason string
		path   string
		want   hint.Hint
	}{
		"Missing": {"a similar name in the folder is suggested", "b.yaml", "did you mean dir/b.yaml?"},
		"Commas":  {"a list of existing paths must be separated", "a.yaml,dir", "the commas are read as a part of the name: repeat the flag or argument for each file"},
		"File":    {"an existing file needs no other path", "a.yaml", ""},
		"Here":    {"the working directory exists, although it does not list itself", ".", ""},
		"Parent":  {"a path that ends in two dots exists, although its parent does not list it", "dir/..", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, manifest.Similar(fsys, tc.path))
		})
	}
}
