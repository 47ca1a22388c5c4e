package xpkg

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
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

// A referrer is an XRD, a Composition or a WatchOperation of a package.
type referrer struct {
	doc manifest.Document
	obj map[string]any
}

// warning returns a problem of a field. It suggests near, unless that is "".
func (r referrer) warning(field, near, format string, args ...any) xpkg.Problem {
	text := field + ": " + fmt.Sprintf(format, args...) + hint.DidYouMean(near)
	return xpkg.Problem{Rule: "composition", Warning: true, Path: r.doc.Path, Line: r.doc.Lines().Of(field), Text: text}
}

// lintReferences finds references between XRDs and Compositions that are most probably wrong: to a
// version that the XRD does not have, to a kind whose name is similar to the kind of an XRD, and
// to a Composition that does not exist for the XRD. It ignores other unknown names, because
// another package may define them. It also finds XRDs without a Composition.
func lintReferences(objects []xpkg.Document, defined func() schema.Definitions) (found xpkg.Problems) {
	if !slices.ContainsFunc(objects, func(o xpkg.Document) bool { return o.Kind == apiextv1.CompositionKind }) {
		return lintDefinitions(objects)
	}
	names := map[kschema.GroupKind][]string{}
	var xrds []referrer
	for _, o := range objects {
		isXRD, isWatch := o.Kind == apiextv1.CompositeResourceDefinitionKind, o.Kind == "WatchOperation"
		if !isXRD && !isWatch && o.Kind != apiextv1.CompositionKind {
			continue
		}
		r := referrer{doc: document(o)}
		var err error
		if r.obj, err = r.doc.Object(); err != nil {
			continue // Another rule reports it.
		}
		if isXRD {
			xrds = append(xrds, r)
			continue
		}
		if isWatch {
			watched := kschema.FromAPIVersionAndKind(fieldpath.Text(r.obj, "spec", "watch", "apiVersion"), fieldpath.Text(r.obj, "spec", "watch", "kind"))
			found = append(found, r.typeRef("spec.watch", watched, defined())...)
			continue
		}
		gvk := kschema.FromAPIVersionAndKind(fieldpath.Text(r.obj, "spec", "compositeTypeRef", "apiVersion"), fieldpath.Text(r.obj, "spec", "compositeTypeRef", "kind"))
		names[gvk.GroupKind()] = append(names[gvk.GroupKind()], fieldpath.Text(r.obj, "metadata", "name"))
		found = append(found, r.typeRef("spec.compositeTypeRef", gvk, defined())...)
	}
	for _, r := range xrds {
		kind := fieldpath.Text(r.obj, "spec", "names", "kind")
		known := names[kschema.GroupKind{Group: fieldpath.Text(r.obj, "spec", "group"), Kind: kind}]
		if len(known) == 0 && kind != "" {
			found = append(found, r.uncomposed("no Composition of the package is for kind %s", kind))
		}
		for _, field := range []string{"defaultCompositionRef", "enforcedCompositionRef"} {
			if name := fieldpath.Text(r.obj, "spec", field, "name"); name != "" && len(known) > 0 && !slices.Contains(known, name) {
				found = append(found, r.warning("spec."+field+".name", hint.Nearest(name, known), "the package has Compositions for this kind, but none with the name %q", name))
			}
		}
	}
	return found
}

// lintDefinitions returns a problem if a package without Compositions has XRDs. It reads only the
// first XRD, because there may be thousands.
func lintDefinitions(objects []xpkg.Document) xpkg.Problems {
	isXRD := func(o xpkg.Document) bool { return o.Kind == apiextv1.CompositeResourceDefinitionKind }
	first := slices.IndexFunc(objects, isXRD)
	if first < 0 {
		return nil
	}
	others := ""
	if slices.ContainsFunc(objects[first+1:], isXRD) {
		others = " and the other XRDs"
	}
	return xpkg.Problems{referrer{doc: document(objects[first])}.uncomposed("the package has no Composition for this XRD%s", others)}
}

// uncomposed returns the problem of an XRD without a Composition, which another package may have.
func (r referrer) uncomposed(format string, args ...any) xpkg.Problem {
	p := r.warning("spec.names.kind", "", format, args...)
	p.Hint = "generate a Composition with xfn composition generate; if another package has one, ignore this warning"
	return p
}

// typeRef returns the problem of a field that names the kind of an XRD: compositeTypeRef of a
// Composition, or watch of a WatchOperation.
func (r referrer) typeRef(field string, gvk kschema.GroupVersionKind, defined schema.Definitions) xpkg.Problems {
	if def := defined[gvk.GroupKind()]; def != nil {
		if versions := def.Versions(); gvk.Version != "" && !slices.Contains(versions, gvk.Version) {
			return xpkg.Problems{r.warning(field+".apiVersion", "", "kind %s has no version %s, only %s", gvk.Kind, gvk.Version, strings.Join(versions, ", "))}
		}
		return nil
	}
	var kinds []string
	for gk := range defined {
		if gk.Group == gvk.Group {
			kinds = append(kinds, gk.Kind)
		}
	}
	slices.Sort(kinds)
	near := hint.Misspelled(gvk.Kind, kinds)
	if singular := strings.TrimSuffix(gvk.Kind, "s"); slices.Contains(kinds, singular) {
		near = singular // The plural is in XRDs, and not in references.
	}
	if near != "" {
		return xpkg.Problems{r.warning(field+".kind", near, "no XRD of the package defines kind %s of group %s", gvk.Kind, gvk.Group)}
	}
	return nil
}
