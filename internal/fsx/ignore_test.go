package fsx_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

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
	i, err := fsx.ReadIgnore(fstest.MapFS{".xpkgignore": {Data: []byte(text)}}.Open)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := i.Match(tc.path, tc.dir); got != tc.want {
				t.Errorf("%s: Match(%q) = %t, want %t", tc.reason, tc.path, got, tc.want)
			}
		})
	}
}

func TestReadIgnore(t *testing.T) {
	if i, err := fsx.ReadIgnore(fstest.MapFS{}.Open); err != nil || i.Match("a", false) {
		t.Errorf("a missing file has no patterns, got error %v", err)
	}
	big := fstest.MapFS{".xpkgignore": {Data: []byte(strings.Repeat("a\n", 1<<20))}}
	if _, err := fsx.ReadIgnore(big.Open); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("want an error for a file that is too large, got %v", err)
	}
	dir := fstest.MapFS{".xpkgignore": {Mode: fs.ModeDir}}
	if _, err := fsx.ReadIgnore(dir.Open); err == nil {
		t.Error("want an error for a folder")
	}
}
