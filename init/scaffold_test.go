package scaffold_test

import (
	"context"
	"errors"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/google/go-cmp/cmp"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/templates"
)

// contents maps what is below dir, a folder's name with a slash behind it, to
// what is in it.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		name := filepath.ToSlash(at[len(dir)+1:])
		switch {
		case d.IsDir():
			found[name+"/"] = ""
		case d.Type() == fs.ModeSymlink:
			found[name], err = os.Readlink(at)
		default:
			var data []byte
			data, err = os.ReadFile(at)
			found[name] = string(data)
		}
		return err
	})
	must(t, err)
	return found
}

func checkError(t *testing.T, reason, want string, err error) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", reason, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got error %v, want one with %q", reason, err, want)
	}
}

func TestResultString(t *testing.T) {
	cases := map[string]struct {
		reason string
		res    scaffold.Result
		want   string
	}{
		"Repository": {
			"where it came from can be opened in a browser",
			scaffold.Result{Name: "n", Dir: "/d", URL: "https://h/a", Commit: "c0ffee", Ref: "main"},
			`Initialized package "n" in directory "/d" from https://h/a/tree/c0ffee (main)`,
		},
		"HostPath": {
			"what is no URL stays as it is",
			scaffold.Result{Name: "n", Dir: "/d", URL: "git@h:a/b.git", Commit: "c0ffee", Ref: "HEAD"},
			`Initialized package "n" in directory "/d" from git@h:a/b.git/tree/c0ffee (HEAD)`,
		},
		"Bundled": {
			"a bundled template has no commit",
			scaffold.Result{Name: "n", Dir: "/d", URL: "bundled:go"},
			`Initialized package "n" in directory "/d" from bundled:go`,
		},
		"Name": {
			"a name cannot do anything to the terminal",
			scaffold.Result{Name: "\x1b[31m", Dir: "/d", URL: "bundled:go"},
			`Initialized package "\x1b[31m" in directory "/d" from bundled:go`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.res.String(); got != tc.want {
				t.Errorf("%s:\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestBundled(t *testing.T) {
	for _, name := range []string{"a", "function-colours", "zzz-2", "function-example-two", strings.Repeat("n", 63)} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			res, err := scaffold.Init(t.Context(), scaffold.Options{Name: name, Template: "go", Dir: dir})
			must(t, err)
			found := contents(t, dir)
			want := scaffold.Result{Name: name, Dir: dir, URL: "bundled:go", Notes: found["NOTES.txt"], Made: []string{dir}}
			if diff := cmp.Diff(want, res); diff != "" {
				t.Errorf("result (-want, +got):\n%s", diff)
			}
			if !strings.HasPrefix(found["go.mod"], "module "+name+"\n") {
				t.Errorf("go.mod does not begin with the module %q: %.80q", name, found["go.mod"])
			}
			for file, text := range found {
				checkRenamed(t, file, text, name)
			}
		})
	}
}

// TestUndo ends an init after all, with what its user has made of it meanwhile.
func TestUndo(t *testing.T) {
	cases := map[string]struct {
		reason string
		git    bool
		dir    string
	}{
		"New":    {"directories that were made go, with their parents", false, "a/b"},
		"Exists": {"a directory that was there stays, and is empty", false, "."},
		"Git":    {"a repository that was there stays whole", true, "."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if tc.git {
				must(t, os.Mkdir(filepath.Join(root, ".git"), 0o700))
				must(t, os.WriteFile(filepath.Join(root, ".git", "HEAD"), []byte("x"), 0o600))
			}
			before := contents(t, root)
			res, err := scaffold.Init(t.Context(), scaffold.Options{Name: "n", Template: "go", Dir: filepath.Join(root, tc.dir)})
			must(t, err)
			must(t, os.WriteFile(filepath.Join(res.Dir, "made-by-script"), nil, 0o600))
			must(t, res.Undo())
			if diff := cmp.Diff(before, contents(t, root)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if _, err := os.Stat(filepath.Join(root, "a")); err == nil {
				t.Errorf("%s: a directory is left", tc.reason)
			}
		})
	}
}

func checkRenamed(t *testing.T, file, text, name string) {
	t.Helper()
	if strings.HasSuffix(file, ".tmpl") {
		t.Errorf("%s kept the ending that hid it", file)
	}
	if !strings.Contains(name, templates.Placeholder) && strings.Contains(file+text, templates.Placeholder) {
		t.Errorf("%s still speaks of %s", file, templates.Placeholder)
	}
	if !strings.HasSuffix(file, ".go") {
		return
	}
	tidy, err := format.Source([]byte(text))
	if err != nil {
		t.Errorf("%s: %v", file, err)
	} else if diff := cmp.Diff(string(tidy), text); diff != "" {
		t.Errorf("%s is not what gofmt makes of it (-gofmt, +got):\n%s", file, diff)
	}
}

func TestBundledNames(t *testing.T) {
	cases := map[string]struct{ reason, name, err string }{
		"Empty":     {"a package has a name", "", "Kubernetes name"},
		"Upper":     {"Kubernetes has no capitals", "Fn", "Kubernetes name"},
		"Dash":      {"a label ends in a letter or digit", "fn-", "Kubernetes name"},
		"Option":    {"and does not begin with a dash", "-r", "Kubernetes name"},
		"Digit":     {"a letter has to begin it", "1fn", "Kubernetes name"},
		"Underline": {"a dash is the only mark", "a_b", "Kubernetes name"},
		"Dot":       {"a label has no dots", "a.b", "Kubernetes name"},
		"Slash":     {"a path would leave the name's place", "a/../b", "Kubernetes name"},
		"Newline":   {"nor does a line end in it", "fn\nx", "Kubernetes name"},
		"Long":      {"a label has 63 letters at most", strings.Repeat("n", 64), "Kubernetes name"},
		"Std":       {"imports of fmt find Go's own", "fmt", "Go has a package"},
		"StdParent": {"net is a package and a folder of some", "net", "Go has a package"},
		"Reserved":  {"all means something else to go", "all", "Go has a package"},
		"Test":      {"not all that sounds like Go's is", "test", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			_, err := scaffold.Init(t.Context(), scaffold.Options{Name: tc.name, Template: "go", Dir: dir})
			checkError(t, tc.reason, tc.err, err)
			if tc.err == "" {
				return
			}
			if hint.Of(err) == "" {
				t.Errorf("%s: no hint says which name would do", tc.reason)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the directory was made", tc.reason)
			}
		})
	}
}

