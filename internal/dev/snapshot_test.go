package dev_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	e2e.WriteFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	e2e.NoError(t, os.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))))
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	e2e.NoError(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
}

// sourceFiles has the files of a function's Go module, and other files of all kinds.
var sourceFiles = map[string]string{
	"fn/go.mod":              "module example.org/fn\n\nreplace example.org/lib => ../lib\n",
	"fn/main.go":             "package main\n\n//go:embed text/*.txt \"with blank.txt\"\n//go:embed all:tree\n",
	"fn/main_test.go":        "package main",
	"fn/sub/sub.go":          "package sub",
	"fn/text/a.txt":          "a",
	"fn/text/a.md":           "a",
	"fn/with blank.txt":      "b",
	"fn/tree/deep/.hidden":   "c",
	"fn/testdata/x.go":       "package x",
	"fn/vendor/v.go":         "package v",
	"fn/.git/g.go":           "package g",
	"fn/nested/go.mod":       "module nested",
	"fn/nested/n.go":         "package nested",
	"fn/bin/function":        "built",
	"fn/example/xr.yaml":     "kind: X",
	"lib/go.mod":             "module example.org/lib",
	"lib/lib.go":             "package lib",
	"in/a.yaml":              "a: 1",
	"in/b.yaml":              "b: 1",
	"layout/oci-layout":      "{}",
	"layout/index.json":      "{}",
	"layout/blobs/sha256/aa": "blob",
	"fn.xpkg":                "package",
	"kcl/kcl.mod":            "[package]",
	"kcl/main.k":             "a = 1",
	"schemas/model.k":        "b = 1",
	"shared/a.tmpl":          "a",
}

