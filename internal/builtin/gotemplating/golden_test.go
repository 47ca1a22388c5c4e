package gotemplating_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

const goldenDir = "../../../testdata/golden/"

// TestGolden compares the builtin's responses with those of the real function.
func TestGolden(t *testing.T) {
	dir := functiontest.LinkedFolder(t, goldenDir+"go-templating-fs", "tpl/linkdir/dir", "tpl/links/linked.yaml")
	functiontest.Golden(t, goldenDir+"go-templating", gotemplating.New(gotemplating.Options{Dir: dir}))
}
