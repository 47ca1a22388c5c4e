package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/xpkg"
)

// maxFile limits the bytes of a YAML file, and maxFiles the number of files in a tree.
const (
	maxFile  = 80 << 20
	maxFiles = 100_000
)

// apiKinds and operationKinds are the kinds that a Configuration gets from the directories
// of APIs and operations, as apiVersion and kind.
var (
	apiKinds = []string{
		"apiextensions.crossplane.io/v1 CompositeResourceDefinition", "apiextensions.crossplane.io/v2 CompositeResourceDefinition",
		"apiextensions.crossplane.io/v1 Composition", "apiextensions.crossplane.io/v1alpha1 ManagedResourceActivationPolicy",
	}
	operationKinds = []string{
		"ops.crossplane.io/v1alpha1 Operation", "ops.crossplane.io/v1alpha1 WatchOperation", "ops.crossplane.io/v1alpha1 CronOperation",
	}
)

// A collected file is a file of the Configuration. name is its path relative to the
// directory of APIs or operations, with slashes. docs are its documents, unless err says why the file
// is invalid.
type collected struct {
	name string
	xpkg.Source
	docs []manifest.Document
	err  error
}

type collector struct {
	// root is the path of the project without links.
	root  string
	files []collected
	found xpkg.Problems
}

// collect returns the YAML files of the Configuration, in the order of their paths relative
// to the directories of APIs and operations, which are merged. The first document decides
// whether a file is collected. found has the problems of files that are left out.
func (p *Project) collect() (files []collected, found xpkg.Problems, err error) {
	c := &collector{}
	if c.root, err = p.realRoot(); err != nil {
		return nil, nil, err
	}
	if err := c.tree(p.Dir(p.Paths.APIs), apiKinds); err != nil {
		return nil, nil, err
	}
	if len(c.files) == 0 && len(c.found) == 0 {
		if absent := p.absent("apis", p.Paths.APIs); absent != "" {
			c.leaveOut(ruleLeftOut, p.Path, p.Line("spec.paths.apis"), "%s", absent)
		} else if !p.IsNew() {
			c.leaveOut(ruleLeftOut, p.Dir(p.Paths.APIs), 0, "the directory of APIs has no XRD and no Composition")
		}
	}
	c.linkedFunctions(p)
	if p.Paths.Operations != "" {
		if err := c.tree(p.Dir(p.Paths.Operations), operationKinds); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(c.files, func(a, b collected) int {
		return slices.Compare(strings.Split(a.name, "/"), strings.Split(b.name, "/"))
	})
	for i, f := range c.files {
		if i+1 < len(c.files) && c.files[i+1].name == f.name {
			c.leaveOut(ruleReplaced, f.Path, 0, "the file is left out, because %s has the same relative path and replaces it", c.files[i+1].Path)
			continue
		}
		files = append(files, f)
	}
	return files, c.found, nil
}

// IsNew reports whether the directory of APIs is as generate.Init creates it: it has only hidden
// files.
func (p *Project) IsNew() bool {
	entries, err := os.ReadDir(p.Dir(p.Paths.APIs))
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") })
}

// leaveOut adds a warning about a file.
func (c *collector) leaveOut(rule, path string, line int, text string, args ...any) {
	c.found = append(c.found, xpkg.Problem{Rule: rule, Warning: true, Path: path, Line: line, Text: fmt.Sprintf(text, args...)})
}

func (c *collector) refuse(rule, path, text, hint string) {
	c.found = append(c.found, xpkg.Problem{Rule: rule, Refused: true, Path: path, Text: text, Hint: hint})
}

// tree collects the files in a directory, which need not exist.
func (c *collector) tree(dir string, kinds []string) error {
	exists, err := isInside(c.root, dir)
	if err != nil || !exists {
		return err
	}
	var paths []string
	var entries []fs.DirEntry
	n := 0
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if n++; err == nil && n > maxFiles {
			err = fmt.Errorf("the directory has more than %d files", maxFiles)
		}
		if err != nil {
			return fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
		}
		if ext := strings.ToLower(filepath.Ext(path)); !e.IsDir() && (ext == ".yaml" || ext == ".yml" || ext == ".json" || e.Type()&fs.ModeSymlink != 0) {
			paths, entries = append(paths, path), append(entries, e)
		}
		return nil
	})
	each := make([]collector, len(paths))
	proc.Each(runtime.GOMAXPROCS(0), len(paths), func(i int) {
		each[i].root = c.root
		each[i].file(dir, paths[i], entries[i], kinds)
	})
	for _, one := range each {
		c.files, c.found = append(c.files, one.files...), append(c.found, one.found...)
	}
	return err
}

// linkedFunctions adds a warning about each link to a directory among the directories of functions.
func (c *collector) linkedFunctions(p *Project) {
	if p.Listed != nil {
		return
	}
	entries, _ := os.ReadDir(p.Dir(p.Paths.Functions)) // Functions has returned an error.
	for _, e := range entries {
		path := filepath.Join(p.Dir(p.Paths.Functions), e.Name())
		if info, err := os.Stat(path); err == nil && info.IsDir() && !e.IsDir() {
			c.leaveOut(ruleLink, path, 0, "the link leads to a directory, which is not a function: functions are directories in %s", p.Dir(p.Paths.Functions))
		}
	}
}

// realRoot returns the path of the project without links.
func (p *Project) realRoot() (string, error) {
	root, err := filepath.EvalSymlinks(cmp.Or(p.Root, "."))
	if err != nil {
		return "", fmt.Errorf("finding the project %q: %w", p.Root, fsx.Cause(err))
	}
	return root, nil
}

