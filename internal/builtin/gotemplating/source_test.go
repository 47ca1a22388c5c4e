package gotemplating_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestFiles checks which files the source FileSystem can read. Each template
// calls fail with a text that identifies the file.
func TestFiles(t *testing.T) {
	top := t.TempDir()
	say := func(text string) string { return "{{ fail `" + text + "` }}" }
	e2e.WriteFiles(t, top, map[string]string{
		"work/a/1.txt":            "{{ $all := `1` }}",
		"work/a/b/2.txt":          "{{ $all = print $all 2 }}",
		"work/a/c.txt":            "{{ fail $all }}",
		"work/a/.hidden":          say("hidden"),
		"work/a/.folder/x":        say("hidden"),
		"work/file":               say("file"),
		"work/links/inside":       "-> ../file",
		"work/linked":             "-> a",
		"work/out/secret":         "-> ../../secret",
		"work/outfolder":          "-> ../elsewhere",
		"work/absolute/secret":    "-> " + filepath.ToSlash(filepath.Join(top, "secret")),
		"work/large/1":            strings.Repeat("x", 3<<20),
		"work/large/2":            strings.Repeat("x", 3<<20),
		"secret":                  say("secret"),
		"elsewhere/x":             say("secret"),
		"more/only":               say("more"),
		"more/file":               say("shadowed"),
		"last/only":               say("shadowed"),
		"last/.keep/hidden/x.txt": say("hidden"),
	})
	outside := func(path string) string { return "open " + path + ": no such file or directory" }
	cases := map[string]struct{ reason, dirPath, want string }{
		"Folder":         {reason: "files are joined in lexical order without hidden files", dirPath: "a", want: "12"},
		"Slash":          {reason: "a slash at the end is ignored", dirPath: "a/", want: "12"},
		"DotSlash":       {reason: "a dot at the beginning is ignored", dirPath: "./a", want: "12"},
		"Up":             {reason: "a path may contain .. inside of the folder", dirPath: "a/../a/b/../c.txt", want: "undefined variable \"$all\""},
		"File":           {reason: "a path may be a file, and the first folder takes precedence", dirPath: "file", want: "file"},
		"Link":           {reason: "links to files are followed", dirPath: "links", want: "file"},
		"LinkedFolder":   {reason: "the folder may be a link", dirPath: "linked", want: "12"},
		"Escape":         {reason: "a link out of the folder is not followed", dirPath: "out", want: "open out/secret: path escapes from parent"},
		"EscapeFile":     {reason: "a path through a link out of the folder is not followed", dirPath: "out/secret", want: "open out/secret: path escapes from parent"},
		"EscapeFolder":   {reason: "a link to a folder outside is not followed", dirPath: "outfolder", want: "open outfolder: path escapes from parent"},
		"EscapeAbsolute": {reason: "an absolute link is not followed", dirPath: "absolute", want: "open absolute/secret: path escapes from parent"},
		"ParentFile":     {reason: "a parent of the folder cannot be read", dirPath: "../secret", want: outside("../secret")},
		"Root":           {reason: "other files of the machine cannot be read", dirPath: "/", want: outside("/")},
		"AbsoluteOutside": {
			reason:  "an absolute path outside of the folders is denied",
			dirPath: filepath.Join(top, "secret"),
			want:    outside(filepath.Join(top, "secret")),
		},
		"AbsoluteInside": {reason: "an absolute path inside of the folder is read", dirPath: filepath.Join(top, "work", "file"), want: "file"},
		"AbsoluteLater":  {reason: "an absolute path inside of a later folder is read", dirPath: filepath.Join(top, "more", "only"), want: "more"},
		"Later":          {reason: "files that the first folder lacks are read from the next folder that has them", dirPath: "only", want: "more"},
		"Mapped":         {reason: "a path below a mapped folder is read in this folder", dirPath: "/mapped/x/../only", want: "more"},
		"MappedWhole":    {reason: "the path of a mapped folder is the folder itself", dirPath: "/mapped", want: "shadowed"},
		"MappedBeside":   {reason: "a path that only begins like a mapped folder is not in it", dirPath: "/mappedonly", want: outside("/mappedonly")},
		"MappedParent":   {reason: "a parent of a mapped folder cannot be read", dirPath: "/mapped/../secret", want: outside("/mapped/../secret")},
		"Missing":        {reason: "a file that is missing in all folders is an error", dirPath: "gone/x", want: "open gone/x: no such file or directory"},
		"Large":          {reason: "the size limit applies to all files together", dirPath: "large", want: "the template is larger than 4 MiB"},
		"HiddenParent":   {reason: "only the last element of a path can hide it", dirPath: ".keep/hidden", want: "hidden"},
	}
	o := gotemplating.Options{Dir: filepath.Join(top, "work"), Templates: []gotemplating.Folder{{Dir: filepath.Join(top, "more")}, {Dir: filepath.Join(top, "last")}, {Dir: filepath.Join(top, "more"), At: "/mapped/"}}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := answer(t, o, fmt.Sprintf("input: {source: FileSystem, fileSystem: {dirPath: %q}}", tc.dirPath))
			text := got.(map[string]any)["results"].([]any)[0].(map[string]any)["message"].(string)
			if !strings.HasSuffix(text, tc.want) {
				t.Errorf("%s: got %q, want %q at the end", tc.reason, text, tc.want)
			}
		})
	}
	t.Run("WorkingDirectory", func(t *testing.T) {
		t.Chdir(filepath.Join(top, "work"))
		got := answer(t, gotemplating.Options{}, "input: {source: FileSystem, fileSystem: {dirPath: file}}")
		e2e.Has(t, "without a folder, files are read in the working directory", fmt.Sprint(got), "error calling fail: file")
	})
}
