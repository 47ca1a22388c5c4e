package python

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// setuptoolsPackages is tool.setuptools.packages: names, or how to find them.
type setuptoolsPackages struct {
	names []string
	find  *finder
}

func (p *setuptoolsPackages) UnmarshalTOML(value any) (err error) {
	if table, ok := value.(map[string]any); ok {
		find, ok := table["find"].(map[string]any)
		if !ok || len(table) > 1 {
			return errors.New("expected a list of packages, or tool.setuptools.packages.find")
		}
		p.find, err = newFinder(find)
		return err
	}
	p.names, err = stringsOf("packages", value)
	return err
}

// stringsOf returns the strings of a list in TOML.
func stringsOf(key string, value any) ([]string, error) {
	list, ok := value.([]any)
	all := make([]string, len(list))
	for i, v := range list {
		if s, isString := v.(string); isString {
			all[i] = s
		} else {
			ok = false
		}
	}
	if !ok {
		return nil, fmt.Errorf("expected a list of strings as %s", key)
	}
	return all, nil
}

// A finder finds the packages of a project, as tool.setuptools.packages.find does
// (setuptools/discovery.py).
type finder struct {
	where []string
	// include and exclude are patterns of the names of packages, such as "a.b". In a pattern,
	// "*" stands for any text.
	include, exclude []string
	// namespaces selects folders without __init__.py, too.
	namespaces bool
}

func newFinder(table map[string]any) (*finder, error) {
	f := &finder{where: []string{"."}, include: []string{"*"}, namespaces: true}
	for key, value := range table {
		var err error
		var ok bool
		switch key {
		case "where":
			f.where, err = stringsOf(key, value)
		case "include":
			f.include, err = stringsOf(key, value)
		case "exclude":
			f.exclude, err = stringsOf(key, value)
		case "namespaces":
			if f.namespaces, ok = value.(bool); !ok {
				err = fmt.Errorf("expected true or false as %s", key)
			}
		default:
			err = fmt.Errorf("unknown key %q", key)
		}
		if err != nil {
			return nil, fmt.Errorf("tool.setuptools.packages.find: %w", err)
		}
	}
	return f, nil
}

