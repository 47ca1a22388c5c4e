package gotemplating_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

const goldenDir = "../../../testdata/golden/"

// TestGolden compares the builtin's responses with those of the real function. They were
// recorded from the function's main branch. A release gives the same responses except to
// inputs with the field ttl.
func TestGolden(t *testing.T) {
	dir := functiontest.LinkedFolder(t, goldenDir+"go-templating-fs", "tpl/linkdir/dir", "tpl/links/linked.yaml")
	cases := map[string][]string{
		"main":    nil,
		"v0.12.3": {"xr-ttl-annotation", "xr-ttl-negative", "xr-ttl-on-parse-fatal"},
	}
	for version, except := range cases {
		t.Run(version, func(t *testing.T) {
			r := gotemplating.New(gotemplating.Options{Dir: dir, Version: version})
			functiontest.Golden(t, goldenDir+"go-templating", r, except...)
		})
	}
}
