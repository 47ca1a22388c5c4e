package xpkg

import (
	"context"
	"slices"
	"strings"
	"sync"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/xpkg"
)

// LintCompositions returns an xpkg.Rule that checks the Compositions of a package with the schemas of
// the package, and the inputs of steps with the CRDs that inputs returns. inputs is called if the
// package has a Composition. Problems of these inputs are warnings, because the control plane may
// install another version of the function. Missing schemas are not a problem, because other packages
// have the schemas of composed resources. Problems do not have Refused set, because the control plane
// installs a Composition that cannot compose.
func LintCompositions(inputs func(context.Context) (composition.Inputs, error)) xpkg.Rule {
	return func(ctx context.Context, objects []xpkg.Document) xpkg.Problems {
		return lintCompositions(ctx, objects, sync.OnceValue(func() composition.Inputs {
			official := builtin.Inputs()
			// The error is that ctx is done.
			all, _ := inputs(ctx)
			return slices.DeleteFunc(all, func(in composition.Input) bool {
				_, ok := official.Named(in.Function, in.GroupKind())
				return ok
			})
		}))
	}
}

func lintCompositions(ctx context.Context, objects []xpkg.Document, inputs func() composition.Inputs) xpkg.Problems {
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
			continue // Compositions of other API groups are not checked.
		}
		for _, p := range check.Composition(ctx, e, check.Options{Schemas: defined().Definition, Inputs: builtin.Inputs()}) {
			if counts(p) {
				problem := xpkg.Problem{Rule: "composition", Warning: p.Kind == check.OtherFunction || p.Kind == check.IgnoredValue, Path: p.Path, Line: p.Line, Text: p.Field + ": " + p.Text}
				if strings.HasSuffix(p.Text, "a boolean") {
					problem.Hint = string(e.Document.Lines().Boolean(p.Field))
				}
				found = append(found, problem)
			}
		}
		for _, p := range check.PackageInputs(ctx, e, inputs()) {
			found = append(found, xpkg.Problem{Rule: "composition", Warning: true, Path: p.Path, Line: p.Line, Text: p.Field + ": " + p.Text})
		}
	}
	if ctx.Err() == nil {
		found = append(found, lintReferences(objects, defined)...)
	}
	return found
}

func document(d xpkg.Document) manifest.Document {
	return manifest.Document{Path: d.Path, Line: d.TextLine, Text: d.Text, JSON: d.JSON}
}

// definitions returns the kinds that the objects define. Another rule reports invalid
// definitions.
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

// counts reports whether LintCompositions reports a problem. It ignores unknown
// fields, which another rule reports, missing schemas, and most warnings.
func counts(p composition.Problem) bool {
	switch p.Kind {
	case composition.UnknownField, check.MissingSchema:
		return false
	case check.NoSuchField, check.WrongType, check.NotInMap, check.NotApplied, check.InsideBase, check.OutsideStatus, check.OtherFunction, check.IgnoredValue:
		return true
	default:
		return !p.Warning
	}
}
