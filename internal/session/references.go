package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Reference is an entry of an XR's resourceRefs.
type Reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// GroupKind returns the group and kind of the object.
func (r Reference) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}

func (r Reference) key() key { return key{r.GroupKind(), r.Namespace, r.Name} }

// referencePaths are the paths of resourceRefs in an XR.
var referencePaths = [][]string{{"spec", "crossplane", "resourceRefs"}, {"spec", "resourceRefs"}}

func hasReferences(xr *unstructured.Unstructured) bool {
	return slices.ContainsFunc(referencePaths, func(path []string) bool { return fieldpath.At(xr.Object, path...) != nil })
}

// references returns the resourceRefs of xr that have a name. The bool is false if they are
// unknown, because xr has no resourceRefs and is not in a dump.
func (c ownerIndex) references(xr *unstructured.Unstructured) (refs []Reference, known bool) {
	for _, path := range referencePaths {
		list, found, _ := unstructured.NestedSlice(xr.Object, path...)
		known = known || found
		for _, item := range list {
			text := func(field string) string { return fieldpath.Text(item, field) }
			ref := Reference{text("apiVersion"), text("kind"), cmp.Or(xr.GetNamespace(), text("namespace")), text("name")}
			if ref.Name != "" {
				refs = append(refs, ref)
			}
		}
	}
	inDump := slices.ContainsFunc(c.byKey[keyOf(xr)], func(i int) bool { return c.all[i].dumped })
	return refs, known || inDump
}

// missing returns the resourceRefs of xr whose objects are not observed.
func (c ownerIndex) missing(xr *unstructured.Unstructured) []Reference {
	refs, _ := c.references(xr)
	return slices.DeleteFunc(refs, func(r Reference) bool { return len(c.byKey[r.key()]) > 0 })
}

// warnUnreferenced warns if xr is in a dump without resourceRefs, and controls resources in the dump,
// which Crossplane therefore does not observe. A cluster has no such XR.
func (s *Session) warnUnreferenced(c ownerIndex, xr *unstructured.Unstructured) {
	if _, known := c.references(xr); !known || hasReferences(xr) {
		return
	}
	for _, i := range c.owned[key{kind: xr.GroupVersionKind().GroupKind(), name: xr.GetName()}] {
		if o := c.all[i]; o.isOf(xr) && o.GetAnnotations()[reconciler.AnnotationResourceName] != "" {
			s.once.Warn(fmt.Sprintf("the dump has %s, whose controller is %s, but this composite resource has no resourceRefs, so its resources are shown as added: take the composite resource from the cluster, not from a file",
				composition.Describe(o.Unstructured), composition.Describe(xr)))
			return
		}
	}
}

// Missing describes the resources that a dump lacks for the render of its XRs.
type Missing struct {
	// Resources are the resources that resourceRefs of the XRs name.
	Resources []Reference
	// Compositions is true if the dump has no Composition.
	Compositions bool
	// Kinds are the kinds in the dump. Composed are the kinds of the composite resources that
	// the Compositions are for. Both are sorted.
	Kinds, Composed []string
	// Candidates is true if the dump has a composite resource of the kind of a Composition.
	Candidates bool
}

// Missing returns the resources that the dump in in.Observed lacks. in.Live must be set. It renders
// nothing.
func (s *Session) Missing(ctx context.Context, in Inputs) (m Missing, err error) {
	lib, err := s.library(ctx, in)
	if err != nil {
		return m, err
	}
	m.Compositions = true
	kinds, composed := map[string]bool{}, map[string]bool{}
	for _, e := range lib.Compositions() {
		composed[e.Spec.CompositeTypeRef.Kind] = true
	}
	c := observe(lib.Library, lib.dump)
	for _, o := range c.all {
		kinds[o.GetKind()] = true
		if o.GroupVersionKind().GroupKind() == compositionKind {
			m.Compositions = false
		}
		if len(lib.For(o.GroupVersionKind())) > 0 {
			m.Candidates = true
			m.Resources = append(m.Resources, c.missing(o.Unstructured)...)
		}
	}
	m.Kinds, m.Composed = slices.Sorted(maps.Keys(kinds)), slices.Sorted(maps.Keys(composed))
	return m, nil
}
