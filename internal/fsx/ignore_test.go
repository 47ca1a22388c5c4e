package fsx_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

func TestIgnore(t *testing.T) {
	const text = "# comment\n\n*.log\n!keep.log\n/build\ntests/\ndocs/*.md\r\n**/tmp\n"
	cases := map[string]struct {
		reason, path string
		dir, want    bool
	}{
		"Name":       {"a pattern without a slash matches in each folder", "a/b/x.log", false, true},
		"Again":      {"a later pattern includes a file again", "a/keep.log", false, false},
		"Anchored":   {"a slash at the start matches only in the top folder", "build", true, true},
		"NotTop":     {"a slash at the start does not match in other folders", "a/build", true, false},
		"Folder":     {"a slash at the end matches folders", "a/tests", true, true},
		"NotFolder":  {"a slash at the end does not match files", "tests", false, false},
		"Path":       {"a line may end with a carriage return", "docs/a.md", false, true},
		"Deeper":     {"a star does not match a slash", "docs/a/a.md", false, false},
		"Stars":      {"two stars match any folders", "a/b/tmp", false, true},
		"Comment":    {"a comment is not a pattern", "# comment", false, false},
		"Unmatched":  {"other files remain", "main.py", false, false},
		"IgnoreFile": {"the file itself has no special meaning", ".xpkgignore", false, false},
	}
	i := e2e.Must(fsx.ReadIgnore(fstest.MapFS{".xpkgignore": {Data: []byte(text)}}.Open))(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, fmt.Sprintf("%s: Match(%q)", tc.reason, tc.path), tc.want, i.Match(tc.path, tc.dir))
		})
	}
}

func TestReadIgnore(t *testing.T) {
	if i, err := fsx.ReadIgnore(fstest.MapFS{}.Open); err != nil || i.Match("a", false) {
		t.Errorf("a missing file has no patterns, got error %v", err)
	}
	big := fstest.MapFS{".xpkgignore": {Data: []byte(strings.Repeat("a\n", 1<<20))}}
	e2e.ErrorHas(t, "an error for a file that is too large", e2e.Err(fsx.ReadIgnore(big.Open)), "larger than 1048576 bytes")
	dir := fstest.MapFS{".xpkgignore": {Mode: fs.ModeDir}}
	e2e.Error(t, "a folder instead of the file is an error", e2e.Err(fsx.ReadIgnore(dir.Open)))
}