func (f *finder) roots(dir string) ([]sourceRoot, error) {
	include, err := globs(f.include)
	if err != nil {
		return nil, err
	}
	exclude, err := globs(append([]string{"ez_setup", "*__pycache__"}, f.exclude...))
	if err != nil {
		return nil, err
	}
	project, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	defer project.Close()
	var all []sourceRoot
	for _, where := range f.where {
		where = path.Clean(where)
		if !fs.ValidPath(where) {
			return nil, fmt.Errorf("package folder %q is not a path in the project", where)
		}
		packages := map[string]bool{} // the paths of all folders that are packages, selected or not
		err := fs.WalkDir(project.FS(), where, func(at string, d fs.DirEntry, err error) error {
			if err != nil {
				return fmt.Errorf("finding packages in %q: %w", where, fsx.Cause(err))
			}
			if info, err := project.Stat(filepath.FromSlash(at)); d.Type()&fs.ModeSymlink != 0 && (err != nil || info.IsDir()) {
				return fmt.Errorf("%q is a link or a special file, which a package cannot have", at)
			}
			if at == where || !d.IsDir() {
				return nil
			}
			if strings.Contains(d.Name(), ".") || !f.namespaces && !isFile(dir, path.Join(at, "__init__.py")) {
				return fs.SkipDir
			}
			to := strings.TrimPrefix(at, strings.TrimPrefix(where+"/", "./"))
			name := strings.ReplaceAll(to, "/", ".")
			packages[at] = true
			if include.MatchString(name) && !exclude.MatchString(name) {
				all = append(all, sourceRoot{from: at, to: to, without: packages})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func isFile(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}

// globs returns an expression for the names that match one of the patterns (fnmatch of
// Python).
func globs(patterns []string) (*regexp.Regexp, error) {
	all := make([]string, len(patterns))
	for i, p := range patterns {
		if strings.Contains(p, "[") {
			return nil, needsBackend("setuptools", fmt.Sprintf("the pattern %q has a set of characters", p))
		}
		all[i] = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(p))
	}
	return regexp.Compile("^(?:" + strings.Join(all, "|") + ")$")
}

// onlySetup matches a setup.py that leaves everything to pyproject.toml, and options a
// setup.cfg that does not.
var (
	onlySetup = proc.Regexp(`^(?:\s|#[^\n]*\n)*(?:import setuptools|from setuptools import setup)\s+(?:if __name__ == ["']__main__["']:\s+)?(?:setuptools\.)?setup\(\)\s*$`)
	options   = proc.Regexp(`(?m)^\[(?:metadata|options|build_ext|bdist_wheel)\b`)
)

func (in *pyproject) setuptools(dir string) ([]sourceRoot, error) {
	s := in.Tool.Setuptools
	for file, builds := range map[string]func([]byte) bool{
		"setup.py":  func(text []byte) bool { return !onlySetup().Match(text) },
		"setup.cfg": options().Match,
	} {
		if text, err := fsx.ReadFile(filepath.Join(dir, file), maxText); err == nil && builds(text) {
			return nil, needsBackend("setuptools", "the project has the file "+file)
		}
	}
	switch {
	case s.ExtModules != nil || s.CmdClass != nil:
		return nil, needsBackend("setuptools", "the project has compiled modules or commands")
	case s.DataFiles != nil || s.ScriptFiles != nil:
		return nil, needsBackend("setuptools", "the project has data-files or script-files")
	}
	var roots []sourceRoot
	for _, m := range s.PyModules {
		roots = append(roots, sourceRoot{from: path.Join(s.PackageDir[""], m+".py"), to: m + ".py"})
	}
	if find := s.Packages.find; find != nil {
		if len(s.PackageData)+len(s.ExcludePackageData) > 0 {
			return nil, needsBackend("setuptools", "the project has packages.find and package-data; list the packages in tool.setuptools.packages")
		}
		found, err := find.roots(dir)
		return append(roots, found...), err
	}
	for _, name := range s.Packages.names {
		above := func(other string) bool { return strings.HasPrefix(name, other+".") }
		if _, elsewhere := s.PackageDir[name]; !elsewhere && slices.ContainsFunc(s.Packages.names, above) {
			continue // part of its parent, whose whole folder is installed
		}
		roots = append(roots, sourceRoot{from: in.folderOf(name), to: strings.ReplaceAll(name, ".", "/")})
	}
	if len(roots) > 0 {
		return roots, nil
	}
	if roots, err := in.sourceLayout(dir); err != nil || len(roots) > 0 {
		return roots, err
	}
	if roots, err := in.module(dir, "", ""); err != nil || len(roots) > 0 {
		return roots, err
	}
	return in.onlyPackage(dir)
}

// folderOf returns the folder of a package: the folder in tool.setuptools.package-dir, or
// a folder in the folder of its parent (build_py.get_package_dir of setuptools).
func (in *pyproject) folderOf(name string) string {
	below := ""
	for at := name; at != ""; {
		if dir, ok := in.Tool.Setuptools.PackageDir[at]; ok {
			return path.Join(dir, below)
		}
		i := strings.LastIndex(at, ".")
		at, below = at[:max(i, 0)], path.Join(at[i+1:], below)
	}
	return path.Join(in.Tool.Setuptools.PackageDir[""], below)
}

// sourceLayout returns all packages and modules in the folder src, or in the folder
// that tool.setuptools.package-dir names instead, if the project has it.
func (in *pyproject) sourceLayout(dir string) ([]sourceRoot, error) {
	src := path.Clean(cmp.Or(in.Tool.Setuptools.PackageDir[""], "src"))
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(src)))
	if err != nil {
		return nil, nil // The project has no such folder.
	}
	f := finder{where: []string{src}, include: []string{"*"}, namespaces: true}
	all, err := f.roots(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".py") {
			all = append(all, sourceRoot{from: path.Join(src, e.Name()), to: e.Name()})
		}
	}
	return all, err
}

// onlyPackage returns the folder with code if the project has exactly one such folder.
// Folders that setuptools ignores do not count.
func (in *pyproject) onlyPackage(dir string) ([]sourceRoot, error) {
	found, err := fsx.Glob(dir, "*/__init__.py")
	if err != nil {
		return nil, err
	}
	var roots []sourceRoot
	for _, file := range found {
		name := filepath.Base(filepath.Dir(file))
		if !slices.Contains([]string{"test", "tests", "docs", "doc", "examples", "example", "tools", "build", "dist", "scripts"}, name) {
			roots = append(roots, sourceRoot{from: name, to: name})
		}
	}
	if len(roots) > 1 {
		return nil, needsBackend("setuptools", "the project has several packages; list them in tool.setuptools.packages")
	}
	return roots, nil
}
