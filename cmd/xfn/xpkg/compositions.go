package xpkg

import (
	"context"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/xpkg"
)

// compositionRule is the name of the rule in problems.
const compositionRule = "composition"

// LintCompositions is an xpkg.Rule: it finds what is wrong with the Compositions
// among the objects of a package, by what the package defines. Schemas that are
// missing are no problem, since those of composed resources are in packages of
// their own. Nothing is refused: the control plane installs a Composition that
// cannot compose.
func LintCompositions(ctx context.Context, objects []xpkg.Document, defined schema.Definitions) xpkg.Problems {
	var found xpkg.Problems
	for _, o := range objects {
		if ctx.Err() != nil {
			break
		}
		if o.Kind != apiextv1.CompositionKind {
			continue
		}
		e, err := composition.Decode(o.Text)
		if err != nil {
			continue // It is of another group, or not what xpkg could have read.
		}
		for _, p := range check.Composition(e, defined, check.ByAnnotation) {
			if counts(p) {
				found = append(found, xpkg.Problem{Rule: compositionRule, Path: p.Path, Line: p.Line, Text: p.Field + ": " + p.Text})
			}
		}
	}
	return found
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
