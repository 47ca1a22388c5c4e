package gotemplating

import (
	"fmt"
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
	helmField = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`at <\.(Values|Release|Chart|Files|Capabilities)\b.*>: can't evaluate field `)
	})
	noValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`at <(.*)>: error calling \w+: reflect: call of reflect\.Value\.\w+ on zero Value$`)
	})
)

const unknownOption = "cannot apply template options: panic occurred while applying template options: unrecognized option: "

// Advice returns the hint for a fatal result of the function, or "" if there is none.
func Advice(fatal string) string {
	if option, ok := strings.CutPrefix(fatal, unknownOption); ok {
		return hint.MeantOf(option, missingKeys)
	}
	if m := otherMetaKind().FindStringSubmatch(fatal); m != nil {
		return hint.MeantOf(m[1], metaKinds)
	}
	const composite = "the composite resource is .observed.composite.resource"
	if m := helmField().FindStringSubmatch(fatal); m != nil {
		return fmt.Sprintf("Helm has .%s, and a function does not: %s", m[1], composite)
	}
	if m := noValue().FindStringSubmatch(fatal); m != nil {
		return fmt.Sprintf("a value in %q does not exist: correct its path; %s", m[1], composite)
	}
	return ""
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
