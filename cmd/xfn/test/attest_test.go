package test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A file that changes between the start of the run and its end is an error, and no report is
// written.
func TestAttestChanged(t *testing.T) {
	t.Parallel()
	const golden = "../../../testdata/golden/xpkg/push/"
	cases := map[string]struct {
		reason string
		change func(t *testing.T, pkg, suite string)
		want   string
	}{
		"Nothing": {"a report is written if no file changes", func(*testing.T, string, string) {}, ""},
		"Package": {"a package that was built again is not the one that ran", func(t *testing.T, pkg, _ string) {
			copyFile(t, golden+"multi-verbose/in/b.xpkg", pkg)
		}, `changed during the run`},
		"Missing": {"a package that was removed has no digest", func(t *testing.T, pkg, _ string) {
			e2e.NoError(t, os.Remove(pkg))
		}, `attesting function "f": `},
		"Suite": {"a suite that was edited may not be the one that ran", func(t *testing.T, _, suite string) {
			later := time.Now().Add(time.Minute)
			e2e.NoError(t, os.Chtimes(suite, later, later))
		}, `suite.yaml" changed during the run`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pkg, suite, report := filepath.Join(dir, "a.xpkg"), filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "report.json")
			copyFile(t, golden+"multi-verbose/in/a.xpkg", pkg)
			copyFile(t, golden+"multi-verbose/in/a.xpkg", suite)
			before := time.Now().Add(-time.Minute)
			e2e.NoError(t, os.Chtimes(suite, before, before))
			all := e2e.Must(reportFlags{AttestReport: map[string]string{"f": report}}.attestations(t.Context(), map[string]string{"f": pkg}, terminal.Program{}))(t)
			all.files = &manifest.Reads{Fs: afero.NewOsFs()}
			all.files.Record(suite)
			all.all[0].passed["suite/case"] = true
			tc.change(t, pkg, suite)
			e2e.WantError(t, tc.reason, all.write(t.Context()), tc.want)
			e2e.Equal(t, tc.reason+": the report exists", tc.want == "", e2e.Err(os.Stat(report)) == nil)
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text := e2e.Must(os.ReadFile(from))(t)
	e2e.NoError(t, os.WriteFile(to, text, 0o600))
}
