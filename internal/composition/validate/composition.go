package validate

import (
	"context"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/kinds"
)

// composition returns what is wrong with a Composition beyond its form: its own
// rules, and whether its patches fit what the definitions say of both sides.
func (v *Validator) composition(ctx context.Context, at place, obj map[string]any) []Fault {
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
	for _, p := range check.Composition(e, v.known(ctx), v.Mode) {
		// Unknown fields are of its form, if it has that of today. What is only
		// lost on the way to a pipeline is nothing to an API server.
		if p.Kind == composition.NotCarried || p.Kind == composition.UnknownField && !e.Converted {
			continue
		}
		if p.Kind == check.MissingSchema && builtIn(obj, p.Field) {
			continue
		}
		found = append(found, Fault{Field: p.Field, Line: at.line(p.Field), Text: strings.TrimPrefix(p.Field+": "+p.Text, ": "), Warning: p.Warning})
	}
	return found
}

// known returns the definitions that can be used.
func (v *Validator) known(ctx context.Context) check.Schemas {
	return lookup(func(kind kschema.GroupKind) *schema.Definition {
		d, ok := v.definitions[kind]
		if !ok {
			return nil
		}
		def, wrong := d.open(ctx)
		if len(wrong) > 0 {
			return nil
		}
		return def
	})
}

// A lookup is a function that finds definitions.
type lookup func(kschema.GroupKind) *schema.Definition

// Definition calls the function.
func (l lookup) Definition(kind kschema.GroupKind) *schema.Definition { return l(kind) }

// builtIn reports whether what stands at a field is of a kind that has no
// definition, since it is always there.
func builtIn(obj map[string]any, at string) bool {
	path, err := fieldpath.Parse(at)
	if err != nil {
		return false
	}
	value, err := path.Get(obj)
	if err != nil {
		return false
	}
	base, _ := value.(map[string]any)
	u := unstructured.Unstructured{Object: base}
	_, ok := kinds.Find(u.GroupVersionKind())
	return ok
}
