package python

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/proc"
)

var (
	scriptReference = proc.Regexp(`^([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_][\w.]*)$`)
	scriptName      = proc.Regexp(`^[\w][\w.+-]*$`)
)

// script returns the program bin/name in site-packages, which calls an object of Python.
// object is a reference, "module:function".
func script(l Layout, name, object string) (File, error) {
	m := scriptReference().FindStringSubmatch(strings.TrimSpace(object))
	if m == nil {
		return File{}, fmt.Errorf("script %q calls %q, expected module:function", name, object)
	}
	if !scriptName().MatchString(name) {
		return File{}, fmt.Errorf("script %q has a name that is not a file name", name)
	}
	first, _, _ := strings.Cut(m[2], ".")
	text := fmt.Sprintf("#!%s\nimport sys\n\nfrom %s import %s\n\nif __name__ == \"__main__\":\n    sys.exit(%s())\n", l.Interpreter, m[1], first, m[2])
	return NewFile(path.Join(l.Site, "bin", name), 0o755, []byte(text)), nil
}

// checkSource returns an error if a module in the package of the program that runs the function has a
// syntax error, or if the program calls a module that its package does not have. The second check
// leaves out namespace packages, which other wheels can extend.
func (b *builder) checkSource() error {
	object := b.project.scripts[b.project.entry()]
	m := scriptReference().FindStringSubmatch(strings.TrimSpace(object))
	if m == nil {
		return nil // The build reports it.
	}
	files, err := b.installSource(Layout{}, &FileSet{})
	if err != nil {
		return err
	}
	top, _, _ := strings.Cut(m[1], ".")
	if err := checkModules(b.project.dir, files, top); err != nil {
		return err
	}
	closed, want := false, strings.ReplaceAll(m[1], ".", "/")
	var modules []string
	for _, f := range files {
		if strings.HasPrefix(f.Path, want+"/") || strings.HasPrefix(f.Path, want+".") {
			return nil
		}
		closed = closed || f.Path == top+"/__init__.py"
		if module, ok := strings.CutSuffix(f.Path, ".py"); ok {
			modules = append(modules, strings.ReplaceAll(module, "/", "."))
		}
	}
	if !closed {
		return nil
	}
	text, _ := fsx.ReadFile(filepath.Join(b.project.dir, projectFile), maxText) // Without it, the error has no line.
	err = fmt.Errorf("the script %s calls %q, but the package has no %s.py", b.project.entry(), object, want)
	err = language.ErrorAt(filepath.Join(b.project.dir, projectFile), string(text), object, err)
	return hint.Wrap(err, hint.Meant("", hint.Nearest(m[1], modules)))
}

// scripts returns the programs of the sections console_scripts and gui_scripts in
// entry_points.txt.
func (w *wheel) scripts() ([]File, error) {
	if _, ok := w.digests[w.info+"/entry_points.txt"]; !ok {
		return nil, nil
	}
	text, err := w.read("entry_points.txt")
	if err != nil {
		return nil, err
	}
	var all []File
	var section string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
		}
		name, object, ok := strings.Cut(line, "=")
		if !ok || line[0] == '#' || line[0] == ';' || section != "console_scripts" && section != "gui_scripts" {
			continue
		}
		object, _, _ = strings.Cut(object, "[") // extras
		f, err := script(w.layout, strings.TrimSpace(name), object)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
