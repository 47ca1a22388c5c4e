package dev

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/proc"
)

// source returns the stamps of all files from which a function is built, by path.
func (l *snapshotter) source(path string) map[string]stamp {
	files := map[string]stamp{}
	s := sourceSnapshotter{snapshotter: l, files: files, former: l.former.files[target{source: path}]}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		l.around(path)
		files[path] = stamp{}
	case !info.IsDir():
		l.around(path)
		s.add(path)
	case isFile(filepath.Join(path, "oci-layout")):
		l.dirs[path] = true
		s.add(filepath.Join(path, "index.json"))
	default:
		l.around(path) // The parent is watched to detect that the folder is moved.
		if others, ok := languageFiles(path); ok {
			for _, other := range others {
				s.whole(other)
			}
			break
		}
		root := path
		if mod := fsx.FindUp(path, "go.mod"); mod != "" {
			root = filepath.Dir(mod)
		}
		s.module(root, map[string]bool{})
	}
	return files
}

// languageFiles returns the files and folders to watch for a function that is not in Go, and
// false for a function in Go.
func languageFiles(dir string) ([]string, bool) {
	lang, err := languages.Detect(dir)
	switch {
	case err == nil && lang.Name == "go", err != nil && fsx.FindUp(dir, "go.mod") != "":
		return nil, false
	case err == nil:
		if all, err := lang.Watch(dir); err == nil {
			return all, true
		}
	}
	return []string{dir}, true
}

// A sourceSnapshotter records the files of one source of a function.
type sourceSnapshotter struct {
	*snapshotter
	files, former map[string]stamp
}

func (s *sourceSnapshotter) add(path string) stamp {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || len(s.files) >= mostFiles {
		return stamp{}
	}
	s.files[path] = s.file(path, info, s.former[path])
	return s.files[path]
}

func (s *sourceSnapshotter) module(root string, seen map[string]bool) {
	root = filepath.Clean(root)
	if seen[root] {
		return
	}
	seen[root] = true
	s.tree(root)
	for _, other := range slices.Concat(s.local(filepath.Join(root, "go.mod")), s.local(fsx.FindUp(root, "go.work"))) {
		s.module(other, seen)
	}
}

// tree records the Go files below a folder, and the files that they embed. It
// skips hidden folders, testdata, vendor, node_modules, and nested modules.
func (s *sourceSnapshotter) tree(root string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // go build reports missing and unreadable files
		case d.IsDir() && path != root && isSkipped(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			s.dirs[path] = true
			return nil
		case isSource(d.Name()):
			s.embedded(filepath.Dir(path), s.add(path).embeds)
		}
		return nil
	})
}

func isSkipped(path, name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" || name == "node_modules" ||
		isFile(filepath.Join(path, "go.mod"))
}

// isSource reports whether a file with the given name is part of a Go build: a Go
// or assembly file, go.mod or go.sum.
func isSource(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return false // names of editors' temporary files begin with . or _
	}
	switch filepath.Ext(name) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go")
	case ".s":
		return true
	}
	return name == "go.mod" || name == "go.sum"
}

func (s *sourceSnapshotter) embedded(dir string, patterns []string) {
	for _, p := range patterns {
		matches, err := fsx.Glob(dir, p)
		if err != nil {
			continue
		}
		s.around(filepath.Join(dir, filepath.FromSlash(p)))
		for _, m := range matches {
			s.whole(m)
		}
	}
}

func (s *sourceSnapshotter) whole(path string) {
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir():
			s.dirs[path] = true
		case !fsx.IsEditorFile(d.Name()):
			s.dirs[filepath.Dir(path)] = true
			if d.Type()&fs.ModeSymlink != 0 {
				s.around(path)
			}
			s.add(path)
		}
		return nil
	})
}

var directive = proc.Regexp(`(?m)^//go:embed[ \t]+(.+)$`)

// pattern matches a file pattern in a go:embed directive. A pattern may be quoted.
var pattern = proc.Regexp("\"[^\"]*\"|`[^`]*`|[^ \t\r]+")

func embeds(text []byte) []string {
	var all []string
	for _, m := range directive().FindAllSubmatch(text, -1) {
		for _, p := range pattern().FindAllString(string(m[1]), -1) {
			all = append(all, strings.TrimPrefix(strings.Trim(p, "\"`"), "all:"))
		}
	}
	return all
}

// local records a go.mod or go.work file. It returns the local folders that the
// file names in its use and replace directives.
func (s *sourceSnapshotter) local(path string) []string {
	text, err := fsx.ReadFile(path, hashed)
	if path == "" || err != nil {
		return nil
	}
	s.add(path)
	s.dirs[filepath.Dir(path)] = true
	var replaced []*modfile.Replace
	var dirs []string
	if filepath.Base(path) == "go.work" {
		work, err := modfile.ParseWork(path, text, nil)
		if err != nil {
			return nil // go build reports err
		}
		replaced = work.Replace
		for _, u := range work.Use {
			dirs = append(dirs, u.Path)
		}
	} else {
		mod, err := modfile.Parse(path, text, nil)
		if err != nil {
			return nil
		}
		replaced = mod.Replace
	}
	for _, r := range replaced {
		if modfile.IsDirectoryPath(r.New.Path) {
			dirs = append(dirs, r.New.Path)
		}
	}
	for i, d := range dirs {
		if d = filepath.FromSlash(d); !filepath.IsAbs(d) {
			d = filepath.Join(filepath.Dir(path), d)
		}
		dirs[i] = d
	}
	return dirs
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
