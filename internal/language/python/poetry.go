package python

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

type poetry struct {
	Version  string
	Packages []struct {
		Include, From, To string
		Format            any
	}
	// Include and Exclude are paths, or tables with a path and formats.
	Include, Exclude []any
	Build            any
	Dependencies     map[string]any
}

func (in *pyproject) poetry(dir string) ([]sourceRoot, error) {
	p := in.Tool.Poetry
	delete(p.Dependencies, "python")
	switch {
	case p.Build != nil:
		return nil, needsBackend("poetry-core", "the project has a build script")
	case len(p.Dependencies) > 0 && len(in.Project.Dependencies) == 0:
		return nil, needsBackend("poetry-core", "dependencies are in tool.poetry.dependencies instead of [project]")
	}
	var roots []sourceRoot
	var err error
	for _, one := range p.Packages {
		if strings.ContainsAny(one.Include, "*?[") {
			return nil, needsBackend("poetry-core", "packages are found by patterns")
		}
		if inWheel(one.Format, true) {
			roots = append(roots, sourceRoot{from: path.Join(one.From, one.Include), to: path.Join(one.To, one.Include)})
		}
	}
	if len(p.Packages) == 0 {
		if roots, err = in.module(dir, "", "", "src"); err != nil {
			return nil, err
		}
	}
	exclude, err := gitignored(dir)
	if err != nil {
		return nil, err
	}
	excluded, err := wheelPatterns(p.Exclude, true)
	if err != nil {
		return nil, err
	}
	included, err := wheelPatterns(p.Include, false)
	if err != nil {
		return nil, err
	}
	for i := range roots {
		roots[i].exclude, roots[i].keep = slices.Concat(exclude, excluded), included
	}
	if len(included) > 0 {
		roots = append(roots, sourceRoot{from: ".", to: ".", include: included})
	}
	return roots, nil
}

// wheelPatterns returns patterns, in the syntax of .gitignore, of the paths that apply to
// wheels. byDefault is true if paths without formats apply to wheels.
func wheelPatterns(values []any, byDefault bool) ([]string, error) {
	var all []string
	for _, value := range values {
		at, ok := value.(string)
		var formats any
		if table, isTable := value.(map[string]any); isTable {
			at, ok = table["path"].(string)
			formats = table["format"]
		}
		if !ok {
			return nil, fmt.Errorf("expected a path in include and exclude of tool.poetry, got %v", value)
		}
		if inWheel(formats, byDefault) {
			all = append(all, "/"+strings.TrimPrefix(at, "/"))
		}
	}
	return all, nil
}

// inWheel reports whether formats, a name or a list of names, includes wheels. byDefault is
// the result without formats.
func inWheel(formats any, byDefault bool) bool {
	names, err := textsOf("format", formats)
	if len(names) == 0 || err != nil {
		return byDefault
	}
	return slices.Contains(names, "wheel")
}