// patternCases are patterns, and the files that git ignores by them.
var patternCases = map[string]struct {
	reason, patterns string
	files, want      []string
}{
	"Negated":      {"an exclamation mark negates a bracket", "[!a]x", []string{"ax", "bx", "x", "d/cx"}, []string{"bx", "d/cx"}},
	"Caret":        {"a caret negates a bracket", "[^ab]x", []string{"ax", "bx", "cx"}, []string{"cx"}},
	"Range":        {"a bracket has ranges, and a hyphen at its end is a character", "[a-c0-]x", []string{"ax", "cx", "dx", "0x", "-x", "1x"}, []string{"-x", "0x", "ax", "cx"}},
	"Reversed":     {"a reversed range matches nothing", "[c-a]x", []string{"ax", "bx"}, nil},
	"First":        {"a closing bracket in the first place is a character", "[]a]x", []string{"]x", "ax", "bx"}, []string{"]x", "ax"}},
	"Posix":        {"a bracket has named classes", "[[:digit:]_]x\n[![:punct:]]y", []string{"1x", "_x", "ax", "-y", "ay"}, []string{"1x", "_x", "ay"}},
	"UnknownClass": {"a pattern with an unknown class matches nothing", "[[:letter:]]x", []string{"ax", "lx"}, nil},
	"Open":         {"a pattern with an open bracket matches nothing", "[ax", []string{"[ax", "ax"}, nil},
	"NoSlash":      {"a bracket does not match a slash", "a[!b]c\na[.-0]d", []string{"a/c", "axc", "a/d", "a.d"}, []string{"a.d", "axc"}},
	"Middle":       {"two stars between slashes match zero or more folders", "a/**/b", []string{"a/b", "a/x/b", "a/x/y/b", "a/xb", "b", "c/a/b"}, []string{"a/b", "a/x/b", "a/x/y/b"}},
	"MiddleFile":   {"the end of a path matches exactly", "a/**/b.txt", []string{"a/x/b.txt", "a/b.txt", "a/x/cb.txt", "a/x/b.txt.c"}, []string{"a/b.txt", "a/x/b.txt"}},
	"Start":        {"two stars at the start match zero or more folders", "**/b/c", []string{"b/c", "x/b/c", "x/b/d"}, []string{"b/c", "x/b/c"}},
	"End":          {"two stars at the end match everything in a folder", "a/**", []string{"a/x", "a/y/z", "b/a/x"}, []string{"a/x", "a/y/z"}},
	"Keep":         {"files in a folder are included again", "a/**\n!a/b/\n!a/b/c", []string{"a/b/c", "a/b/d", "a/e"}, []string{"a/b/d", "a/e"}},
	"Stars":        {"other pairs of stars are one star", "a**b\nc/d**/e", []string{"axb", "a/b", "c/dx/e"}, []string{"axb", "c/dx/e"}},
	"Three":        {"three stars between slashes are two stars", "a/***/b", []string{"a/b", "a/x/y/b"}, []string{"a/b", "a/x/y/b"}},
	"Question":     {"a question mark does not match a slash", "a?b", []string{"axb", "a/b", "ab"}, []string{"axb"}},
	"Anchored":     {"a slash in the middle anchors a pattern", "b/c", []string{"b/c", "a/b/c"}, []string{"b/c"}},
	"Deeper":       {"the files in an excluded folder are excluded", "b", []string{"a/b/c/d", "bc"}, []string{"a/b/c/d"}},
	"Parent":       {"an excluded folder cannot include its files again", "b/\n!b/c", []string{"b/c"}, []string{"b/c"}},
	"Later":        {"a folder that is included again keeps a file excluded", "a/x\n!a", []string{"a/x", "a/y"}, []string{"a/x"}},
	"FolderOnly":   {"a slash at the end matches folders only", "b/", []string{"b", "a/b/c"}, []string{"a/b/c"}},
	"Escapes":      {"a backslash escapes a special character", "\\#a\n\\!b\nc\\*\nd\\[e", []string{"#a", "!b", "c*", "cx", "d[e"}, []string{"!b", "#a", "c*", "d[e"}},
	"LastEscape":   {"a pattern that ends in a backslash matches nothing", "a\\", []string{"a"}, nil},
	"Spaces":       {"spaces at the end do not count, unless they are escaped", "a  \nb\\ ", []string{"a", "b", "b "}, []string{"a", "b "}},
	"Comment":      {"comments, empty lines and a lone slash are not patterns", "#a\n\n/\n!\n", []string{"#a", "a"}, nil},
	"Regular":      {"characters of regular expressions have no meaning", "a.b\n(c)+\n$d{2}", []string{"a.b", "axb", "(c)+", "cc", "$d{2}"}, []string{"$d{2}", "(c)+", "a.b"}},
}

func TestPatterns(t *testing.T) {
	for name, tc := range patternCases {
		t.Run(name, func(t *testing.T) {
			patterns := fsx.ParsePatterns(strings.Split(tc.patterns, "\n"))
			var got []string
			for _, file := range tc.files {
				ignored := patterns.Match(file, false)
				for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
					ignored = ignored || patterns.Match(dir, true)
				}
				if ignored {
					got = append(got, file)
				}
			}
			slices.Sort(got)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// TestPatternsLikeGit compares the expectations of patternCases with git, if git is installed.
func TestPatternsLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil || filepath.Separator != '/' {
		t.Skip("git is missing, or has other paths") // TestPatterns does not need git.
	}
	dir := t.TempDir()
	write := func(name, text string) {
		e2e.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)))
	}
	var files, want []string
	for name, tc := range patternCases {
		write(name+"/.gitignore", tc.patterns+"\n")
		for _, file := range tc.files {
			write(name+"/"+file, "")
			files = append(files, name+"/"+file)
		}
		for _, file := range tc.want {
			want = append(want, name+"/"+file)
		}
	}
	run := func(stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		return e2e.Output(t, cmd)
	}
	run("", "init", "-q")
	got := strings.Split(strings.TrimSuffix(run(strings.Join(files, "\x00"), "check-ignore", "--no-index", "--stdin", "-z"), "\x00"), "\x00")
	slices.Sort(got)
	slices.Sort(want)
	e2e.Equal(t, "exactly the files that git ignores are ignored", want, got)
}
