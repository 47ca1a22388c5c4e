package composition

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// OutputField returns the position of a field in the base of the template with a name, or the
// position of the base if the base lacks the field. Without such a base, it returns the position in
// the text of a template, or "".
func OutputField(e Entry, template, kind, field string) string {
	if e.Composition == nil || kind == "" {
		return ""
	}
	bases, _ := TemplateBases(e)
	for _, b := range bases {
		if b.Name == template && template != "" {
			return e.Document.PositionOf(strings.TrimSuffix(b.Field+"."+field, "."))
		}
	}
	return textField(e, kind, field)
}

// textField returns the position of a field in the inline templates of function-go-templating in e.
// It searches the documents of a kind for the last key of the field. If several lines have the key,
// or no line has the key, textField returns the position of the kind, or "" if several documents
// have the kind.
func textField(e Entry, kind, field string) string {
	key := field[strings.LastIndex(field, ".")+1:]
	key, _, _ = strings.Cut(key, "[")
	isKey := regexp.MustCompile(`^\s*(- )?["']?` + regexp.QuoteMeta(key) + `["']?\s*:`)
	isKind := regexp.MustCompile(`^\s*["']?kind["']?\s*:\s*["']?` + regexp.QuoteMeta(kind) + `["']?\s*$`)
	var keys, kinds []string // positions
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
			lines := strings.Split(document, "\n")
			position := func(j int) string {
				at := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input.inline.template", i))
				doc := e.Document
				doc.Line = doc.Lines().OfText(at, line+j)
				return doc.Position()
			}
			if j := slices.IndexFunc(lines, isKind.MatchString); j >= 0 {
				kinds = append(kinds, position(j))
				for j, text := range lines {
					if key != "" && isKey.MatchString(text) {
						keys = append(keys, position(j))
					}
				}
			}
			line += len(lines)
		}
	}
	switch {
	case len(keys) == 1:
		return keys[0]
	case len(kinds) == 1:
		return kinds[0]
	}
	return ""
}
