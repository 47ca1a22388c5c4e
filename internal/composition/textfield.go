package composition

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// TextField returns the position of a field in the inline templates of function-go-templating in e:
// that of the only line with the last key of the field in documents of a kind. If several lines have
// the key, or no line has it, TextField returns "".
func TextField(e Entry, kind, field string) (position string) {
	if e.Composition == nil || kind == "" {
		return ""
	}
	key := field[strings.LastIndex(field, ".")+1:]
	key, _, _ = strings.Cut(key, "[")
	isKey := regexp.MustCompile(`^\s*(- )?["']?` + regexp.QuoteMeta(key) + `["']?\s*:`)
	isKind := regexp.MustCompile(`(?m)^\s*["']?kind["']?\s*:\s*["']?` + regexp.QuoteMeta(kind) + `["']?\s*$`)
	found := 0
	for i, step := range e.Spec.Pipeline {
		var in struct {
			APIVersion, Source string
			Inline             struct{ Template string }
		}
		if step.Input == nil || json.Unmarshal(step.Input.Raw, &in) != nil || in.Source != "Inline" || !strings.HasPrefix(in.APIVersion, "gotemplating.fn.crossplane.io/") {
			continue
		}
		line := 0
		for document := range strings.SplitSeq("\n"+in.Inline.Template, "\n---") {
			isMeant := key != "" && isKind.MatchString(document)
			for j, text := range strings.Split(document, "\n") {
				if isMeant && isKey.MatchString(text) {
					at := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input.inline.template", i))
					doc := e.Document
					doc.Line = doc.Lines().OfText(at, line+j)
					position = doc.Position()
					found++
				}
			}
			line += strings.Count(document, "\n") + 1
		}
	}
	if found != 1 {
		return ""
	}
	return position
}