func TestSince(t *testing.T) {
	cases := map[string]struct {
		reason string
		do     func(t *testing.T, dir string)
		want   []string // each "source: path" or "path", relative to the folder
	}{
		"Nothing": {"unchanged files have no changes", func(*testing.T, string) {}, nil},
		"Written": {"changed content is a change", func(t *testing.T, dir string) { put(t, dir, "in/a.yaml", "a: 2") }, []string{"in/a.yaml"}},
		"Touched": {"writing equal content is not a change", func(t *testing.T, dir string) { put(t, dir, "in/a.yaml", "a: 1") }, nil},
		"Renamed": {"renaming a new file over an old one is a change", func(t *testing.T, dir string) {
			put(t, dir, "in/.a.tmp", "a: 3")
			rename(t, dir, "in/.a.tmp", "in/a.yaml")
		}, []string{"in/a.yaml"}},
		"Gone":       {"a removed file changes itself and its folder", func(t *testing.T, dir string) { remove(t, dir, "in/a.yaml") }, []string{"in", "in/a.yaml"}},
		"Comes":      {"a new file that was read before it existed is a change", func(t *testing.T, dir string) { put(t, dir, "missing/deep/c.yaml", "c") }, []string{"missing/deep/c.yaml"}},
		"InFolder":   {"a new file in a folder that was read is a change", func(t *testing.T, dir string) { put(t, dir, "in/c.yaml", "c") }, []string{"in"}},
		"OtherFile":  {"temporary files of editors are ignored", func(t *testing.T, dir string) { put(t, dir, "in/.a.yaml.swp", "x"); put(t, dir, "in/4913", "x") }, nil},
		"FolderGone": {"a removed folder is a change", func(t *testing.T, dir string) { remove(t, dir, "in") }, []string{"in", "in/a.yaml"}},
		"Go":         {"Go files of the main package are watched", func(t *testing.T, dir string) { put(t, dir, "fn/main.go", "package main // x") }, []string{"fn: fn/main.go", "fn: fn/text/a.txt", "fn: fn/tree/deep/.hidden", "fn: fn/with blank.txt"}},
		"GoBelow":    {"Go files of packages below it are watched", func(t *testing.T, dir string) { put(t, dir, "fn/sub/sub.go", "package sub // x") }, []string{"fn: fn/sub/sub.go"}},
		"GoComes":    {"a new file in a new folder is a change", func(t *testing.T, dir string) { put(t, dir, "fn/new/new.go", "package new") }, []string{"fn: fn/new/new.go"}},
		"GoGoes":     {"a removed Go file is a change", func(t *testing.T, dir string) { remove(t, dir, "fn/sub/sub.go") }, []string{"fn: fn/sub/sub.go"}},
		"Mod": {"a changed go.mod is a change", func(t *testing.T, dir string) {
			put(t, dir, "fn/go.mod", "module example.org/other\n\nreplace example.org/lib => ../lib\n")
		}, []string{"fn: fn/go.mod"}},
		"Embedded":    {"an embedded file is watched", func(t *testing.T, dir string) { put(t, dir, "fn/text/a.txt", "b") }, []string{"fn: fn/text/a.txt"}},
		"EmbedComes":  {"a new file that matches an embed pattern is a change", func(t *testing.T, dir string) { put(t, dir, "fn/text/b.txt", "b") }, []string{"fn: fn/text/b.txt"}},
		"EmbedBlank":  {"embed patterns can be quoted", func(t *testing.T, dir string) { put(t, dir, "fn/with blank.txt", "x") }, []string{"fn: fn/with blank.txt"}},
		"EmbedTree":   {"an embedded folder is watched with hidden files", func(t *testing.T, dir string) { put(t, dir, "fn/tree/deep/.hidden", "x") }, []string{"fn: fn/tree/deep/.hidden"}},
		"NotEmbedded": {"a file that no pattern matches is ignored", func(t *testing.T, dir string) { put(t, dir, "fn/text/a.md", "b") }, nil},
		"Replaced":    {"a module that replaces another is watched", func(t *testing.T, dir string) { put(t, dir, "lib/lib.go", "package lib // x") }, []string{"fn: lib/lib.go"}},
		"Workspace":   {"a new go.work file is a change", func(t *testing.T, dir string) { put(t, dir, "go.work", "go 1.26\n") }, []string{"fn: go.work"}},
		"Tests":       {"test files are ignored", func(t *testing.T, dir string) { put(t, dir, "fn/main_test.go", "package main // x") }, nil},
		"PassedOver": {"files that the go command ignores are ignored", func(t *testing.T, dir string) {
			for _, f := range []string{"fn/testdata/x.go", "fn/vendor/v.go", "fn/.git/g.go", "fn/nested/n.go", "fn/bin/function", "fn/example/xr.yaml", "fn/.#main.go"} {
				put(t, dir, f, "changed")
			}
		}, nil},
		"KCL":          {"a file of KCL source is watched", func(t *testing.T, dir string) { put(t, dir, "kcl/main.k", "a = 2") }, []string{"kcl: kcl/main.k"}},
		"KCLComes":     {"a new file in a new folder of KCL source is a change", func(t *testing.T, dir string) { put(t, dir, "kcl/new/b.k", "b = 2") }, []string{"kcl: kcl/new/b.k"}},
		"KCLLinked":    {"a file behind a link in KCL source is watched", func(t *testing.T, dir string) { put(t, dir, "schemas/model.k", "b = 2") }, []string{"kcl: schemas/model.k"}},
		"KCLEditor":    {"temporary files of editors in KCL source are ignored", func(t *testing.T, dir string) { put(t, dir, "kcl/.main.k.swp", "x") }, nil},
		"Moved":        {"a removed source folder is a change", func(t *testing.T, dir string) { rename(t, dir, "layout", "elsewhere") }, []string{"layout: layout/index.json"}},
		"PackageFile":  {"a rebuilt package file is a change", func(t *testing.T, dir string) { put(t, dir, "fn.xpkg", "another") }, []string{"fn.xpkg: fn.xpkg"}},
		"Layout":       {"the index of an image layout is watched", func(t *testing.T, dir string) { put(t, dir, "layout/index.json", "{ }") }, []string{"layout: layout/index.json"}},
		"WholeFolder":  {"a folder of templates is one target", func(t *testing.T, dir string) { put(t, dir, "templates/a/b.tmpl", "x") }, []string{"templates"}},
		"LinkedFolder": {"files in a linked folder of templates are watched", func(t *testing.T, dir string) { put(t, dir, "shared/a.tmpl", "b") }, []string{"linked"}},
		"BrokenModule": {"an invalid go.mod is left to go build", func(t *testing.T, dir string) { put(t, dir, "lib/go.mod", "modul") }, []string{"fn: lib/go.mod"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, text := range sourceFiles {
				put(t, dir, path, text)
			}
			e2e.NoError(t, os.Symlink(filepath.Join("..", "schemas"), filepath.Join(dir, "kcl", "model")))
			e2e.NoError(t, os.Symlink("shared", filepath.Join(dir, "linked")))
			in := func(names ...string) (paths []string) {
				for _, n := range names {
					paths = append(paths, filepath.Join(dir, filepath.FromSlash(n)))
				}
				return paths
			}
			targets := dev.Targets{
				Paths:   in("in", "in/a.yaml", "missing/deep/c.yaml", "templates"),
				Sources: append(in("fn", "layout", "fn.xpkg", "kcl"), "registry.example.org/acme/f:v1"),
				Folders: in("templates", "linked"),
			}
			before := dev.TakeSnapshot(targets, dev.Snapshot{}, time.Now())
			tc.do(t, dir)
			now := dev.TakeSnapshot(targets, before, time.Now())
			var got []string
			for _, c := range now.Since(before, time.Now()) {
				text := strings.TrimPrefix(c.Path, dir+"/")
				if c.Source != "" {
					text = strings.TrimPrefix(c.Source, dir+"/") + ": " + text
				}
				got = append(got, filepath.ToSlash(text))
			}
			slices.Sort(got)
			e2e.Equal(t, tc.reason, tc.want, got)
			if again := dev.TakeSnapshot(targets, now, time.Now()).Since(now, time.Now()); len(again) > 0 {
				t.Errorf("the next snapshot has changes %v", again)
			}
		})
	}
}

