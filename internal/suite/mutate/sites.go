package mutate

import (
	"maps"
	"slices"
	"strings"
)

// The apiVersions, without versions, of the inputs that mutants change.
const (
	patchAndTransform = "pt.fn.crossplane.io/"
	goTemplating      = "gotemplating.fn.crossplane.io/"
)

func (s *sites) composition() {
	spec, _ := s.root["spec"].(map[string]any)
	if _, ok := spec["resources"].([]any); ok { // A Composition of mode Resources.
		s.resources([]any{"spec"})
	}
	steps, _ := spec["pipeline"].([]any)
	if len(steps) > 1 {
		s.drop(dropStep, []any{"spec", "pipeline"})
	}
	for i := range steps {
		input := []any{"spec", "pipeline", i, "input"}
		apiVersion, _ := get(s.root, at(input, "apiVersion")).(string)
		switch {
		case strings.HasPrefix(apiVersion, patchAndTransform):
			s.resources(input)
		case strings.HasPrefix(apiVersion, goTemplating):
			s.templates(at(input, "inline"))
		}
	}
}

// resources adds the mutants of the input of Patch & Transform at a path.
func (s *sites) resources(path []any) {
	s.patches(at(path, "environment", "patches"))
	for i := range s.list(at(path, "patchSets")) {
		s.patches(at(path, "patchSets", i, "patches"))
	}
	resources := at(path, "resources")
	// A Composition of mode Resources must have a resource.
	if legacy := len(path) == 1; !legacy || len(s.list(resources)) > 1 {
		s.drop(dropResource, resources)
	}
	for i := range s.list(resources) {
		one := at(resources, i)
		s.constants(at(one, "base"), 0)
		s.patches(at(one, "patches"))
		s.drop(dropDetail, at(one, "connectionDetails"))
		s.checks(at(one, "readinessChecks"))
	}
}

func (s *sites) list(path []any) []any {
	list, _ := get(s.root, path).([]any)
	return list
}

// constants adds a mutant for each constant below a path, except those that identify the
// object: another apiVersion or kind is another resource.
func (s *sites) constants(path []any, depth int) {
	switch v := get(s.root, path).(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if depth > 0 || key != "apiVersion" && key != "kind" {
				s.constants(at(path, key), depth+1)
			}
		}
	case []any:
		for i := range v {
			s.constants(at(path, i), depth+1)
		}
	default:
		s.change(changeBase, path)
	}
}

func (s *sites) patches(path []any) {
	s.drop(dropPatch, path)
	before := -1 // the index of the last patch with a source
	for i := range s.list(path) {
		one := at(path, i)
		if source, ok := get(s.root, at(one, "fromFieldPath")).(string); ok {
			if before >= 0 {
				s.swap(at(path, before, "fromFieldPath"), at(one, "fromFieldPath"), source)
			}
			before = i
			s.policy(one)
		}
		s.change(changeText, at(one, "combine", "string", "fmt"))
		s.transforms(at(one, "transforms"))
	}
}

// swap adds a mutant with the sources of two patches swapped, unless they are equal.
func (s *sites) swap(first, second []any, source string) {
	if was := get(s.root, first); was != source {
		s.add(swapPaths, first, source, edit{second, was})
	}
}

func (s *sites) policy(patch []any) {
	is := "Required"
	if get(s.root, at(patch, "policy", "fromFieldPath")) == is {
		is = "Optional"
	}
	policy, _ := get(s.root, at(patch, "policy")).(map[string]any)
	changed := maps.Clone(policy)
	if changed == nil {
		changed = map[string]any{}
	}
	changed["fromFieldPath"] = is
	s.add(changePolicy, at(patch, "policy"), changed)
}

func (s *sites) transforms(path []any) {
	s.drop(dropTransform, path)
	for i := range s.list(path) {
		one := at(path, i)
		values, _ := get(s.root, at(one, "map")).(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			s.change(changeMap, at(one, "map", key))
		}
		for j := range s.list(at(one, "match", "patterns")) {
			s.change(changeMatch, at(one, "match", "patterns", j, "result"))
		}
		s.change(changeMatch, at(one, "match", "fallbackValue"))
		for _, field := range []string{"multiply", "clampMin", "clampMax"} {
			s.change(changeMath, at(one, "math", field))
		}
		for _, field := range [][]any{{"fmt"}, {"trim"}, {"regexp", "match"}, {"join", "separator"}, {"replace", "search"}, {"replace", "replace"}} {
			s.change(changeText, at(one, append([]any{"string"}, field...)...))
		}
	}
}

func (s *sites) checks(path []any) {
	s.drop(dropCheck, path)
	for i := range s.list(path) {
		one := at(path, i)
		switch get(s.root, at(one, "type")) {
		case "MatchTrue":
			s.add(changeCheck, at(one, "type"), "MatchFalse")
		case "MatchFalse":
			s.add(changeCheck, at(one, "type"), "MatchTrue")
		}
		for _, field := range [][]any{{"matchString"}, {"matchInteger"}, {"matchCondition", "type"}, {"matchCondition", "status"}} {
			s.change(changeCheck, at(one, field...))
		}
	}
}
