package python

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// assignment matches the version in a file of Python.
var assignment = proc.Regexp(`(?m)^(?:__version__|VERSION|version)(?:\s*:\s*str)?\s*=\s*["'](?P<version>[^"'\n]+)["']`)

func (in *pyproject) version(dir string) (string, error) {
	t, pattern := in.Tool, assignment()
	switch {
	case in.Project.Version != "":
		return in.Project.Version, nil
	case t.Poetry.Version != "":
		return t.Poetry.Version, nil
	}
	files, err := in.versionFiles(dir)
	if err != nil {
		return "", err
	}
	if text, ok := t.Hatch.Version.Pattern.(string); ok && in.BuildSystem.Backend == "hatchling.build" {
		if pattern, err = regexp.Compile("(?m)" + text); err != nil || pattern.SubexpIndex("version") < 0 {
			return "", needsBackend(in.BuildSystem.Backend, "the pattern of the version is an expression of Python")
		}
	}
	if t.Setuptools.Dynamic.Version.File != nil {
		pattern = regexp.MustCompile(`^\s*(?P<version>\S+)\s*$`)
	}
	for _, file := range files {
		if !filepath.IsLocal(file) {
			return "", fmt.Errorf("the file %q with the version is outside of the project", file)
		}
		data, err := fsx.ReadFile(filepath.Join(dir, filepath.FromSlash(file)), maxText)
		if err != nil {
			return "", fmt.Errorf("reading the version from %q: %w", file, err)
		}
		if m := pattern.FindSubmatch(data); m != nil {
			return string(m[pattern.SubexpIndex("version")]), nil
		}
	}
	return "", fmt.Errorf("expected __version__ = \"…\" in %q", strings.Join(files, ", "))
}

// versionFiles returns the paths of the files that may have the version, of which at least
// one exists.
func (in *pyproject) versionFiles(dir string) ([]string, error) {
	t := in.Tool
	var candidates []string
	switch dynamic := t.Setuptools.Dynamic.Version; {
	case in.BuildSystem.Backend == "flit_core.buildapi":
		roots, err := in.roots(dir)
		if err != nil {
			return nil, err
		}
		if candidates = []string{roots[0].from}; path.Ext(roots[0].from) != ".py" {
			candidates = nil
			for _, name := range []string{"__init__.py", "version.py", "_version.py", "__version__.py"} {
				candidates = append(candidates, path.Join(roots[0].from, name))
			}
		}
	case dynamic.Attr != "":
		module := strings.TrimSuffix(dynamic.Attr, path.Ext(dynamic.Attr))
		for _, folder := range []string{t.Setuptools.PackageDir[""], "", "src"} {
			at := path.Join(folder, strings.ReplaceAll(module, ".", "/"))
			candidates = append(candidates, at+".py", at+"/__init__.py")
		}
	case dynamic.File != nil:
		return textsOf("file", dynamic.File)
	case t.Hatch.Version.Path != "" && (t.Hatch.Version.Source == "" || t.Hatch.Version.Source == "regex"):
		return []string{t.Hatch.Version.Path}, nil
	default:
		return nil, needsBackend(in.BuildSystem.Backend, "the version is dynamic, and not in a file")
	}
	var files []string
	for _, name := range candidates {
		if isFile(dir, name) {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("found no file with the version, such as %q", candidates[0])
	}
	return files, nil
}
