package composition

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/xfn-dev/xfn/internal/manifest"
)

type entryKey struct{}

// WithEntry returns a context with the Composition or Operation of a render, for the positions in
// warnings.
func WithEntry(ctx context.Context, e Entry) context.Context {
	return context.WithValue(ctx, entryKey{}, e)
}

// EntryOf returns the Composition or Operation in ctx. If ctx has neither, the Composition of the
// Entry is nil.
func EntryOf(ctx context.Context) Entry {
	e, _ := ctx.Value(entryKey{}).(Entry)
	return e
}

// An Origin returns the place that wrote a field of a resource, or the first line with a text in the
// resource. It returns "" if the place is unknown.
type Origin func(resource, field, text string) string

// Origins finds the places in a Composition, or in files, that wrote the resources of a pipeline step.
// The function of the step sets the Origin. Two implementations of it may run concurrently.
type Origins struct{ of atomic.Pointer[Origin] }

type originsKey struct{}

// WithOrigins returns a context with o, for a call of a function.
func WithOrigins(ctx context.Context, o *Origins) context.Context {
	return context.WithValue(ctx, originsKey{}, o)
}

// SetOrigins sets the Origin of the Origins in ctx, if there are any.
func SetOrigins(ctx context.Context, of Origin) {
	if o, ok := ctx.Value(originsKey{}).(*Origins); ok {
		o.of.Store(&of)
	}
}

// At returns the place of a resource as the end of a sentence, or "". o may be nil.
func (o *Origins) At(resource, field, text string) string {
	if o == nil {
		return ""
	}
	if of := o.of.Load(); of != nil {
		return manifest.At((*of)(resource, field, text))
	}
	return ""
}

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
