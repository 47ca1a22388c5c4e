package python

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

// tools are the settings of build backends.
type tools struct {
	Hatch struct {
		Version struct{ Path, Source string }
		Build   hatchBuild
	}
	Setuptools struct {
		Packages   setuptoolsPackages
		PackageDir map[string]string `toml:"package-dir"`
		PyModules  []string          `toml:"py-modules"`
		ExtModules any               `toml:"ext-modules"`
		// PackageData and ExcludePackageData select files besides modules.
		PackageData        map[string]any `toml:"package-data"`
		ExcludePackageData map[string]any `toml:"exclude-package-data"`
		CmdClass           any            `toml:"cmdclass"`
		Dynamic            struct{ Version struct{ Attr, File string } }
	}
	Flit   struct{ Module struct{ Name string } }
	Poetry struct {
		Version      string
		Packages     []struct{ Include, From string }
		Build        any
		Dependencies map[string]any
	}
	UV struct {
		Backend struct {
			ModuleName any     `toml:"module-name"`
			ModuleRoot *string `toml:"module-root"`
			Data       any
		} `toml:"build-backend"`
	}
}

// A sourceRoot is a folder or file of a project that becomes part of the package.
type sourceRoot struct {
	from string // its path in the project
	to   string // its path in site-packages
	// exclude are patterns, in the syntax of .gitignore, of files that the package leaves out,
	// except those that match keep.
	exclude, keep []string
	// without are the paths of folders in from that are not part of the package.
	without map[string]bool
}

func needsBackend(backend, reason string) error {
	return hint.Wrap(fmt.Errorf("the package can only be built by running %q: %s", backend, reason), resolve.ElsewhereHint)
}

// roots returns what the build backend would put into a wheel.
func (in *pyproject) roots(dir string) ([]sourceRoot, error) {
	backend := in.BuildSystem.Backend
	if len(in.BuildSystem.Path) > 0 {
		return nil, needsBackend(backend, "the backend is in the project")
	}
	var roots []sourceRoot
	var err error
	switch backend {
	case "hatchling.build":
		roots, err = in.hatch(dir)
	case "setuptools.build_meta", "":
		roots, err = in.setuptools(dir)
	case "flit_core.buildapi":
		roots, err = in.module(dir, in.Tool.Flit.Module.Name, "", "src")
	case "poetry.core.masonry.api":
		roots, err = in.poetry(dir)
	case "uv_build":
		roots, err = in.uv(dir)
	default:
		return nil, needsBackend(backend, "known are hatchling, setuptools, flit, poetry-core and uv_build")
	}
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, needsBackend(backend, "no package with the name of the project was found")
	}
	for _, r := range roots {
		if !fs.ValidPath(r.from) || !fs.ValidPath(r.to) {
			return nil, fmt.Errorf("package %q is not a path in the project", r.from)
		}
	}
	return roots, nil
}

func (in *pyproject) poetry(dir string) ([]sourceRoot, error) {
	p := in.Tool.Poetry
	if p.Build != nil {
		return nil, needsBackend("poetry-core", "the project has a build script")
	}
	if len(p.Dependencies) > 0 {
		return nil, needsBackend("poetry-core", "dependencies are in tool.poetry.dependencies instead of [project]")
	}
	var roots []sourceRoot
	for _, one := range p.Packages {
		if strings.ContainsAny(one.Include, "*?[") {
			return nil, needsBackend("poetry-core", "packages are found by patterns")
		}
		roots = append(roots, sourceRoot{from: path.Join(one.From, one.Include), to: path.Clean(one.Include)})
	}
	if len(roots) > 0 {
		return roots, nil
	}
	return in.module(dir, "", "", "src")
}

func (in *pyproject) uv(dir string) ([]sourceRoot, error) {
	b := in.Tool.UV.Backend
	if b.Data != nil {
		return nil, needsBackend("uv_build", "the wheel has data")
	}
	root := "src"
	if b.ModuleRoot != nil {
		root = *b.ModuleRoot
	}
	name, ok := b.ModuleName.(string)
	if b.ModuleName != nil && !ok {
		return nil, needsBackend("uv_build", "the wheel has several modules")
	}
	return in.module(dir, name, path.Clean(root))
}

// module returns the folder or file of a module in the first of the folders that has it. The
// default name is that of the project.
func (in *pyproject) module(dir, name string, folders ...string) ([]sourceRoot, error) {
	if name == "" {
		name = strings.ReplaceAll(resolve.Normalize(in.Project.Name), "-", "_")
	}
	name = strings.ReplaceAll(name, ".", "/")
	for _, folder := range folders {
		for _, at := range []string{name, name + ".py"} {
			from := path.Join(folder, at)
			_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(from)))
			if err == nil {
				return []sourceRoot{{from: from, to: at}}, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return nil, nil
}

// assignment matches the version in a file of Python.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:__version__|VERSION|version)(?:\s*:\s*str)?\s*=\s*["']([^"'\n]+)["']`)
})

// version returns the version of the project, which may be in a file of Python.
func (in *pyproject) version(dir string) (string, error) {
	t := in.Tool
	file := t.Hatch.Version.Path
	if attr := t.Setuptools.Dynamic.Version.Attr; attr != "" {
		module, _, _ := cutLast(attr, ".")
		file = strings.ReplaceAll(module, ".", "/") + ".py"
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			file = strings.ReplaceAll(module, ".", "/") + "/__init__.py"
		}
	}
	switch {
	case in.Project.Version != "":
		return in.Project.Version, nil
	case t.Poetry.Version != "":
		return t.Poetry.Version, nil
	case in.BuildSystem.Backend == "flit_core.buildapi":
		roots, err := in.roots(dir)
		if err != nil {
			return "", err
		}
		if file = roots[0].from; path.Ext(file) != ".py" {
			file += "/__init__.py"
		}
	case file == "" || t.Hatch.Version.Source != "" && t.Hatch.Version.Source != "regex":
		return "", needsBackend(in.BuildSystem.Backend, "the version is dynamic, and not in a file of Python")
	}
	if !filepath.IsLocal(file) {
		return "", fmt.Errorf("the file %q with the version is outside of the project", file)
	}
	data, err := readText(filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return "", fmt.Errorf("reading the version from %q: %w", file, err)
	}
	m := assignment().FindSubmatch(data)
	if m == nil {
		return "", fmt.Errorf("expected __version__ = \"…\" in %q", file)
	}
	return string(m[1]), nil
}

// cutLast cuts a text at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
