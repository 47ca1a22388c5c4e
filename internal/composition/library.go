package composition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	klabels "k8s.io/apimachinery/pkg/labels"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A Library has Compositions and their XRDs. It is immutable.
type Library struct {
	compositions []Entry
	xrds         []schema.XRD
	ignored      []string
}

// Load returns a Library with the Compositions and XRDs among docs. Ignored
// returns the other objects. Two objects of the same kind and name are an error.
func Load(docs []manifest.Document) (*Library, error) {
	l := &Library{}
	seen := map[string]string{}
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: obj}
		what := Describe(u)
		switch u.GroupVersionKind().GroupKind() {
		case apiextv1.CompositionGroupVersionKind.GroupKind():
			e, err := Decode(doc)
			if err != nil {
				return nil, err
			}
			l.compositions = append(l.compositions, e)
		case apiextv1.CompositeResourceDefinitionGroupVersionKind.GroupKind():
			xrd, err := schema.NewXRD(u.Object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", doc.PositionOf("spec.scope"), err)
			}
			l.xrds = append(l.xrds, xrd)
		default:
			if near := schema.SimilarKind(u.GetAPIVersion(), u.GetKind()); near != "" {
				what += ` (did you mean "kind: ` + near + `"?)`
			}
			l.ignored = append(l.ignored, doc.Position()+": "+what)
			continue
		}
		if first, ok := seen[what]; ok {
			return nil, fmt.Errorf("%s: %s is already defined at %s", doc.Position(), what, first)
		}
		seen[what] = doc.Position()
	}
	return l, nil
}

// In converts the XRDs to XRDs of a release of Crossplane.
func (l *Library) In(r schema.Release) {
	for i, xrd := range l.xrds {
		l.xrds[i] = xrd.In(r)
	}
}

// Ignored returns the loaded objects that are neither Compositions nor XRDs, each
// as "path:line: object".
func (l *Library) Ignored() []string { return slices.Clone(l.ignored) }

// Compositions returns all Compositions in the order in which they were loaded.
func (l *Library) Compositions() []Entry { return slices.Clone(l.compositions) }

// XRDFor returns the first XRD that defines XRs of this kind, in any version.
func (l *Library) XRDFor(gvk kschema.GroupVersionKind) (schema.XRD, bool) {
	return first(l.xrds, func(x schema.XRD) bool { return x.Defines(gvk) == nil })
}

// ClaimOf returns the first XRD that offers claims of this kind, in any version.
func (l *Library) ClaimOf(gvk kschema.GroupVersionKind) (schema.XRD, bool) {
	return first(l.xrds, func(x schema.XRD) bool { return x.Offers(gvk) })
}

func first[T any](all []T, is func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return found, false
}

// For returns the Compositions that are for XRs of this apiVersion and kind.
func (l *Library) For(gvk kschema.GroupVersionKind) []Entry {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	var found []Entry
	for _, e := range l.compositions {
		if ref := e.Spec.CompositeTypeRef; ref.APIVersion == apiVersion && ref.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// Select returns the Composition for xr by the rules of Crossplane. The rules
// are, in this order:
//
//   - the Composition that the XRD enforces
//   - the Composition that the XR refers to
//   - the default Composition of the XRD, if the XR has no selector
//   - the only Composition that has the labels of the XR's selector
//
// If several Compositions have the labels, Select returns an error, because
// Crossplane selects one of them at random.
func (l *Library) Select(xr *unstructured.Unstructured) (Entry, error) {
	all := l.For(xr.GroupVersionKind())
	if len(all) == 0 {
		return Entry{}, l.noComposition(xr)
	}
	xrd, known := l.XRDFor(xr.GroupVersionKind())
	selection := selectionOf(xr, xrd, known)
	switch enforced, byDefault := xrd.EnforcedComposition(), xrd.DefaultComposition(); {
	case enforced != "":
		return named(all, enforced, "the XRD enforces")
	case selection.name != "":
		return named(all, selection.name, "the composite resource refers to")
	case !selection.byLabels && byDefault != "":
		return named(all, byDefault, "the XRD has as default")
	}
	return only(all, selection.labels)
}

// noComposition returns the error for an XR that no Composition is for. The hint names the
// kind with the most similar name that has a Composition.
func (l *Library) noComposition(xr *unstructured.Unstructured) error {
	next := "add a Composition whose spec.compositeTypeRef has this apiVersion and kind"
	var kinds []string
	for _, e := range l.compositions {
		kinds = append(kinds, e.Spec.CompositeTypeRef.Kind)
	}
	if i := slices.Index(kinds, hint.Nearest(xr.GetKind(), kinds)); i >= 0 {
		ref := l.compositions[i].Spec.CompositeTypeRef
		next += fmt.Sprintf(", or correct the composite resource: there is one for %s of apiVersion %s", ref.Kind, ref.APIVersion)
	}
	next += "; for a claim, add its XRD, too"
	return hint.Wrap(fmt.Errorf("no Composition is for %s of apiVersion %s", xr.GetKind(), cmp.Or(xr.GetAPIVersion(), `""`)), next)
}

// A selection has the fields of an XR by which Crossplane selects a Composition.
type selection struct {
	// name is the name in the composition reference, or "".
	name string
	// byLabels is true if the XR has a selector, even if it has no labels.
	byLabels bool
	labels   map[string]string
}

// selectionOf reads the selection from spec.crossplane, or from spec if the XRD
// is legacy. If the XRD is not known, it reads spec.crossplane first, and spec
// only if spec.crossplane selects no Composition.
func selectionOf(xr *unstructured.Unstructured, xrd schema.XRD, known bool) selection {
	modern, legacy := []string{"spec", "crossplane"}, []string{"spec"}
	parents := [][]string{modern, legacy}
	if known {
		parents = [][]string{modern}
		if xrd.Legacy() {
			parents = [][]string{legacy}
		}
	}
	for _, parent := range parents {
		fields, _, _ := unstructured.NestedMap(xr.Object, parent...)
		s := selection{byLabels: fields["compositionSelector"] != nil}
		s.name, _, _ = unstructured.NestedString(fields, "compositionRef", "name")
		s.labels, _, _ = unstructured.NestedStringMap(fields, "compositionSelector", "matchLabels")
		if s.name != "" || s.byLabels {
			return s
		}
	}
	return selection{}
}

func named(all []Entry, name, how string) (Entry, error) {
	i := slices.IndexFunc(all, func(e Entry) bool { return e.GetName() == name })
	if i >= 0 {
		return all[i], nil
	}
	return Entry{}, hint.Wrap(fmt.Errorf("the Composition %q, which %s, is not among the Compositions for this kind of composite resource: %s", name, how, list(all)),
		"add this Composition, or refer to another one")
}

// only returns the only Composition that has all the labels. It returns an error if no
// Composition or several Compositions have them.
func only(all []Entry, labels map[string]string) (Entry, error) {
	selector := klabels.SelectorFromSet(labels)
	fit := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return !selector.Matches(klabels.Set(e.GetLabels())) })
	switch len(fit) {
	case 0:
		return Entry{}, fmt.Errorf("no Composition for this kind of composite resource has the labels of its selector: %s", list(all))
	case 1:
		return fit[0], nil
	}
	return Entry{}, hint.Wrap(fmt.Errorf("several Compositions match: %s", list(fit)),
		"name one in compositionRef of the composite resource, or set a default in the XRD: Crossplane would select one at random")
}

func list(entries []Entry) string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = fmt.Sprintf("%q (%s)", e.GetName(), e.Document.Position())
	}
	return strings.Join(texts, ", ")
}
