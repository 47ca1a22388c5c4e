package gotemplating

import (
	"regexp"
	"strings"
	"sync"
)

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
	quotedTwice = pattern(`"(\{\{[^{}\n]*\|\s*quote\s*-?\}\})"`)
	// folded matches lines of an object that were joined to one.
	folded = pattern(`(?m)^.*\bapiVersion: \S+ kind: \S`)
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
