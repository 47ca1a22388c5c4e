package xpkg

import (
	"context"
	"strings"
	"sync"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/xpkg"
)

// compositionRule is the name of the rule in problems.
const compositionRule = "composition"

// LintCompositions is an xpkg.Rule: it finds the problems of the Compositions
// among the objects of a package, with the schemas that the package defines.
// Missing schemas are not a problem, since those of composed resources are in
// other packages. No problem is refused: the control plane installs a Composition
// that cannot compose.
func LintCompositions(ctx context.Context, objects []xpkg.Document) xpkg.Problems {
	var found xpkg.Problems
	defined := sync.OnceValue(func() schema.Definitions { return definitions(objects) })
	for _, o := range objects {
		if ctx.Err() != nil {
			break
		}
		if o.Kind != apiextv1.CompositionKind {
			continue
		}
		e, err := composition.Decode(document(o))
		if err != nil {
			continue // It is of another group, or not what xpkg could have read.
		}
		for _, p := range check.Composition(e, defined().Definition, check.ByAnnotation) {
			if counts(p) {
				found = append(found, xpkg.Problem{Rule: compositionRule, Path: p.Path, Line: p.Line, Text: p.Field + ": " + p.Text})
			}
		}
	}
	return found
}

func document(d xpkg.Document) manifest.Document {
	return manifest.Document{Path: d.Path, Line: d.TextLine, Text: d.Text}
}

// definitions returns the kinds that the objects define. A definition that cannot
// be read is a problem of another rule.
func definitions(objects []xpkg.Document) schema.Definitions {
	all := schema.Definitions{}
	for _, o := range objects {
		if !strings.HasSuffix(o.Kind, "Definition") {
			continue
		}
		obj, err := document(o).Object()
		if err != nil {
			continue
		}
		defs, err := schema.Define(obj)
		if err != nil {
			continue
		}
		for _, def := range defs {
			all[def.GroupKind] = def
		}
	}
	return all
}

// counts reports whether a problem is one of a package. Lost fields are a rule
// of xpkg; of what is only worth a warning in any mode, what Crossplane does not
// apply is lost, too.
func counts(p composition.Problem) bool {
	switch p.Kind {
	case composition.UnknownField, check.MissingSchema:
		return false
	case check.NoSuchField, check.WrongType, check.NotInMap, check.NotApplied:
		return true
	default:
		return !p.Warning
	}
}
