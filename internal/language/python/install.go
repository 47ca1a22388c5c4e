package python

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

// Limits of the source of one project.
const (
	maxSourceFiles = 1 << 17
	maxSourceBytes = 256 << 20
)

// install returns the files of a project as if its wheel were built and installed.
func (p *project) install(l Layout) (all []File, err error) {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	c := &collector{root: root.FS(), site: l.Site, from: map[string]string{}}
	for _, r := range p.roots {
		switch err := c.add(r); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, p.missing(c.root, r.from)
		case err != nil:
			return nil, fmt.Errorf("reading package %q: %w", r.to, err)
		}
	}
	info := strings.ReplaceAll(p.name, "-", "_") + "-" + p.version + ".dist-info"
	for name, text := range map[string]string{"METADATA": p.metadata(), "WHEEL": "Wheel-Version: 1.0\nGenerator: xfn\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "entry_points.txt": p.entryPoints()} {
		c.files = append(c.files, NewFile(path.Join(l.Site, info, name), 0o644, []byte(text)))
	}
	for _, name := range slices.Sorted(maps.Keys(p.scripts)) {
		f, err := script(l, name, p.scripts[name])
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", p.file, err)
		}
		c.files = append(c.files, f)
	}
	return withRecord(c.files, l.Site, info), nil
}

// missing returns the error for a folder or file of a package that does not exist in root, the folder
// of the project. Its line is the first one with the name in quotes.
func (p *project) missing(root fs.FS, name string) error {
	at := p.file
	text, _ := fs.ReadFile(root, projectFile)
	if i := bytes.Index(bytes.ReplaceAll(text, []byte("'"), []byte(`"`)), []byte(`"`+name+`"`)); i >= 0 {
		at = fmt.Sprintf("%s:%d", p.file, 1+bytes.Count(text[:i], []byte("\n")))
	}
	next := "correct its path, which begins in the folder of the file"
	if packages, _ := fs.Glob(root, path.Join(path.Dir(name), "*", "__init__.py")); len(packages) == 1 {
		next = "did you mean " + path.Dir(packages[0]) + "?"
	}
	return hint.Wrap(fmt.Errorf("%s: there is no package %q", at, name), next)
}

func (p *project) metadata() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", p.name, p.version)
	if len(p.requiresPython) > 0 {
		fmt.Fprintf(&b, "Requires-Python: %s\n", p.requiresPython)
	}
	for _, r := range p.required {
		fmt.Fprintf(&b, "Requires-Dist: %s", r.Text)
		if m := r.Marker.String(); m != "" {
			fmt.Fprintf(&b, " ; %s", m)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (p *project) entryPoints() string {
	var b strings.Builder
	section := func(name string, entries map[string]string) {
		fmt.Fprintf(&b, "[%s]\n", name)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			fmt.Fprintf(&b, "%s = %s\n", key, entries[key])
		}
	}
	section("console_scripts", p.scripts)
	for _, name := range slices.Sorted(maps.Keys(p.entryPointGroups)) {
		section(name, p.entryPointGroups[name])
	}
	return b.String()
}

type collector struct {
	root  fs.FS
	site  string
	files []File
	size  int64
	// from has the path in the project of each file, by its path in site-packages.
	from map[string]string
}

// left are the names of folders that no package has: folders of caches, version control
// and environments.
var left = []string{"__pycache__", ".git", ".hg", ".hatch", ".tox", ".nox", ".ruff_cache", ".pytest_cache", ".mypy_cache"}

// add reads the files of a root, without compiled code.
func (c *collector) add(r sourceRoot) error {
	exclude, keep, include := fsx.ParsePatterns(r.exclude), fsx.ParsePatterns(r.keep), fsx.ParsePatterns(r.include)
	return fs.WalkDir(c.root, r.from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
		}
		if d.IsDir() {
			if name != r.from && (r.without[name] || slices.Contains(left, d.Name()) || strings.HasPrefix(d.Name(), ".venv")) {
				return fs.SkipDir
			}
			return nil
		}
		compiled := slices.Contains([]string{".pyc", ".pyo", ".pyd"}, path.Ext(name))
		if compiled || d.Name() == ".git" || (exclude.Match(name, false) || r.include != nil && !include.Match(name, false)) && !keep.Match(name, false) {
			return nil
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%q is a link or a special file, which a package cannot have", name)
		}
		to := path.Join(r.to, name)
		if r.from != "." {
			to = path.Join(r.to, strings.TrimPrefix(name, r.from))
		}
		if r.rename != nil {
			to = r.rename(name)
		}
		if c.from[to] == name {
			return nil // two settings select it
		}
		c.from[to] = name
		return c.file(name, to)
	})
}

func (c *collector) file(name, to string) (err error) {
	if err := CheckPath(to); err != nil {
		return err
	}
	f, err := c.root.Open(name)
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var data bytes.Buffer
	n, err := io.Copy(&data, io.LimitReader(f, maxSourceBytes-c.size+1))
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
	}
	if c.size += n; c.size > maxSourceBytes || len(c.files) >= maxSourceFiles {
		return fmt.Errorf("the source has more than %d files or %d MiB", maxSourceFiles, maxSourceBytes>>20)
	}
	source := NewFile(filepath.ToSlash(path.Join(c.site, to)), 0o644, data.Bytes())
	source.Source = name
	c.files = append(c.files, source)
	return nil
}
