package check

import (
	"context"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// ForValidation returns a function with which a validate.Validator checks Compositions. The
// Validator sets o.Schemas.
func ForValidation(o Options) validate.CompositionCheck {
	return func(ctx context.Context, doc manifest.Document, obj map[string]any, known func(kschema.GroupVersionKind) (*schema.Definition, string)) (found []validate.Fault, isLegacy bool) {
		isLegacy = legacy.Is(obj)
		e, err := composition.Decode(doc)
		if err != nil && isLegacy {
			return validate.Unreadable(doc, err).Faults, true
		}
		if err != nil {
			return nil, false // The Validator reports err when it applies the schema.
		}
		own := o // Compositions are checked concurrently.
		own.Schemas = func(kind kschema.GroupKind) *schema.Definition {
			def, _ := known(kind.WithVersion(""))
			return def
		}
		own.similar = func(kind kschema.GroupVersionKind) string {
			_, near := known(kind)
			return near
		}
		for _, p := range Composition(ctx, e, own) {
			// The Validator reports these when it validates the Composition against its schema,
			// except for a legacy Composition. NotCarried describes the conversion to a
			// pipeline, not an error of the Composition.
			bySchema := p.Kind == composition.UnknownField || p.Kind == composition.LegacyField || p.Kind == composition.UnknownMode
			if p.Kind == composition.NotCarried || bySchema && !isLegacy {
				continue
			}
			found = append(found, validate.Fault{Field: p.Field, Text: strings.TrimPrefix(p.Field+": "+p.Text, ": "), Warning: p.Warning, ByMode: p.Warning && Warn.warns(p.Kind) && !Loose.warns(p.Kind)})
		}
		return found, isLegacy
	}
}
