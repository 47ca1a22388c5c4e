package gotemplating

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/hint"
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
	in := &GoTemplate{}
	if !strings.HasPrefix(fatal, "cannot decode manifest") || json.Unmarshal(input, in) != nil {
		return ""
	}
	return in.adviceForOutput()
}

// block matches what begins or ends a block or a comment after the left delimiter of an action.
var block = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:- )?\s*(/\*|if\b|range\b|with\b|define\b|block\b|end\b)`)
})

// openBlock returns the keyword and the line, counted from 1, of the last block of a template that
// has no end, or "".
func openBlock(text, left string) (keyword string, line int) {
	type opened struct {
		keyword string
		line    int
	}
	var open []opened
	line = 1
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
			open = append(open, opened{m[1], line})
		case len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return "", 0
	}
	last := open[len(open)-1]
	return last.keyword, last.line
}
