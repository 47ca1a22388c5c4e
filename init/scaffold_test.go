package scaffold_test

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/templates"
)

// contents returns the content of the files below dir by their names. Names of
// folders end with a slash.
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
	e2e.NoError(t, err)
	return found
}

func TestResultString(t *testing.T) {
	cases := map[string]struct {
		reason string
		res    scaffold.Result
		want   string
	}{
		"Repository": {
			"the result has a URL that a browser can open",
			scaffold.Result{Name: "n", Dir: "/d", URL: "https://h/a", Commit: "c0ffee", Ref: "main"},
			`Initialized package "n" in directory "/d" from https://h/a/tree/c0ffee (main)`,
		},
		"HostPath": {
			"an origin that is not a URL does not change",
			scaffold.Result{Name: "n", Dir: "/d", URL: "git@h:a/b.git", Commit: "c0ffee", Ref: "HEAD"},
			`Initialized package "n" in directory "/d" from git@h:a/b.git/tree/c0ffee (HEAD)`,
		},
		"Bundled": {
			"a bundled template has no commit",
			scaffold.Result{Name: "n", Dir: "/d", URL: "bundled:go"},
			`Initialized package "n" in directory "/d" from bundled:go`,
		},
		"Name": {
			"control characters of a name are escaped",
			scaffold.Result{Name: "\x1b[31m", Dir: "/d", URL: "bundled:go"},
			`Initialized package "\x1b[31m" in directory "/d" from bundled:go`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, tc.res.String())
		})
	}
}

func TestBundled(t *testing.T) {
	for _, name := range []string{"a", "function-colours", "zzz-2", "function-example-two", strings.Repeat("n", 63)} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			res := e2e.Must(scaffold.Init(t.Context(), scaffold.Options{Name: name, Template: "go", Dir: dir}))(t)
			found := contents(t, dir)
			want := scaffold.Result{Name: name, Dir: dir, URL: "bundled:go", Notes: found["NOTES.txt"], Made: []string{dir}}
			e2e.Equal(t, "Init returns the name, the notes and what it created", want, res)
			if !strings.HasPrefix(found["go.mod"], "module "+name+"\n") {
				t.Errorf("go.mod does not begin with the module %q: %.80q", name, found["go.mod"])
			}
			for file, text := range found {
				checkRenamed(t, file, text, name)
			}
		})
	}
}

// TestUndo undoes an Init after a script has written a file.
func TestUndo(t *testing.T) {
	cases := map[string]struct {
		reason string
		git    bool
		dir    string
	}{
		"New":    {"created directories are removed, with their parents", false, "a/b"},
		"Exists": {"an existing directory stays, and is empty", false, "."},
		"Git":    {"an existing repository does not change", true, "."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if tc.git {
				e2e.NoError(t, os.Mkdir(filepath.Join(root, ".git"), 0o700))
				e2e.NoError(t, os.WriteFile(filepath.Join(root, ".git", "HEAD"), []byte("x"), 0o600))
			}
			before := contents(t, root)
			res := e2e.Must(scaffold.Init(t.Context(), scaffold.Options{Name: "n", Template: "go", Dir: filepath.Join(root, tc.dir)}))(t)
			e2e.NoError(t, os.WriteFile(filepath.Join(res.Dir, "made-by-script"), nil, 0o600))
			e2e.NoError(t, res.Undo())
			e2e.Equal(t, tc.reason, before, contents(t, root))
			e2e.Error(t, tc.reason+": a directory is left", e2e.Err(os.Stat(filepath.Join(root, "a"))))
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
	} else {
		e2e.Equal(t, fmt.Sprintf("%s is not what gofmt makes of it", file), string(tidy), text)
	}
}

func TestBundledNames(t *testing.T) {
	cases := map[string]struct{ reason, name, err string }{
		"Empty":     {"the name is required", "", "Kubernetes name"},
		"Upper":     {"Kubernetes names have no upper case", "Fn", "Kubernetes name"},
		"Dash":      {"a label ends with a letter or digit", "fn-", "Kubernetes name"},
		"Option":    {"a label does not begin with a dash", "-r", "Kubernetes name"},
		"Digit":     {"the name begins with a letter", "1fn", "Kubernetes name"},
		"Underline": {"an underscore is not allowed", "a_b", "Kubernetes name"},
		"Dot":       {"a label has no dots", "a.b", "Kubernetes name"},
		"Slash":     {"a name is not a path", "a/../b", "Kubernetes name"},
		"Newline":   {"a name has no line break", "fn\nx", "Kubernetes name"},
		"Long":      {"a label has at most 63 characters", strings.Repeat("n", 64), "Kubernetes name"},
		"Std":       {"fmt is a package of the standard library", "fmt", "the go command uses this name"},
		"StdParent": {"net is a package and a folder of packages", "net", "the go command uses this name"},
		"Reserved":  {"all has a meaning for the go command", "all", "the go command uses this name"},
		"Test":      {"test is not a package of the standard library", "test", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			_, err := scaffold.Init(t.Context(), scaffold.Options{Name: tc.name, Template: "go", Dir: dir})
			e2e.WantError(t, tc.reason, err, tc.err)
			if tc.err == "" {
				return
			}
			if hint.Of(err) == "" {
				t.Errorf("%s: no hint says which name would do", tc.reason)
			}
			e2e.ErrorIs(t, tc.reason, e2e.Err(os.Lstat(dir)), fs.ErrNotExist)
		})
	}
}

