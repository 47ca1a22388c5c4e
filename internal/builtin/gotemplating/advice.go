package gotemplating

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

var (
	// metaKinds are the kinds of documents of the function's own API, and missingKeys the options
	// of text/template.
	metaKinds   = []string{"ClaimConditions", "CompositeConnectionDetails", "Context", "ExtraResources"}
	missingKeys = []string{"missingkey=default", "missingkey=error", "missingkey=invalid", "missingkey=zero"}

	otherMetaKind = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^invalid kind "(.*?)" for apiVersion "` + regexp.QuoteMeta(metaAPIVersion) + `"`)
	})
)

const unknownOption = "cannot apply template options: panic occurred while applying template options: unrecognized option: "

// notDefined matches a message about a function that no template has.
var notDefined = proc.Regexp(`: function "([^"]+)" not defined$`)

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
var block = proc.Regexp(`^(?:- )?\s*(/\*|if\b|range\b|with\b|define\b|block\b|end\b)\s*("[^"\n]*")?`)

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
var undefined = proc.Regexp(`: undefined variable "(\$\w+)"$`)

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

// A correction is the hint for messages of text/template, in the syntax of regexp.Regexp.Expand.
type correction struct {
	message *regexp.Regexp
	hint    string
}

const (
	composite = "the composite resource is .observed.composite.resource"
	// otherDot explains that . has a value of another type than the request.
	otherDot = "here . is not the request: within range and with, $$ is it, as in $$.observed.composite.resource"
	// noSuchValue explains an expression that reads a field of a missing value.
	noSuchValue   = "a value in <$1> does not exist: "
	functionFirst = "write the function before its values: "
)

// corrections returns the hints for mistakes of users who know other languages. The first that
// matches applies.
var corrections = sync.OnceValue(func() (all []correction) {
	for _, c := range [][2]string{
		{`unexpected "[(,]" in operand$`, `put only spaces between a function and its values: default "x", not default("x")`},
		{`bad character U\+002D '-'$`, `write a field with - in its name as index .spec "my-field", a difference as sub A B, and a space before -}}`},
		{`(?:bad character U\+005B '\['|unexpected "\.\d+" in operand)$`, `write index LIST 0 for an element, and index OBJECT "KEY" for a field`},
		{`unexpected "[<>=!&|]" in \w+$`, functionFirst + "eq A B, ne A B, gt A B, ge A B, lt A B, le A B, and A B, or A B, not A"},
		{`(?:unexpected "[*/%]" in operand|illegal number syntax: "[+-]"|bad character U\+002B '\+')$`, functionFirst + "add A B, sub A B, mul A B, div A B, mod A B"},
		{`(?:unexpected "[/#]" in command|comment ends before closing delimiter)$`, "write a comment without spaces before /* and after */: {{/* TEXT */}}"},
		{`malformed character constant: `, `write texts in double quotes`},
		{`function "(?:elif|elsif|elseif)" not defined$`, "write else if"},
		{`function "(?:endif|endfor|endrange|endwith|fi|done)" not defined$`, "write end"},
		{`function "(?:for|foreach|each)" not defined$`, "write range $$x := LIST"},
		{`function "(?:let|var)" not defined$`, "write $$x := VALUE"},
		{`: (?:\S+ is not a method but has arguments|can't give argument to non-function \S+)$`, functionFirst + `or A B, not A or B`},
		{`at <(?:and|or|not|eq|ne|gt|ge|lt|le)>: wrong number of args for `, "put a call in another call in parentheses: and (not A) (eq B C)"},
		{`at <\.(Values|Release|Chart|Files|Capabilities)\b.*>: can't evaluate field `, "Helm has .$1, and a function does not: " + composite},
		{`at <\.[\w.]*>: can't evaluate field (?:apiVersion|kind|metadata|spec|status|observed|desired|context|extraResources|requiredResources) in type `, otherDot},
		{`at <\.>: wrong type for value; expected map\[string\]interface {}; got `, otherDot},
		{`at <(.*\.observed\.resources\b.*)>: error calling index: index of (?:untyped nil|nil pointer)$`, noSuchValue + "a resource is observed only after it was created, so read it within if, or by getComposedResource"},
		{`at <(.*)>: error calling index: index of (?:untyped nil|nil pointer)$`, noSuchValue + "correct its path, or read it within if"},
		{`at <(.*)>: nil pointer evaluating interface {}\.(\S+)$`, noSuchValue + "correct the path before .$2, or read it within if; " + composite},
		{`at <(.*)>: error calling \w+: reflect: call of reflect\.Value\.\w+ on zero Value$`, noSuchValue + "correct its path; " + composite},
		{`^cannot get Conditions from input: .* cannot unmarshal (?:bool|number) into Go struct field \S+\.status `, `put the status in quotes: "True" or "False"`},
	} {
		all = append(all, correction{regexp.MustCompile(c[0]), c[1]})
	}
	return all
})

var (
	// quotedTwice matches an action that writes quotation marks between quotation marks.
	quotedTwice = proc.Regexp(`"(\{\{[^{}\n]*\|\s*quote\s*-?\}\})"`)
	// folded matches lines of an object that were joined to one.
	folded = proc.Regexp(`(?m)^.*\bapiVersion: \S+ kind: \S`)
)

// adviceForOutput returns the hint for an inline template whose output is not valid, or "".
func (in *GoTemplate) adviceForOutput() string {
	if in.Source != inlineSource {
		return ""
	}
	all, err := in.Inline.parts()
	if err != nil {
		return ""
	}
	text, key := all.text(), newProgramKey("", in, false)
	if key.left != "" && !strings.Contains(text, key.left) && strings.Contains(text, "{{") {
		return "write " + key.left + " … " + key.right + " in the template, or remove delims: the delimiters are not {{ and }}"
	}
	if m := quotedTwice().FindStringSubmatch(text); m != nil {
		return "remove the quotation marks around " + m[1] + ", because quote writes them"
	}
	if folded().MatchString(text) {
		return `write "template: |", which keeps the lines: other forms join them`
	}
	return ""
}
