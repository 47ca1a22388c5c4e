//go:build unix

package scaffold_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// An outcome is the recorded result of a run.
type outcome struct {
	Exit   string
	Stdout string
	Tree   string
}

// differences has the changes to the recorded outcome of each golden case in
// testdata/DIFFERENCES.md.
func differences() map[string]func(*outcome) {
	nothingLeft := func(o *outcome) { o.Tree = "" }
	nothingDone := func(o *outcome) { o.Stdout, o.Tree = "", "" }
	commit := func(o *outcome) {
		o.Exit = "0"
		o.Stdout = initialized("refs/tree/5d6d2f9de43bf4d74c02d0844e5e9d7555e2f82a", "HEAD")
		o.Tree = "0o100644 out/v\n0o40750 out"
	}
	return map[string]func(*outcome){
		"clone-fails-leftover":         nothingLeft,
		"empty-repo":                   nothingLeft,
		"not-a-repo":                   nothingLeft,
		"ref-at":                       nothingLeft,
		"ref-nope":                     nothingLeft,
		"ref-origin_main":              nothingLeft,
		"ref-refs_heads_nope":          nothingLeft,
		"ref-refs_remotes_origin_main": nothingLeft,
		"template-alias-offline":       nothingLeft,
		"template-empty":               nothingLeft,
		"template-unknown-word":        nothingLeft,
		"notes-is-dir":                 nothingDone,
		"script-is-dir":                nothingDone,
		"ref-commit-full":              commit,
		"ref-commit-short":             commit,
		"script-fails":                 func(o *outcome) { o.Exit = "1" },
		"script-Y-upper": func(o *outcome) {
			o.Stdout += "script args: 2 [fn-x] [{tmp}/w/out]\nscript cwd: {tmp}/w\nstdin gave: EOF\n"
			o.Tree = strings.Replace(o.Tree, "out/f\n", "out/f\n0o100644 out/made-by-script\n", 1)
		},
		"dir-symlink": func(o *outcome) {
			o.Exit = "0"
			o.Stdout = initialized("plain/tree/0e3d33f77f717248797b6802698ec1f8f237db43", "main")
			o.Tree = "0o100644 real/a/b.txt\n0o100644 real/crossplane.yaml\n0o100755 real/run.sh\n" +
				"0o120777 out -> real\n0o120777 real/abs-link -> /etc/hostname\n0o120777 real/esc-link -> ../../outside\n0o120777 real/link -> a/b.txt\n" +
				"0o40755 real\n0o40755 real/a"
		},
	}
}

func initialized(tree, ref string) string {
	return fmt.Sprintf("Initialized package \"fn-x\" in directory \"{tmp}/w/out\" from file://{tmp}/%s (%s)\n", tree, ref)
}

// usageErrors are golden cases with wrong arguments, for which xfn does not call Init.
var usageErrors = []string{"args-none", "args-one"}

func TestGolden(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022)) // the umask with which the golden cases were recorded
	tmp := makeRepositories(t)
	cases := e2e.Must(os.ReadDir("testdata/golden"))(t)
	e2e.Equal(t, "each golden case is found", 70, len(cases))
	golden := e2e.Must(filepath.Abs("testdata/golden"))(t)
	differs := differences()
	for _, c := range cases {
		name := c.Name()
		if slices.Contains(usageErrors, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(golden, name)
			want := outcome{strings.TrimSpace(e2e.ReadFile(t, dir, "exit")), e2e.ReadFile(t, dir, "stdout"), strings.TrimSuffix(e2e.ReadFile(t, dir, "tree.txt"), "\n")}
			if change := differs[name]; change != nil {
				before := want
				if change(&want); want == before {
					t.Error("DIFFERENCES.md lists a difference, and there is none")
				}
			}
			args := strings.Split(strings.ReplaceAll(strings.TrimSuffix(e2e.ReadFile(t, dir, "args"), "\n"), "{tmp}", tmp), "\n")
			got := runCase(t, tmp, name, args, e2e.ReadFile(t, dir, "stdin"))
			e2e.Equal(t, e2e.ReadFile(t, dir, "about.txt"), want, got)
		})
	}
}

