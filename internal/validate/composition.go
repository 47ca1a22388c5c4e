package validate

import (
	"encoding/json"
	"strings"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// compositionFaults returns what is wrong with a Composition beyond its form. It
// is the one place at which a Composition's own rules are asked for.
func compositionFaults(at place, obj map[string]any) []Fault {
	doc := at.doc
	if at.field != "" || doc.Text == nil {
		text, err := json.Marshal(obj)
		if err != nil {
			return nil
		}
		doc = manifest.Document{Path: doc.Path, Line: at.line(""), Text: text}
	}
	e, err := composition.Decode(doc)
	if err != nil {
		if !legacy.Is(obj) {
			return nil // Its form says so.
		}
		return unreadable(doc, err).Faults
	}
	var found []Fault
	for _, p := range composition.Check(e, nil) {
		if p.Kind == composition.NotCarried || p.Kind == composition.UnknownField && !e.Converted {
			continue
		}
		found = append(found, Fault{Field: p.Field, Line: at.line(p.Field), Text: strings.TrimPrefix(p.Field+": "+p.Text, ": ")})
	}
	return found
}
