package python

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

type tools struct {
	Hatch struct {
		Version struct {
			Path, Source string
			// Pattern is a regular expression with the group "version".
			Pattern any
		}
		Build hatchBuild
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
		DataFiles          any            `toml:"data-files"`
		ScriptFiles        any            `toml:"script-files"`
		Dynamic            struct {
			Version struct {
				Attr string
				File any
			}
		}
	}
	Flit struct {
		Module       struct{ Name string }
		ExternalData any `toml:"external-data"`
	}
	Poetry poetry
	UV     struct {
		Backend struct {
			ModuleName    any     `toml:"module-name"`
			ModuleRoot    *string `toml:"module-root"`
			Data          any
			SourceExclude []string `toml:"source-exclude"`
			WheelExclude  []string `toml:"wheel-exclude"`
		} `toml:"build-backend"`
	}
}

// A sourceRoot is a folder or file of a project that becomes part of the package.
type sourceRoot struct {
	from string // its path in the project
	to   string // its path in site-packages
	// rename returns the path in site-packages of a file of the project. Nil uses to.
	rename func(file string) string
	// include are patterns, in the syntax of .gitignore, of the files that the package has.
	// Nil means all.
	include []string
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
		if in.Tool.Flit.ExternalData != nil {
			return nil, needsBackend("flit", "the wheel has external data")
		}
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

func (in *pyproject) uv(dir string) ([]sourceRoot, error) {
	b := in.Tool.UV.Backend
	if b.Data != nil {
		return nil, needsBackend("uv_build", "the wheel has data")
	}
	root := "src"
	if b.ModuleRoot != nil {
		root = *b.ModuleRoot
	}
	names, err := textsOf("module-name", b.ModuleName)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = []string{""}
	}
	var exclude []string
	for _, pattern := range slices.Concat(b.SourceExclude, b.WheelExclude) {
		if !strings.HasPrefix(pattern, "/") {
			pattern = "**/" + pattern // unlike in .gitignore, only a leading slash anchors a pattern
		}
		exclude = append(exclude, pattern)
	}
	var all []sourceRoot
	for _, name := range names {
		roots, err := in.module(dir, name, path.Clean(root))
		if err != nil {
			return nil, err
		}
		if len(roots) == 0 && name != "" {
			return nil, fmt.Errorf("module %q of tool.uv.build-backend does not exist", name)
		}
		for _, r := range roots {
			r.exclude = exclude
			all = append(all, r)
		}
	}
	return all, nil
}

// textsOf returns the strings of a TOML value that is a string, a list of strings, or nil.
func textsOf(key string, value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	default:
		return stringsOf(key, value)
	}
}

// module returns the folder or file of a module in the first of the folders that has it. The
// default name is the name of the project.
func (in *pyproject) module(dir, name string, folders ...string) ([]sourceRoot, error) {
	names := []string{strings.ReplaceAll(name, ".", "/")}
	if name == "" {
		names = []string{strings.ReplaceAll(in.Project.Name, "-", "_"), strings.ReplaceAll(resolve.Normalize(in.Project.Name), "-", "_")}
	}
	for _, folder := range folders {
		for _, name := range names {
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
	}
	return nil, nil
}
