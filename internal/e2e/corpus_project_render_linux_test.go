package e2e_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// TestProjectRenderCorpus compares renders in projects with renders by the crossplane CLI.
// The embedded function is a tarball for amd64, whose program answers as its input says.
func TestProjectRenderCorpus(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the runtime images of the cases are for amd64")
	}
	program := e2e.Must(functiontest.BuildChild())(t)
	layer := e2e.Must(remotetest.Layer(map[string][]byte{"function": program}))(t)
	entrypoint := append([]string{"/function"}, functiontest.ChildArgs(functiontest.Serves, "")...)
	img := remotetest.Configured(t, remotetest.Image(t, v1.Config{}, layer), v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{Entrypoint: entrypoint})
	for name, tc := range map[string]struct {
		reason string
		code   int
		stderr string
	}{
		"render-embedded":   {"the tarball of the project is the function", done, ""},
		"render-no-project": {"without a project, a functions file is required", failed, "functions"},
		"render-needs-engine-for-schemas": {
			"the CLI needs an engine for models that nothing imports; here the function runs, and refuses its empty input",
			failed, "the input has none of the fields",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, work := filepath.Join("../../testdata/golden/project-render", name), t.TempDir()
			e2e.NoError(t, os.CopyFS(work, os.DirFS(filepath.Join(dir, "in"))))
			e2e.NoError(t, archive.WriteTagged(t.Context(), filepath.Join(work, "img-amd64.tar"), []archive.Tagged{{Tag: "runtime:latest", Image: img}}, nil))
			args := strings.Fields(e2e.ReadFile(t, filepath.Join(dir, "args")))[1:]
			cmd := e2e.Command(t, append(args, "--runtime", "Process")...)
			cmd.Dir = work
			cmd.Env = append(os.Environ(), "XFN_CACHE_DIR="+t.TempDir())
			code, stdout, stderr := runCommand(t, cmd)
			e2e.Equal(t, tc.reason, tc.code, code)
			e2e.Has(t, tc.reason, stderr, tc.stderr)
			e2e.Equal(t, tc.reason, e2e.ReadFile(t, filepath.Join(dir, "stdout")), stdout)
		})
	}
}