func TestBundledHasNoRef(t *testing.T) {
	_, err := scaffold.Init(t.Context(), scaffold.Options{Name: "fn", Template: "go", Ref: "main", Dir: filepath.Join(t.TempDir(), "out")})
	checkError(t, "there is but one version of what is bundled", `template "go" has no branch, tag or commit "main"`, err)
}

func TestTemplateErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	cases := map[string]struct{ reason, template, err, hint string }{
		"Unknown": {"a word that is no template is one that was mistyped", "function-template-rubi", `unknown template "function-template-rubi"`, "function-template-go"},
		"Empty":   {"no template at all", "", `unknown template ""`, "go, "},
		"Path":    {"what looks like a path is one", "./go", "there is no git repository at", ""},
		"Secret":  {"a token does not get into an error", "http://ann:t0ken@127.0.0.1:1/x", `reading template "http://127.0.0.1:1/x"`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := scaffold.Init(t.Context(), scaffold.Options{Name: "fn", Template: tc.template, Dir: "a/b"})
			checkError(t, tc.reason, tc.err, err)
			if !strings.Contains(string(hint.Of(err)), tc.hint) {
				t.Errorf("%s: hint %q has no %q", tc.reason, hint.Of(err), tc.hint)
			}
			if err != nil && strings.Contains(err.Error(), "t0ken") {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(map[string]string{}, contents(t, ".")); diff != "" {
				t.Errorf("%s: something was left behind:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBareWordCanBeAPath(t *testing.T) {
	t.Chdir(t.TempDir())
	newRepository(t, "mine").commit(t, "first", files{"f": text("x")})
	res, err := scaffold.Init(t.Context(), scaffold.Options{Name: "fn", Template: "mine", Dir: "out"})
	must(t, err)
	if res.URL != "mine" || !filepath.IsAbs(res.Dir) {
		t.Errorf("got %+v, want a template at mine and an absolute directory", res)
	}
}

func TestLinksAndSubmodules(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	r.commit(t, "first", files{
		"in": link("a/f"), "a/f": text("x"), "a/up": link("../in"), "a/self": link(".."),
		"abs": link("/etc/passwd"), "out": link("../x"), "a/out": link("../../x"), "a/b/win": link(`..\..\..\x`),
		"sub": {mode: filemode.Submodule, hash: r.raw(t, 3, nil)},
	})
	root := path(t, r)
	var warnings []string
	dir := filepath.Join(t.TempDir(), "out")
	_, err := scaffold.Init(t.Context(), scaffold.Options{Name: "fn", Template: root, Dir: dir, Warn: func(text string) {
		warnings = append(warnings, text)
	}})
	must(t, err)
	want := []string{
		`"sub" is a git submodule, which is not fetched: the folder is empty`,
		`symbolic link "a/b/win" leads out of the directory, to "..\\..\\..\\x"`,
		`symbolic link "a/out" leads out of the directory, to "../../x"`,
		`symbolic link "abs" leads out of the directory, to "/etc/passwd"`,
		`symbolic link "out" leads out of the directory, to "../x"`,
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want, +got):\n%s", diff)
	}
	wantFiles := map[string]string{
		"in": "a/f", "a/": "", "a/f": "x", "a/up": "../in", "a/self": "..", "abs": "/etc/passwd", "out": "../x",
		"a/out": "../../x", "a/b/": "", "a/b/win": `..\..\..\x`, "sub/": "",
	}
	if diff := cmp.Diff(wantFiles, contents(t, dir)); diff != "" {
		t.Errorf("links come as git has them (-want, +got):\n%s", diff)
	}
}

func path(t *testing.T, r repository) string {
	t.Helper()
	work, err := r.Worktree()
	must(t, err)
	return work.Filesystem.Root()
}

func TestNotes(t *testing.T) {
	cases := map[string]struct {
		reason string
		notes  entry
		err    string
	}{
		"Text": {"what it says is told", text("hello"), ""},
		"Link": {"a link could show any file of this machine", link("/etc/passwd"), "NOTES.txt is not a regular file"},
		"Long": {"nobody reads a megabyte", text(strings.Repeat("x", 1<<20+1)), "reading NOTES.txt: it is longer than"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, filepath.Join(t.TempDir(), "r"))
			r.commit(t, "first", files{"NOTES.txt": tc.notes})
			res, err := scaffold.Init(t.Context(), scaffold.Options{Template: path(t, r), Dir: filepath.Join(t.TempDir(), "out")})
			checkError(t, tc.reason, tc.err, err)
			if err == nil && res.Notes != tc.notes.content {
				t.Errorf("%s: got %q", tc.reason, res.Notes)
			}
		})
	}
}

// A countdown ends when it has been asked left times whether it has.
type countdown struct {
	context.Context
	left *atomic.Int64
}

func (c countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Wherever init stops, the directory is as it was.
func TestStopAnywhere(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	r.commit(t, "first", files{"a/f": text("x"), "b": text("y"), "l": link("b"), "m": link("/etc"), "z": program("z")})
	for _, tc := range []struct{ reason, dir string }{
		{"a directory that is not there, nor its parent", "new/out"},
		{"a directory that holds .git", "old"},
	} {
		var stopped int
		for n := int64(0); ; n++ {
			root := t.TempDir()
			writeFile(t, filepath.Join(root, "old/.git/HEAD"), "ref: refs/heads/mine\n", 0o644)
			before := contents(t, root)
			left := new(atomic.Int64)
			left.Store(n)
			_, err := scaffold.Init(countdown{t.Context(), left}, scaffold.Options{Name: "fn", Template: path(t, r), Dir: filepath.Join(root, tc.dir)})
			if err == nil {
				break
			}
			stopped++
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: stopped at %d: %v", tc.reason, n, err)
			}
			if diff := cmp.Diff(before, contents(t, root)); diff != "" {
				t.Fatalf("%s: stopped at %d, not as it was (-before, +after):\n%s", tc.reason, n, diff)
			}
		}
		if stopped < 15 {
			t.Errorf("%s: stopped at %d points only, and not between all files", tc.reason, stopped)
		}
	}
}
