package function_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// TestCrosscheck compares each builtin in process with its served form, for all requests of its
// golden cases, including those that crash the real function.
func TestCrosscheck(t *testing.T) {
	const golden = "../../../testdata/golden"
	folders := map[string]string{"auto-ready": "autoready", "patch-and-transform": "pt"}
	templates := []gotemplating.Folder{
		{Dir: functiontest.LinkedFolder(t, golden+"/go-templating-fs", "tpl/linkdir/dir", "tpl/links/linked.yaml")},
		{Dir: golden + "/go-templating-default-source-fs"},
	}
	for _, b := range builtin.All() {
		short := strings.TrimPrefix(b.Name, "function-")
		t.Run(short, func(t *testing.T) {
			t.Parallel()
			folder := short
			if other, ok := folders[short]; ok {
				folder = other
			}
			requests := requestsIn(t, filepath.Join(golden, folder))
			if len(requests) == 0 {
				t.Fatalf("%s has no golden cases in %s", b.Name, folder)
			}
			for _, more := range []string{folder, short} {
				requests = append(requests, requestsIn(t, filepath.Join(golden, more+"-*"))...)
			}
			cmd := function.ServeCmd{Name: short, Address: "127.0.0.1:0", Insecure: true}
			cmd.Templates = templates
			r := intercept.Crosscheck(
				intercept.Side{Name: "the builtin", Runner: b.New(builtin.Options{GoTemplating: gotemplating.Options{Templates: templates}})},
				intercept.Side{Name: "the served builtin", Runner: connect(t, served(t, cmd))},
			)
			for _, path := range requests {
				e2e.WantError(t, path+": the served builtin answers as the builtin does", e2e.Err(r.RunFunction(t.Context(), b.Name, functiontest.Request(t, path))), "")
			}
		})
	}
}

// requestsIn returns the requests of the golden cases in the folders that match a pattern, without
// those that the real function answers with an error.
func requestsIn(t *testing.T, pattern string) []string {
	t.Helper()
	paths := e2e.Must(filepath.Glob(filepath.Join(pattern, "*", "request.yaml")))(t)
	return slices.DeleteFunc(paths, func(p string) bool { return strings.Contains(p, "-grpc-error") })
}
