package suite

import (
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
)

// The apiVersions, without versions, of the inputs that mutants change.
const (
	patchAndTransform = "pt.fn.crossplane.io/"
	goTemplating      = "gotemplating.fn.crossplane.io/"
)

func (s *mutantMaker) composition() {
	spec := pathTo(nil, "spec")
	if s.list(pathTo(spec, "resources")) != nil { // A Composition of mode Resources.
		s.resources(spec)
	}
	pipeline := pathTo(spec, "pipeline")
	steps := s.list(pipeline)
	if len(steps) > 1 {
		s.drop(dropStep, pipeline)
	}
	for i := range steps {
		input := pathTo(pipeline, i, "input")
		apiVersion, _ := valueAt(s.root, pathTo(input, "apiVersion")).(string)
		switch {
		case strings.HasPrefix(apiVersion, patchAndTransform):
			s.resources(input)
		case strings.HasPrefix(apiVersion, goTemplating):
			s.template(pathTo(input, "inline", "template"))
			for i := range s.list(pathTo(input, "inline", "templates")) {
				s.template(pathTo(input, "inline", "templates", i))
			}
		}
	}
}

// resources adds the mutants of the input of Patch & Transform at a path.
func (s *mutantMaker) resources(path fieldpath.Path) {
	s.patches(pathTo(path, "environment", "patches"))
	for i := range s.list(pathTo(path, "patchSets")) {
		s.patches(pathTo(path, "patchSets", i, "patches"))
	}
	resources := pathTo(path, "resources")
	// A Composition of mode Resources must have a resource.
	if legacy := len(path) == 1; !legacy || len(s.list(resources)) > 1 {
		s.drop(dropResource, resources)
	}
	for i := range s.list(resources) {
		one := pathTo(resources, i)
		s.constants(pathTo(one, "base"), 0)
		s.patches(pathTo(one, "patches"))
		s.drop(dropDetail, pathTo(one, "connectionDetails"))
		s.checks(pathTo(one, "readinessChecks"))
	}
}

func (s *mutantMaker) list(path fieldpath.Path) []any { return fieldpath.List(valueAt(s.root, path)) }

// constants adds a mutant for each constant below a path, except apiVersion and kind,
// because they identify the object.
func (s *mutantMaker) constants(path fieldpath.Path, depth int) {
	switch v := valueAt(s.root, path).(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if depth > 0 || key != "apiVersion" && key != "kind" {
				s.constants(pathTo(path, key), depth+1)
			}
		}
	case []any:
		for i := range v {
			s.constants(pathTo(path, i), depth+1)
		}
	default:
		s.change(changeBase, path)
	}
}

func (s *mutantMaker) patches(path fieldpath.Path) {
	s.drop(dropPatch, path)
	before := -1 // the index of the last patch with a source
	for i := range s.list(path) {
		one := pathTo(path, i)
		if source, ok := valueAt(s.root, pathTo(one, "fromFieldPath")).(string); ok {
			if first := pathTo(path, before, "fromFieldPath"); before >= 0 && valueAt(s.root, first) != source {
				s.add(swapPaths, first, source, mutantEdit{pathTo(one, "fromFieldPath"), valueAt(s.root, first)})
			}
			before = i
			s.policy(one)
		}
		s.change(changeText, pathTo(one, "combine", "string", "fmt"))
		s.transforms(pathTo(one, "transforms"))
	}
}

func (s *mutantMaker) policy(patch fieldpath.Path) {
	is := "Required"
	if valueAt(s.root, pathTo(patch, "policy", "fromFieldPath")) == is {
		is = "Optional"
	}
	policy := pathTo(patch, "policy")
	s.add(changePolicy, policy, fieldpath.MergePatch(valueAt(s.root, policy), map[string]any{"fromFieldPath": is}))
}

func (s *mutantMaker) transforms(path fieldpath.Path) {
	s.drop(dropTransform, path)
	for i := range s.list(path) {
		one := pathTo(path, i)
		for _, key := range slices.Sorted(maps.Keys(fieldpath.Map(valueAt(s.root, pathTo(one, "map"))))) {
			s.change(changeMap, pathTo(one, "map", key))
		}
		for j := range s.list(pathTo(one, "match", "patterns")) {
			s.change(changeMatch, pathTo(one, "match", "patterns", j, "result"))
		}
		s.change(changeMatch, pathTo(one, "match", "fallbackValue"))
		for _, field := range []string{"multiply", "clampMin", "clampMax"} {
			s.change(changeMath, pathTo(one, "math", field))
		}
		for _, field := range [][]any{{"fmt"}, {"trim"}, {"regexp", "match"}, {"join", "separator"}, {"replace", "search"}, {"replace", "replace"}} {
			s.change(changeText, pathTo(one, append([]any{"string"}, field...)...))
		}
	}
}

func (s *mutantMaker) checks(path fieldpath.Path) {
	s.drop(dropCheck, path)
	for i := range s.list(path) {
		one := pathTo(path, i)
		switch valueAt(s.root, pathTo(one, "type")) {
		case "MatchTrue":
			s.add(changeCheck, pathTo(one, "type"), "MatchFalse")
		case "MatchFalse":
			s.add(changeCheck, pathTo(one, "type"), "MatchTrue")
		}
		for _, field := range [][]any{{"matchString"}, {"matchInteger"}, {"matchCondition", "type"}, {"matchCondition", "status"}} {
			s.change(changeCheck, pathTo(one, field...))
		}
	}
}

// These match an if in a template, with its condition, and a line of YAML outside of actions
// that ends with a constant, with the constant. Delimiters other than {{ and }} are not found.
var (
	ifCondition  = proc.Regexp(`\{\{-?\s*(?:else\s+)?if\s+([^{}]+?)\s*-?\}\}`)
	lineConstant = proc.Regexp(`(?m)^\s*(?:- )?(?:[\w.$/-]+: +)?("[^"{}]*"|'[^'{}]*'|[\w./-]+)\s*$`)
	identityLine = proc.Regexp(`(?m)^\s*(?:- )?(?:apiVersion|kind):|^---\s*$`)
)

func (s *mutantMaker) template(path fieldpath.Path) {
	text, ok := valueAt(s.root, path).(string)
	if !ok {
		return
	}
	for _, m := range ifCondition().FindAllStringSubmatchIndex(text, -1) {
		s.text(negateBranch, path, text, m[2], m[3], "not ("+text[m[2]:m[3]]+")")
	}
	for _, m := range lineConstant().FindAllStringSubmatchIndex(text, -1) {
		if identityLine().MatchString(text[m[0]:m[1]]) {
			continue
		}
		s.text(changeLiteral, path, text, m[2], m[3], otherText(text[m[2]:m[3]]))
	}
}

// otherText returns a constant in YAML that differs from text and has its type.
func otherText(text string) string {
	last := text[len(text)-1]
	switch {
	case text == "true":
		return "false"
	case text == "false":
		return "true"
	case last == '"' || last == '\'':
		return text[:len(text)-1] + "-mutant" + string(last)
	case isNumber().MatchString(text):
		return text + "1"
	default:
		return text + "-mutant"
	}
}

var isNumber = proc.Regexp(`^-?[0-9]+(\.[0-9]+)?$`)

// text adds a mutant with another text between two offsets of a template.
func (s *mutantMaker) text(o Operator, path fieldpath.Path, template string, from, to int, is string) {
	s.add(o, path, template[:from]+is+template[to:])
	m := &s.mutants[len(s.mutants)-1]
	m.Line = s.lines.OfText(m.Field, 1+strings.Count(template[:from], "\n"))
	m.Was, m.Is = template[from:to], is
}
