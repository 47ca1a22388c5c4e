package gotemplating_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

const goldenDir = "../../../testdata/golden/"

// TestGolden compares the builtin's responses with the real function's. These were
// recorded from the function's main branch. A release gives the same responses except to
// inputs with the field ttl.
func TestGolden(t *testing.T) {
	dir := functiontest.LinkedFolder(t, goldenDir+"go-templating-fs", "tpl/linkdir/dir", "tpl/links/linked.yaml")
	cases := map[string][]string{
		"main":    nil,
		"v0.12.2": {"xr-ttl-annotation", "xr-ttl-negative", "xr-ttl-on-parse-fatal"},
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
	for reason, o := range map[string]gotemplating.Options{
		"a folder below the directory of templates": {Dir: dir, Settings: gotemplating.Settings{DefaultSource: "tpl"}},
		"any folder": {Dir: t.TempDir(), Settings: gotemplating.Settings{DefaultSource: filepath.Join(dir, "tpl"), AnyFolder: true}},
		"a package":  {Dir: t.TempDir(), Source: filepath.Join(dir, "tpl")},
	} {
		if o.Dir != dir { // One case reads another folder.
			o.Templates = []gotemplating.Folder{{Dir: dir}}
		}
		t.Run(reason, func(t *testing.T) {
			functiontest.Golden(t, goldenDir+"go-templating-default-source", gotemplating.New(o))
		})
	}
}

// TestGoldenDefaultOptions compares the builtin with the real function that has default options.
func TestGoldenDefaultOptions(t *testing.T) {
	o := gotemplating.Options{Settings: gotemplating.Settings{DefaultOptions: []string{"missingkey=error"}}}
	functiontest.Golden(t, goldenDir+"go-templating-default-options", gotemplating.New(o))
}

// TestDefaultSource checks a default source that is not an ordinary folder.
func TestDefaultSource(t *testing.T) {
	dir := e2e.Dir(t, map[string]string{"file": "{{ fail `file` }}", ".hidden/file": "{{ fail `hidden` }}", "work/x": "{{ fail `work` }}"})
	none := gotemplating.Settings{DefaultSource: "nope"}
	anywhere := func(path string) gotemplating.Settings {
		return gotemplating.Settings{DefaultSource: path, AnyFolder: true}
	}
	const missing = "invalid function input: cannot read tmpl from the folder {nope}: open nope: no such file or directory"
	cases := map[string]struct {
		reason   string
		settings gotemplating.Settings
		want     string
	}{
		"Missing":   {"a folder that does not exist is a fatal result", none, missing},
		"Anywhere":  {"a folder of the user that does not exist is the same fatal result", anywhere("nope"), missing},
		"File":      {"the path of a file is accepted", anywhere(filepath.Join(dir, "file")), "error calling fail: file"},
		"Hidden":    {"a folder whose name begins with a dot has no templates", anywhere(filepath.Join(dir, ".hidden")), ""},
		"Parent":    {"the path .. has no templates", anywhere(dir + "/work/.."), ""},
		"Confined":  {"another path is read below the folders of templates only", gotemplating.Settings{DefaultSource: "../file"}, "cannot read tmpl from the folder {../file}"},
		"Blank":     {"blanks in the list of default options are kept", gotemplating.Settings{DefaultSource: "work", DefaultOptions: []string{"missingkey=error", " missingkey=zero"}}, "unrecognized option:  missingkey=zero"},
		"BadOption": {"an invalid default option is a fatal result", gotemplating.Settings{DefaultSource: "work", DefaultOptions: []string{"a"}}, "cannot apply template options: panic occurred while applying template options: unrecognized option: a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := fmt.Sprint(answer(t, gotemplating.Options{Dir: dir, Settings: tc.settings}, "{}"))
			if tc.want == "" && strings.Contains(got, "results") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %s, want %q in it", tc.reason, got, tc.want)
			}
		})
	}
}