func TestBundledHasNoRef(t *testing.T) {
	_, err := scaffold.Init(t.Context(), scaffold.Options{Name: "fn", Template: "go", Ref: "main", Dir: filepath.Join(t.TempDir(), "out")})
	e2e.WantError(t, "a bundled template has one version", err, `template "go" has no branch, tag or commit "main"`)
}

func TestTemplateErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	cases := map[string]struct{ reason, template, err, hint string }{
		"Unknown": {"an unknown word is an unknown template", "function-template-rubi", `unknown template "function-template-rubi"`, "function-template-go"},
		"Empty":   {"the template is required", "", `unknown template ""`, "go, "},
		"Path":    {"a relative path is a repository", "./go", "there is no git repository at", ""},
		"Secret":  {"an error has no token", "http://ann:t0ken@127.0.0.1:1/x", `reading template "http://127.0.0.1:1/x"`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := scaffold.Init(t.Context(), scaffold.Options{Name: "fn", Template: tc.template, Dir: "a/b"})
			e2e.WantError(t, tc.reason, err, tc.err)
			e2e.Has(t, tc.reason, string(hint.Of(err)), tc.hint)
			if err != nil && strings.Contains(err.Error(), "t0ken") {
				t.Errorf("%s: %v", tc.reason, err)
			}
			e2e.Equal(t, tc.reason, map[string]string{}, contents(t, "."))
		})
	}
}

func TestBareWordCanBeAPath(t *testing.T) {
	t.Chdir(t.TempDir())
	newRepository(t, "mine").commit(t, "first", files{"f": text("x")})
	res := e2e.Must(scaffold.Init(t.Context(), scaffold.Options{Name: "fn", Template: "mine", Dir: "out"}))(t)
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
	e2e.NoError(t, err)
	want := []string{
		`"sub" is a git submodule, which is not fetched: the folder is empty`,
		`symbolic link "a/b/win" leads out of the directory, to "..\\..\\..\\x"`,
		`symbolic link "a/out" leads out of the directory, to "../../x"`,
		`symbolic link "abs" leads out of the directory, to "/etc/passwd"`,
		`symbolic link "out" leads out of the directory, to "../x"`,
	}
	e2e.Equal(t, "links out of the directory and submodules are warnings", want, warnings)
	wantFiles := map[string]string{
		"in": "a/f", "a/": "", "a/f": "x", "a/up": "../in", "a/self": "..", "abs": "/etc/passwd", "out": "../x",
		"a/out": "../../x", "a/b/": "", "a/b/win": `..\..\..\x`, "sub/": "",
	}
	e2e.Equal(t, "links come as git has them", wantFiles, contents(t, dir))
}

func path(t *testing.T, r repository) string {
	t.Helper()
	work := e2e.Must(r.Worktree())(t)
	return work.Filesystem.Root()
}

func TestNotes(t *testing.T) {
	cases := map[string]struct {
		reason string
		notes  entry
		err    string
	}{
		"Text": {"the result has the notes", text("hello"), ""},
		"Link": {"a link could point to any file of this machine", link("/etc/passwd"), "NOTES.txt is not a regular file"},
		"Long": {"notes are limited to a megabyte", text(strings.Repeat("x", 1<<20+1)), "reading NOTES.txt: it is longer than"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, filepath.Join(t.TempDir(), "r"))
			r.commit(t, "first", files{"NOTES.txt": tc.notes})
			res, err := scaffold.Init(t.Context(), scaffold.Options{Template: path(t, r), Dir: filepath.Join(t.TempDir(), "out")})
			e2e.WantError(t, tc.reason, err, tc.err)
			if err == nil && res.Notes != tc.notes.content {
				t.Errorf("%s: got %q", tc.reason, res.Notes)
			}
		})
	}
}

// A countdown is done after left calls of Err.
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

// If Init stops at any point, the directory is as before.
func TestStopAnywhere(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	r.commit(t, "first", files{"a/f": text("x"), "b": text("y"), "l": link("b"), "m": link("/etc"), "z": program("z")})
	for _, tc := range []struct{ reason, dir string }{
		{"a new directory and its parent are removed", "new/out"},
		{"an existing directory with .git stays", "old"},
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
			e2e.Equal(t, fmt.Sprintf("%s: stopped at %d, not as it was", tc.reason, n), before, contents(t, root))
		}
		if stopped < 15 {
			t.Errorf("%s: stopped at %d points only, and not between all files", tc.reason, stopped)
		}
	}
}
