package gotemplating

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/hint"
)

var (
	// metaKinds are the kinds of documents of the function's own API, and missingKeys the options
	// of text/template.
	metaKinds   = []string{"ClaimConditions", "CompositeConnectionDetails", "Context", "ExtraResources"}
	missingKeys = []string{"missingkey=default", "missingkey=error", "missingkey=invalid", "missingkey=zero"}

	otherMetaKind = pattern(`^invalid kind "(.*?)" for apiVersion "` + regexp.QuoteMeta(metaAPIVersion) + `"`)
)

const unknownOption = "cannot apply template options: panic occurred while applying template options: unrecognized option: "

// notDefined matches a message about a function that no template has.
var notDefined = pattern(`: function "([^"]+)" not defined$`)

// Advice returns the hint for a fatal result of the function for an input in JSON, or "" if there is
// none.
func Advice(fatal string, input []byte) string {
	if option, ok := strings.CutPrefix(fatal, unknownOption); ok {
		return hint.MeantOf(option, missingKeys)
	}
	if m := otherMetaKind().FindStringSubmatch(fatal); m != nil {
		return hint.MeantOf(m[1], metaKinds)
	}
	for _, c := range corrections() {
		if m := c.message.FindStringSubmatchIndex(fatal); m != nil {
			return string(c.message.ExpandString(nil, c.hint, fatal, m))
		}
	}
	if m := notDefined().FindStringSubmatch(fatal); m != nil && len(m[1]) > 4 { // shorter names are similar to many
		names := maps.Clone(known())
		maps.Copy(names, (&execution{unreleased: true}).functions())
		return string(hint.Meant("", hint.Nearest(m[1], slices.Sorted(maps.Keys(names)))))
	}
	in := &GoTemplate{}
	if !strings.HasPrefix(fatal, "cannot decode manifest") || json.Unmarshal(input, in) != nil {
		return ""
	}
	return in.adviceForOutput()
}

// block matches what begins or ends a block or a comment after the left delimiter of an action.
var block = pattern(`^(?:- )?\s*(/\*|if\b|range\b|with\b|define\b|block\b|end\b)\s*("[^"\n]*")?`)

// pattern returns a func that compiles a regular expression once.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// An openBlock is a block of a template that has no end. line is counted from 1. name is the name
// of a defined template, in quotes, or "".
type openBlock struct {
	keyword, name string
	line          int
}

// openBlocks returns the blocks of a template that have no end, in order.
func openBlocks(text, left string) (open []openBlock) {
	line := 1
	for {
		before, after, found := strings.Cut(text, left)
		if !found {
			break
		}
		line += strings.Count(before, "\n")
		text = after
		m := block().FindStringSubmatch(text)
		switch {
		case m == nil:
		case m[1] == "/*":
			comment, rest, _ := strings.Cut(text, "*/")
			line, text = line+strings.Count(comment, "\n"), rest
		case m[1] != "end":
			open = append(open, openBlock{m[1], m[2], line})
		case len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	return open
}

// undefined matches the error for an unknown variable.
var undefined = pattern(`: undefined variable "(\$\w+)"$`)

// whyUndefined explains the error for an unknown variable in a line of a template, or returns "".
func whyUndefined(fatal, text string, line int, left string) string {
	m := undefined().FindStringSubmatch(fatal)
	lines := strings.SplitAfter(text, "\n")
	if m == nil || line > len(lines) {
		return ""
	}
	if strings.Contains(lines[line-1], "range "+m[1]+" in ") {
		return "where range has in: write range " + m[1] + " := LIST"
	}
	for _, b := range openBlocks(strings.Join(lines[:line-1], ""), left) {
		if b.keyword == "define" {
			return "where define " + b.name + " has no end yet, and a defined template has no variables of others: add the end before, or pass the value to the template"
		}
	}
	return ""
}
