package suite_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite"
)

// TestLoad finds suites and skips other files.
func TestLoad(t *testing.T) {
	good := head + "cases: [{name: a}]\n"
	fsys := example(t, map[string]string{
		"t/b.yaml": "a: 1\n---\n" + good + "---\n" + head + "metadata: {name: second}\ncases: [{name: b}]\n",
		"t/a.yml":  head + "metadata: {name: same}\ncases: [{name: a}]\n", "t/sub/deep.test.yaml": head + "metadata: {name: same}\ncases: [{name: a}]\n",
		"t/broken.yaml": head + "case: [\n", "t/wrong.yaml": head + "cas: []\n", "t/other.yaml": "apiVersion: example.org/v1\nkind: TestSuite\n",
		"t/.hidden/s.yaml": good, "t/s.txt": good, "t/chart.yaml": "{{ if .x }}\nkind: Other\n", "t/empty.yaml": "# none\n",
		"n/two.yaml":    good + "---\n" + good,
		"j/line.yaml":   `{"apiVersion":"xfn.dev/v1alpha1","kind":"TestSuite","cases":[{"name":"a"}]}`,
		"j/pretty.yaml": "{\n  \"apiVersion\": \"xfn.dev/v1alpha1\",\n  \"kind\": \"TestSuite\",\n  \"cases\": [{\"name\": \"a\"}]\n}\n",
		"j/utf16.yaml":  "\xff\xfe" + strings.Join(strings.Split(good, ""), "\x00") + "\x00",
		"f/line.yaml":   `{"apiVersion":"meta.dev.upbound.io/v1alpha1","kind":"CompositionTest","metadata":{"name":"a"}}`,
		"f/pretty.yaml": "{\n  \"kind\": \"OperationTest\",\n  \"apiVersion\": \"meta.dev.upbound.io/v1alpha1\"\n}\n",
		"f/flow.yaml":   "{apiVersion: meta.dev.upbound.io/v1alpha1, kind: E2ETest}\n",
		"f/list.yaml":   "items:\n- apiVersion: meta.dev.upbound.io/v1alpha1\n  kind: CompositionTest\n",
		"f/within.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: meta.dev.upbound.io/v1alpha1\n  kind: CompositionTest\n",
		"f/other.yaml":  "{apiVersion: example.org/v1, kind: CompositionTest}\n",
		"j/quoted.yaml": "text: |\n  apiVersion: xfn.dev/v1alpha1\n",
	})
	cases := map[string]struct {
		reason      string
		paths, want []string
		err         string
	}{
		"Folder": {"a folder is searched recursively", []string{"t"}, []string{"t/a.yml", "t/b.yaml", "second", "t/broken.yaml! t/broken.yaml:3: did not find expected node content: the document ends before a { or [ is closed", `t/sub/deep.test.yaml`, "t/wrong.yaml! t/wrong.yaml:3: cas: there is no such field: is it cases?\nt/wrong.yaml:1: cases is missing"}, ""},
		"Names":  {"suites of one file without names have the line, too", []string{"n"}, []string{"n/two.yaml", "n/two.yaml:5"}, ""},
		"JSON":   {"suites in JSON and in UTF-16 are found", []string{"j"}, []string{"j/line.yaml", "j/pretty.yaml", "j/utf16.yaml"}, ""},
		"Flow":   {"tests of other tools in JSON and in lists are found", []string{"f"}, []string{"f/flow.yaml", "f/line.yaml", "f/list.yaml", "f/pretty.yaml"}, ""},
		"Dots":   {"the pattern ./... is accepted", []string{"./t/sub/..."}, []string{"same"}, ""},
		"File":   {"a file can be named", []string{"t/sub/deep.test.yaml"}, []string{"same"}, ""},
		"Twice":  {"a file that is named twice is loaded once", []string{"t/sub", "t/sub/deep.test.yaml"}, []string{"same"}, ""},
		"NoKind": {"a named file must have a suite", []string{"t/other.yaml"}, []string{`t/other.yaml! t/other.yaml:1: apiVersion: expected xfn.dev/v1alpha1, got "example.org/v1"` + "\nt/other.yaml:1: cases is missing"}, ""},
		"Empty":  {"a named file must not be empty", []string{"t/empty.yaml"}, []string{"t/empty.yaml! t/empty.yaml: there is no YAML document"}, ""},
		"None":   {"a folder without suites returns ErrNone", []string{"t/.hidden/x", "t"}, nil, `looking for suites in "t/.hidden/x"`},
		"NoneIn": {"an empty folder returns ErrNone", []string{"t/sub2"}, nil, `looking for suites in "t/sub2"`},
		"Other":  {"a folder with other files returns ErrNone", []string{"xr.yaml", "composition.yaml"}, []string{"composition.yaml!", "xr.yaml!"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			suites, err := suite.Load(t.Context(), manifest.Reader{FS: fsys}, tc.paths)
			e2e.WantError(t, tc.reason, err, tc.err)
			var got []string
			for i, s := range suites {
				got = append(got, s.Name)
				if s.Err != nil {
					got[i] += "! " + s.Err.Error()
				}
				if name == "Other" {
					got[i] = s.Name + "!"
				}
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
	e2e.ErrorIs(t, "a folder without suites is an error", e2e.Err(suite.Load(t.Context(), manifest.Reader{FS: example(t, nil)}, []string{"."})), suite.ErrNone)
}

// TestBrokenSuite checks the outcome of an invalid suite, which has all errors.
func TestBrokenSuite(t *testing.T) {
	o := options(example(t, map[string]string{"a.yaml": head + "cas: []\n", "b.yaml": head + "defaults: {xr: xr.yaml, composition: composition.yaml}\ncases: [{name: x}]\n"}))
	got := lines(run(t, o, suite.Selection{Run: regexp.MustCompile("x")}))
	want := []string{"a.yaml failed", "  3: cas: there is no such field: is it cases?", "  1: cases is missing", "b.yaml/x passed"}
	e2e.Equal(t, "an invalid suite has all its errors and does not stop others", want, got)
}

// TestLoadLink follows a link that is named, and skips links to folders in folders.
func TestLoadLink(t *testing.T) {
	dir := t.TempDir()
	e2e.NoError(t, os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755))
	e2e.WriteFile(t, filepath.Join(dir, "real", "sub", "s.yaml"), head+"cases: [{name: a}]\n")
	e2e.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	e2e.NoError(t, os.Symlink(filepath.Join("sub", "s.yaml"), filepath.Join(dir, "real", "l.yaml")))
	for path, want := range map[string][]string{
		"link":     {filepath.Join(dir, "link", "l.yaml"), filepath.Join(dir, "link", "sub", "s.yaml")},
		"link/...": {filepath.Join(dir, "link", "l.yaml"), filepath.Join(dir, "link", "sub", "s.yaml")},
		"":         {filepath.Join(dir, "real", "l.yaml"), filepath.Join(dir, "real", "sub", "s.yaml")},
	} {
		var got []string
		for _, s := range loaded(t, options(afero.NewOsFs()), filepath.Join(dir, path)) {
			got = append(got, s.Path)
		}
		e2e.Equal(t, fmt.Sprintf("each suite in %q is loaded once", path), want, got)
	}
	// Editors lock files by hidden links that lead nowhere.
	e2e.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "real", ".#s.yaml")))
	e2e.NoError(t, e2e.Err(suite.Load(t.Context(), manifest.Reader{FS: afero.NewOsFs()}, []string{dir})))
	e2e.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "real", "t.yaml")))
	e2e.ErrorIs(t, "a link to a missing file is an error", e2e.Err(suite.Load(t.Context(), manifest.Reader{FS: afero.NewOsFs()}, []string{dir})), fs.ErrNotExist)
}

// A stuckFS never answers Stat before its test ends. It calls stuck instead.
type stuckFS struct {
	afero.Fs
	stuck func()
}

func (f stuckFS) Stat(name string) (os.FileInfo, error) {
	f.stuck()
	return f.Fs.Stat(name)
}

// TestLoadCanceled checks that Load returns although a step, such as decoding a large file, does
// not check the context.
func TestLoadCanceled(t *testing.T) {
	why := errors.New("the process received a signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	end := make(chan struct{})
	defer close(end)
	fsys := stuckFS{afero.NewMemMapFs(), func() { cancel(why); <-end }}
	e2e.ErrorIs(t, "the error is the cause of the context", e2e.Err(suite.Load(ctx, manifest.Reader{FS: fsys}, []string{"suite.yaml"})), why)
}
