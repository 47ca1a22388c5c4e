package gotemplating_test

import (
	"fmt"
	"path/filepath"
	"strings"
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

// TestGoldenDefaultSource compares the builtin with the real function that has a default
// source. The release and the main branch give the same responses.
func TestGoldenDefaultSource(t *testing.T) {
	dir := goldenDir + "go-templating-default-source-fs"
	r := gotemplating.New(gotemplating.Options{Dir: dir, Source: filepath.Join(dir, "tpl")})
	functiontest.Golden(t, goldenDir+"go-templating-default-source", r)
}

// A default source that does not exist is a fatal result of each call without a source.
func TestDefaultSourceMissing(t *testing.T) {
	got := fmt.Sprint(answer(t, gotemplating.Options{Dir: t.TempDir(), Source: "nope"}, "{}"))
	if want := "invalid function input: cannot read tmpl from the folder {nope}: open nope: no such file or directory"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %q in it", got, want)
	}
}