func TestDifferencesAreListed(t *testing.T) {
	data := e2e.ReadFile(t, "testdata/DIFFERENCES.md")
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([\w.-]+) \|`).FindAllStringSubmatch(data, -1) {
		if m[1] != "case" && m[1] != "---" {
			listed = append(listed, m[1])
		}
	}
	slices.Sort(listed)
	e2e.Equal(t, "only the listed cases differ", slices.Sorted(maps.Keys(differences())), listed)
	for _, name := range usageErrors {
		if !strings.Contains(data, "`"+name+"`") {
			t.Errorf("%s is left out and not listed", name)
		}
	}
}

// runCase runs the command in a new directory {tmp}/w.
func runCase(t *testing.T, tmp, name string, args []string, input string) outcome {
	t.Helper()
	w := filepath.Join(tmp, "w")
	e2e.NoError(t, os.RemoveAll(w))
	prepare(t, name, filepath.Join(w, "out"))
	t.Chdir(w)
	stdin := e2e.Must(os.Open(writeFile(t, filepath.Join(t.TempDir(), "stdin"), input, 0o600)))(t)
	defer func() { _ = stdin.Close() }()
	var stdout bytes.Buffer
	got := outcome{Exit: "0"}
	if err := command(t, args, stdin, &stdout); err != nil {
		got.Exit = "1"
	}
	got.Stdout = strings.ReplaceAll(stdout.String(), tmp, "{tmp}")
	got.Tree = tree(t, w)
	return got
}

// prepare creates the initial state of a case, as the README of the golden
// cases describes it.
func prepare(t *testing.T, name, out string) {
	t.Helper()
	e2e.NoError(t, os.MkdirAll(filepath.Dir(out), 0o755))
	switch name {
	case "dir-existing-empty":
		e2e.NoError(t, os.Mkdir(out, 0o755))
	case "dir-not-empty":
		e2e.NoError(t, os.MkdirAll(filepath.Join(out, "two"), 0o755))
		writeFile(t, filepath.Join(out, "one"), "", 0o644)
		writeFile(t, filepath.Join(out, "two/x"), "", 0o644)
	case "dir-hidden-file":
		e2e.NoError(t, os.Mkdir(out, 0o755))
		writeFile(t, filepath.Join(out, ".gitignore"), "", 0o644)
	case "dir-only-git":
		e2e.NoError(t, os.MkdirAll(filepath.Join(out, ".git"), 0o755))
		writeFile(t, filepath.Join(out, ".git/HEAD"), "ref: refs/heads/mine\n", 0o644)
	case "dir-git-file":
		e2e.NoError(t, os.Mkdir(out, 0o755))
		writeFile(t, filepath.Join(out, ".git"), "gitdir: x", 0o644)
	case "dir-is-file":
		writeFile(t, out, "", 0o644)
	case "dir-symlink":
		e2e.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(out), "real"), 0o755))
		e2e.NoError(t, os.Symlink("real", out))
	}
}

// command calls Init and RunScript, and prints and asks as xfn xpkg init does.
func command(t *testing.T, args []string, stdin io.Reader, stdout io.Writer) error {
	t.Helper()
	var run bool
	var rest []string
	var o scaffold.Options
	for len(args) > 0 {
		var a string
		a, args = args[0], args[1:]
		switch a {
		case "-d":
			o.Dir, args = args[0], args[1:]
		case "-b":
			o.Ref, args = args[0], args[1:]
		case "-r":
			run = true
		case "--":
			rest, args = append(rest, args...), nil
		case "--verbose":
		default:
			rest = append(rest, a)
		}
	}
	o.Name, o.Template = rest[0], rest[1]
	res, err := scaffold.Init(t.Context(), o)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(stdout, res)
	if res.Notes != "" {
		_, _ = fmt.Fprintf(stdout, "\n%s\n", res.Notes)
	}
	if res.Script == "" {
		return nil
	}
	if !run {
		run, err = ask(t, res.Script, stdin, stdout)
	}
	if !run || err != nil {
		return err
	}
	return scaffold.RunScript(t.Context(), res, stdin, stdout, io.Discard)
}

func ask(t *testing.T, script string, stdin io.Reader, stdout io.Writer) (bool, error) {
	t.Helper()
	_, _ = fmt.Fprint(stdout, "\nFound init.sh script!\n")
	for {
		_, _ = fmt.Fprint(stdout, "Do you want to run it? [y]es/[n]o/[v]iew: ")
		answer, err := scaffold.ReadAnswer(stdin)
		if err != nil || answer != scaffold.View {
			return answer == scaffold.Yes, err
		}
		_, _ = fmt.Fprintf(stdout, "\n%s\n", e2e.ReadFile(t, filepath.Dir(script), "init.sh"))
	}
}

// tree lists the files below dir, without the content of .git, in the format of
// the golden cases.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("0o%o %s", info.Sys().(*syscall.Stat_t).Mode, at[len(dir)+1:])
		if d.Type() == fs.ModeSymlink {
			to, err := os.Readlink(at)
			lines = append(lines, line+" -> "+to)
			return err
		}
		lines = append(lines, line)
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