// isInside reports whether a directory exists. It returns an error if the directory or,
// if it does not exist, its nearest existing parent is not below root, which is a path
// without links.
func isInside(root, dir string) (exists bool, err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if parent := filepath.Dir(dir); parent != dir {
			_, err = isInside(root, parent)
			return false, err
		}
		return false, nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil && !fsx.IsWithin(root, real) {
		err = errors.New("the directory is a link that leads out of the project")
	}
	if err != nil {
		return false, fmt.Errorf("reading %q: %w", dir, fsx.Cause(err))
	}
	return true, nil
}

func (c *collector) file(dir, path string, e fs.DirEntry, kinds []string) {
	if e.Type().IsRegular() && !manifest.IsYAML(path) {
		if strings.EqualFold(filepath.Ext(path), ".json") && !hasObject(path, kinds) {
			return
		}
		c.leaveOut(ruleLeftOut, path, 0, "the file is left out: its extension must be .yaml or .yml, in lower case")
		return
	}
	data, ok := c.read(path, e)
	if !ok {
		return
	}
	docs, invalid := manifest.Split(path, data)
	if len(docs) > 0 {
		docs[0] = docs[0].WithJSON()
	}
	// An invalid file is part of the Configuration, so that linting reports its problems.
	if invalid == nil && !c.takes(path, docs, kinds) {
		return
	}
	name, _ := filepath.Rel(dir, path) // path is below dir.
	c.files = append(c.files, collected{filepath.ToSlash(name), xpkg.Source{Path: path, Data: data}, docs, invalid})
}

// hasObject reports whether the first object of a file, in JSON or YAML, is of one of the kinds.
func hasObject(path string, kinds []string) bool {
	data, err := readFile(path)
	if err != nil || !bytes.Contains(data, []byte("crossplane.io/")) {
		return false
	}
	docs, err := manifest.Split(path, data)
	if err != nil || len(docs) == 0 {
		return false
	}
	kind, ok := kindOf(docs[0])
	return ok && slices.Contains(kinds, kind)
}

const hintLink = "replace the link with its target"

// read reads a YAML file or the target of a link, which must be in the project.
func (c *collector) read(path string, e fs.DirEntry) (data []byte, ok bool) {
	target := path
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			c.leaveOut(ruleLink, path, 0, "the link leads to a directory, and links to directories are not followed")
			return nil, false
		case !manifest.IsYAML(path):
			return nil, false
		}
		if target, err = filepath.EvalSymlinks(path); err != nil {
			c.refuse(ruleLink, path, "the target of the link cannot be read: "+fsx.Cause(err).Error(), hintLink)
			return nil, false
		}
		if !fsx.IsWithin(c.root, target) {
			c.refuse(ruleLink, path, "the link leads out of the project", hintLink)
			return nil, false
		}
	}
	data, err := readFile(target)
	if err != nil {
		c.refuse(ruleFile, path, "cannot be read: "+fsx.Cause(err).Error(), "make it readable, or move it out of the directory")
		return nil, false
	}
	return data, len(data) > 0
}

// ReadFile returns the content of a regular file of the project. A link that leads out of the
// project is an error.
func (p *Project) ReadFile(path string) (data []byte, err error) {
	target, err := p.inside(path)
	if err == nil {
		data, err = readFile(target)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	}
	return data, nil
}

// inside returns the target of the links in a path. A target outside of the project is an error.
func (p *Project) inside(path string) (string, error) {
	root, err := p.realRoot()
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(path)
	if err == nil && !fsx.IsWithin(root, target) {
		err = errors.New("the link leads out of the project")
	}
	return target, err
}

func readFile(path string) (data []byte, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errors.New("not a regular file"))
	}
	return fsx.ReadFile(path, maxFile)
}

// takes reports whether a file with these documents is part of the Configuration. It warns of a file
// that is left out, and of objects in it whose kinds the Configuration can have.
func (c *collector) takes(path string, docs []manifest.Document, kinds []string) bool {
	if len(docs) == 0 {
		return false
	}
	kind, ok := kindOf(docs[0])
	if !ok || slices.Contains(kinds, kind) {
		return true
	}
	if strings.HasPrefix(kind, "xfn.dev/") {
		return false
	}
	text := fmt.Sprintf("the file is left out, because its first object is %s", describe(kind))
	for _, d := range docs[1:] {
		if lost, ok := kindOf(d); ok && slices.Contains(kinds, lost) {
			c.leaveOut(ruleLeftOut, path, d.FirstLine(), "%s, so the %s on this line is lost", text, describe(lost))
			return false
		}
	}
	c.leaveOut(ruleLeftOut, path, docs[0].FirstLine(), "%s", text)
	return false
}

// kindOf returns the apiVersion and kind of a document, and whether it is an object.
func kindOf(d manifest.Document) (string, bool) {
	var o struct{ APIVersion, Kind string }
	if err := d.Decode(&o); err != nil {
		return "", false
	}
	return o.APIVersion + " " + o.Kind, true
}

// describe describes an apiVersion and kind in a sentence.
func describe(kind string) string {
	apiVersion, name, _ := strings.Cut(kind, " ")
	switch {
	case name == "" && apiVersion == "":
		return "not a Kubernetes object"
	case name == "":
		return "an object of " + apiVersion + " without a kind"
	default:
		return fmt.Sprintf("%s of %s", name, cmp.Or(apiVersion, "no apiVersion"))
	}
}