// TestSinceOfNewTargets checks that a target without an earlier snapshot has
// changed if it was modified after the round that read it began.
func TestSinceOfNewTargets(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.yaml", "a")
	path := filepath.Join(dir, "a.yaml")
	at := time.Now().Add(-time.Hour)
	e2e.NoError(t, os.Chtimes(path, at, at))
	look := dev.TakeSnapshot(dev.Targets{Paths: []string{path}, Folders: []string{dir}}, dev.Snapshot{}, time.Now())
	if got := look.Since(dev.Snapshot{}, at.Add(time.Minute)); got != nil {
		t.Errorf("a file that was read after it was written has changes %v", got)
	}
	want := []dev.Change{{Path: dir}, {Path: path}}
	e2e.Equal(t, "a file that was written after it was read has changed", want, look.Since(dev.Snapshot{}, at.Add(-time.Minute)))
}

// TestSnapshotTrustsTimes checks that an old file is not read again if its size and its
// modification time equal the values in the former Snapshot. The same applies to files in
// Folders.
func TestSnapshotTrustsTimes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	targets := dev.Targets{Paths: []string{path}, Folders: []string{dir}}
	for name, tc := range map[string]struct {
		age  time.Duration
		want int
	}{"Old": {time.Hour, 0}, "Fresh": {0, 2}} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			var looks []dev.Snapshot
			for _, text := range []string{"a: 1", "a: 2"} {
				put(t, dir, "a.yaml", text)
				e2e.NoError(t, os.Chtimes(path, now.Add(-tc.age), now.Add(-tc.age)))
				former := dev.Snapshot{}
				if len(looks) > 0 {
					former = looks[0]
				}
				looks = append(looks, dev.TakeSnapshot(targets, former, now))
			}
			e2e.Equal(t, "a file is read again unless its time is old and unchanged", tc.want, len(looks[1].Since(looks[0], now)))
		})
	}
}

func TestCount(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "in/a.yaml", "a")
	put(t, dir, "fn/main.go", "package main")
	in := filepath.Join(dir, "in")
	look := dev.TakeSnapshot(dev.Targets{Paths: []string{in, filepath.Join(in, "a.yaml"), filepath.Join(in, "b.yaml")}, Sources: []string{filepath.Join(dir, "fn")}}, dev.Snapshot{}, time.Now())
	if files, folders := look.Count(); files != 2 || folders != 3 {
		t.Errorf("got %d files in %d folders %v, want 2 in 3", files, folders, look.Dirs)
	}
}

// TestSnapshotFollowsLinks checks that the folder of a link's target is watched, too.
func TestSnapshotFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "real/a.yaml", "a")
	put(t, dir, "in/b.yaml", "b")
	link := filepath.Join(dir, "in", "a.yaml")
	if err := os.Symlink(filepath.Join(dir, "real", "a.yaml"), link); err != nil {
		t.Skipf("the system cannot create links: %v", err)
	}
	look := dev.TakeSnapshot(dev.Targets{Paths: []string{link}}, dev.Snapshot{}, time.Now())
	if !slices.ContainsFunc(look.Dirs, func(d string) bool { return filepath.Base(d) == "real" }) {
		t.Errorf("got %v", look.Dirs)
	}
}
