package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
)

// source looks at all that a function is made from.
func (l *looker) source(path string) map[string]stamp {
	files := map[string]stamp{}
	s := sourceLooker{looker: l, files: files, former: l.former.sources[path]}
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
		l.around(path) // it may be moved away whole
		s.module(moduleRoot(path), map[string]bool{})
	}
	return files
}

// A sourceLooker looks at the files of one source.
type sourceLooker struct {
	*looker
	files, former map[string]stamp
}

func (s *sourceLooker) add(path string) stamp {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || len(s.files) >= most {
		return stamp{}
	}
	s.files[path] = s.file(path, info, s.former[path])
	return s.files[path]
}

// module looks at a module, and at those that stand in for others on this
// machine.
func (s *sourceLooker) module(root string, seen map[string]bool) {
	root = filepath.Clean(root)
	if seen[root] {
		return
	}
	seen[root] = true
	s.tree(root)
	for _, other := range s.local(filepath.Join(root, "go.mod")) {
		s.module(other, seen)
	}
	for _, other := range s.local(workspace(root)) {
		s.module(other, seen)
	}
}

// tree looks at the Go files below a folder, and at what they embed. It passes
// over what the go command does, and over nested modules.
func (s *sourceLooker) tree(root string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it has gone meanwhile, or nobody may read it: go build says so
		case d.IsDir() && path != root && passedOver(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			s.dirs[path] = true
			return nil
		case goes(d.Name()):
			s.embedded(filepath.Dir(path), s.add(path).embeds)
		}
		return nil
	})
}

func passedOver(path, name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" || name == "node_modules" ||
		isFile(filepath.Join(path, "go.mod"))
}

// goes reports whether a file of that name goes into a build by itself.
func goes(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return false // as editors call theirs
	}
	switch filepath.Ext(name) {
	case ".go":
		return !strings.HasSuffix(name, "_test.go")
	case ".s":
		return true
	}
	return name == "go.mod" || name == "go.sum"
}

// embedded looks at the files that patterns of a package match.
func (s *sourceLooker) embedded(dir string, patterns []string) {
	for _, p := range patterns {
		matches, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(p)))
		if err != nil {
			continue
		}
		s.around(filepath.Join(dir, filepath.FromSlash(p)))
		for _, m := range matches {
			s.whole(m)
		}
	}
}

// whole looks at a file, or at all files of a folder.
func (s *sourceLooker) whole(path string) {
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir():
			s.dirs[path] = true
		default:
			s.dirs[filepath.Dir(path)] = true
			s.add(path)
		}
		return nil
	})
}

// directive matches the line of a Go file that embeds files (package embed).
var directive = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^//go:embed[ \t]+(.+)$`) })

// pattern matches one of its patterns, which may be quoted.
var pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\"[^\"]*\"|`[^`]*`|[^ \t\r]+") })

// embeds returns the patterns that the text of a Go file embeds.
func embeds(text []byte) []string {
	var all []string
	for _, m := range directive().FindAllSubmatch(text, -1) {
		for _, p := range pattern().FindAllString(string(m[1]), -1) {
			all = append(all, strings.TrimPrefix(strings.Trim(p, "\"`"), "all:"))
		}
	}
	return all
}

// moduleRoot returns the folder of the module that a package is of, or the
// package's if it is of none.
func moduleRoot(dir string) string {
	if root := above(dir, "go.mod"); root != "" {
		return filepath.Dir(root)
	}
	return dir
}

// workspace returns the go.work that a module is of, or "".
func workspace(root string) string { return above(root, "go.work") }

// above returns the file of that name in a folder, or in the nearest above it.
func above(dir, name string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for up := ""; ; up = filepath.Join(up, "..") {
		path := filepath.Join(dir, up, name)
		if isFile(path) {
			return path
		}
		if filepath.Dir(abs) == abs {
			return ""
		}
		abs = filepath.Dir(abs)
	}
}

// local returns the folders on this machine that a go.mod or go.work names, and
// looks at that file.
func (s *sourceLooker) local(path string) []string {
	text, err := read(path)
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
			return nil // go build says so
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
