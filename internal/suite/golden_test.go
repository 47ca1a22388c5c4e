package suite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestCheckInside has relative and absolute paths of one suite's folder.
func TestCheckInside(t *testing.T) {
	t.Chdir(t.TempDir())
	wd := e2e.Must(os.Getwd())(t)
	e2e.NoError(t, os.Mkdir("suite", 0o755))
	e2e.NoError(t, os.Symlink(filepath.Join(wd, "suite", "real.yaml"), filepath.Join("suite", "link.yaml")))
	e2e.NoError(t, os.Symlink(filepath.Join(wd, "a.yaml"), filepath.Join("suite", "out.yaml")))
	e2e.NoError(t, os.Symlink(filepath.Join(wd, "suite"), "alias"))
	for _, file := range []string{"a.yaml", filepath.Join("suite", "real.yaml")} {
		e2e.WriteFile(t, file, "")
	}
	for name, tc := range map[string]struct {
		reason, path string
		inside       bool
	}{
		"Relative": {"a relative path in the folder is inside", "suite/a.yaml", true},
		"Absolute": {"an absolute path in the folder is inside", filepath.Join(wd, "suite", "new", "a.yaml"), true},
		"Link":     {"an absolute link to a file in the folder is inside", filepath.Join("suite", "link.yaml"), true},
		"Alias":    {"a path through a link to the folder is inside", filepath.Join(wd, "alias", "a.yaml"), true},
		"Out":      {"an absolute link to a file beside the folder is outside", filepath.Join("suite", "out.yaml"), false},
		"Beside":   {"a relative path beside the folder is outside", "a.yaml", false},
		"Other":    {"an absolute path beside the folder is outside", filepath.Join(wd, "a.yaml"), false},
	} {
		if err := checkInside("suite", tc.path); (err == nil) != tc.inside {
			t.Errorf("%s: %s: got %v", name, tc.reason, err)
		}
	}
}
