package runtimeimage

import (
	"archive/tar"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
)

// checkEntrypoint returns an error unless the image of base and the tree has the program of
// the entry point, and the program may be executed. files are the files of base, to which
// it adds the files of the tree. For a base image with too many files, checkEntrypoint only
// reports that it did not check.
func (t *tree) checkEntrypoint(base v1.Image, files *scan, opts Options) error {
	config, err := base.ConfigFile()
	if err != nil {
		return fmt.Errorf("reading the base image: %w", err)
	}
	files.overlay(t)
	program := t.Entrypoint[0]
	places, from := []string{program}, "the image"
	if strings.Contains(program, "/") {
		if !path.IsAbs(program) {
			places[0] = path.Join(t.Workdir, program)
		}
	} else {
		search := pathOf(slices.Concat([]string{searchPath}, config.Config.Env, t.Env))
		from, places = fmt.Sprintf("a folder of the image's PATH (%s)", search), nil
		for dir := range strings.SplitSeq(search, ":") {
			places = append(places, path.Join(t.Workdir, dir, program))
			if path.IsAbs(dir) {
				places[len(places)-1] = path.Join(dir, program)
			}
		}
	}
	var closest *entry
	target := ""
	for _, p := range places {
		e, ok, missing := files.find(p)
		target = cmp.Or(target, missing)
		switch {
		case ok && (e.kind == tar.TypeReg || e.kind == tar.TypeLink) && e.mode&0o111 != 0:
			return nil
		case ok && !e.isDir():
			closest = &e
		}
	}
	switch {
	case files.partial:
		opts.Progress.Warn(fmt.Sprintf("the entry point %q was not checked: the base image has more than %d files", program, MaxFiles))
		return nil
	case closest != nil:
		return hint.Wrap(fmt.Errorf("the entry point %q is not executable", program), "make it executable, for example with chmod +x, or name its interpreter first")
	}
	err = fmt.Errorf("the entry point %q is not a file in %s", program, from)
	if words := strings.Fields(program); len(words) > 1 {
		next := "each word has its own option: "
		for _, w := range words {
			next += string(hint.Entrypoint) + " " + w + " "
		}
		return hint.Wrap(err, strings.TrimSpace(next))
	}
	if target != "" {
		err = fmt.Errorf("%w: it is a link to %q, which the image lacks", err, target)
		if strings.HasPrefix(path.Base(target), "python") {
			return hint.Wrap(err, "a virtual environment needs the Python of its machine: install the packages into the directory of the function, with the option target of pip, and name the python3 of the base image")
		}
		return hint.Wrap(err, "put a copy of the file in place of the link, or name a program of the base image")
	}
	if _, ok, _ := files.find(path.Join(t.Workdir, path.Base(program))); ok {
		return hint.Wrap(err, hint.Hint(fmt.Sprintf("%q is in the directory of the function: name it as %q", path.Base(program), "./"+path.Base(program))))
	}
	return hint.Wrap(err, "name a program of the base image, or a file in the directory of the function as ./FILE")
}

// pathOf returns the value of PATH, which the last variable with this name has.
func pathOf(env []string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			return value
		}
	}
	return ""
}

// overlay adds the files of a tree, as its layer does.
func (s *scan) overlay(t *tree) {
	for _, f := range t.files {
		e := entry{kind: f.header().Typeflag, link: f.Link, folder: folder{mode: f.Mode}}
		s.set(path.Join(t.at, f.Path), e)
	}
}

// maxLinks limits the symbolic links in one path, as Linux does.
const maxLinks = 40

// find returns the file at an absolute path. It follows symbolic links. If the path is a link to a file
// that does not exist, missing is the path of that file.
func (s *scan) find(name string) (e entry, ok bool, missing string) {
	at, links, isLink := "", 0, false
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			at = strings.TrimPrefix(path.Dir("/"+at), "/")
			continue
		}
		next := path.Join(at, part)
		if e, ok = s.theirs[next]; !ok {
			if isLink {
				missing = path.Join("/", next, path.Join(rest...))
			}
			return e, false, missing
		}
		if e.kind != tar.TypeSymlink {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return e, false, ""
		}
		isLink = isLink || len(rest) == 0
		if path.IsAbs(e.link) {
			at = ""
		}
		rest = append(strings.Split(e.link, "/"), rest...)
	}
	e, ok = s.theirs[at]
	return e, ok, ""
}
