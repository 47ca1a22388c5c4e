package suite

import (
	"regexp"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// These match an if in a template, with its condition, and a line of YAML outside of actions
// that ends with a constant, with the constant. Delimiters other than {{ and }} are not found.
var (
	ifCondition = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\{\{-?\s*(?:else\s+)?if\s+([^{}]+?)\s*-?\}\}`)
	})
	lineConstant = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*(?:- )?(?:[\w.$/-]+: +)?("[^"{}]*"|'[^'{}]*'|[\w./-]+)\s*$`)
	})
	identityLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*(?:- )?(?:apiVersion|kind):|^---\s*$`)
	})
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

var isNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`) })

// text adds a mutant with another text between two offsets of a template.
func (s *mutantMaker) text(o Operator, path fieldpath.Path, template string, from, to int, is string) {
	s.add(o, path, template[:from]+is+template[to:])
	m := &s.mutants[len(s.mutants)-1]
	m.Line = s.lines.OfText(m.Field, 1+strings.Count(template[:from], "\n"))
	m.Was, m.Is = template[from:to], is
}
