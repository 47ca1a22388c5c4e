package typescript_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// typesNote is the note of a build that bundles TypeScript.
const typesNote = "types are not checked: run tsc"

// TestBuildNotesTypes checks that a build of several platforms has one note about types, if it removes
// types.
func TestBuildNotesTypes(t *testing.T) {
	for _, tc := range []struct {
		reason, file string
		plain        bool
		want         []string
	}{
		{"the bundle has no types", "src/main.ts", false, []string{typesNote}},
		{"JavaScript has no types", "src/main.js", false, nil},
		{"tsc wrote the files of a function without a bundle", "src/main.ts", true, nil},
	} {
		f := newFunction(t, map[string]string{tc.file: "console.log(1);\n"})
		if tc.file != "src/main.ts" {
			e2e.NoError(t, os.RemoveAll(filepath.Join(f.dir, "src/main.ts")))
		}
		if tc.plain {
			f.write(t, "dist/main.js", "console.log(1);\n")
		}
		src := f.source(t)
		src.NoBundle = tc.plain
		f.mustBuild(t, src)
		e2e.Equal(t, tc.reason, tc.want, f.messages)
	}
}

// TestBuildNotesMain checks the note about a manifest that names another main file than the one in
// which the function starts.
func TestBuildNotesMain(t *testing.T) {
	for _, tc := range []struct {
		reason, main string
		want         []string
	}{
		{"a compiled file has a source file", "dist/index.js", []string{`package.json:3: main is "dist/index.js", which has no source file: the function starts in src/main.ts`, typesNote}},
		{"the folder of compiled files has any structure", "./build/src/main.cjs", []string{typesNote}},
		{"npm init names a file that need not exist", "index.js", []string{typesNote}},
		{"no name is required", "", []string{typesNote}},
	} {
		f := newFunction(t, nil)
		f.manifest["main"] = tc.main
		f.mustBuild(t, f.source(t))
		e2e.Equal(t, tc.reason, tc.want, f.messages)
	}
}
