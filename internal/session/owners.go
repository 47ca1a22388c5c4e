package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A key is the identity of an object in an API server.
type key struct {
	kind            schema.GroupKind
	namespace, name string
}

func keyOf(u *unstructured.Unstructured) key {
	return key{u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()}
}

// An observed is an observed resource, its controller, and the kind of the controller.
type observed struct {
	*unstructured.Unstructured
	controller metav1.OwnerReference
	kind       schema.GroupKind
	// byXR is true if the library has an XRD or a Composition for the kind of the
	// controller. dumped is true if the object is from a list, which is a dump of
	// a cluster.
	byXR, dumped bool
}

// isOf reports whether xr controls o. It compares names instead of UIDs,
// because the UID of a rendered XR may differ from its UID in the cluster.
func (o observed) isOf(xr *unstructured.Unstructured) bool {
	return o.controller.Name != "" && o.controller.Name == xr.GetName() && o.kind == xr.GroupVersionKind().GroupKind() &&
		(xr.GetNamespace() == "" || o.GetNamespace() == xr.GetNamespace())
}

// An ownerIndex finds observed resources by their controller and by their identity.
type ownerIndex struct {
	state
	all []observed
	// The values are indices in all. owned maps the kind and name of a controller
	// to its resources. loose has the resources that only the first XR may
	// observe. byKey maps an identity to the resources that have it.
	owned map[key][]int
	loose []int
	byKey map[key][]int
}

// observe returns an ownerIndex of the observed resources. library may be nil.
func observe(library *composition.Library, exists state) ownerIndex {
	c := ownerIndex{state: exists, owned: map[key][]int{}, byKey: map[key][]int{}}
	for i, u := range slices.Concat(exists.named, exists.dumped) {
		o := observed{Unstructured: u, dumped: i >= len(exists.named)}
		if ref := metav1.GetControllerOfNoCopy(u); ref != nil {
			gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
			o.controller, o.kind = *ref, gvk.GroupKind()
			if library != nil {
				_, defined := library.XRDFor(gvk)
				o.byXR = defined || len(library.For(gvk)) > 0
			}
			owner := key{kind: o.kind, name: ref.Name}
			c.owned[owner] = append(c.owned[owner], i)
		}
		if !o.byXR && !o.dumped {
			c.loose = append(c.loose, i)
		}
		c.byKey[keyOf(u)] = append(c.byKey[keyOf(u)], i)
		c.all = append(c.all, o)
	}
	return c
}

// of returns the observed resources of xr, in their original order. If xr is in a dump, its
// dumped resources are the resources that its resourceRefs name, except resources that
// another object controls, as in Crossplane. Otherwise they are the resources that xr
// controls. If first is true, of adds all resources that are not from a dump and whose
// controller is not an XR; the engine decides whether xr may own them.
func (c ownerIndex) of(xr *unstructured.Unstructured, first bool) []*unstructured.Unstructured {
	var own []int
	refs, known := c.references(xr)
	for _, i := range c.owned[key{kind: xr.GroupVersionKind().GroupKind(), name: xr.GetName()}] {
		if o := c.all[i]; o.isOf(xr) && (!o.dumped || !known && o.GetAnnotations()[reconciler.AnnotationResourceName] != "") {
			own = append(own, i)
		}
	}
	for _, ref := range refs {
		for _, i := range c.byKey[ref.key()] {
			if o := c.all[i]; o.dumped && (o.controller.Name == "" || o.isOf(xr)) {
				own = append(own, i)
			}
		}
	}
	if first {
		own = append(own, c.loose...)
	}
	slices.Sort(own)
	var objects []*unstructured.Unstructured
	for _, i := range slices.Compact(own) {
		objects = append(objects, c.all[i].Unstructured)
	}
	return objects
}

// identify sets fields of xr that are missing because its author does not set
// them: the UID, the status, the selected Composition, and the resourceRefs. It
// copies them from the observed XR. For the first XR, it uses only XRs from a dump.
func (c ownerIndex) identify(xr *unstructured.Unstructured, first bool) {
	if xr.GetName() == "" {
		return
	}
	for _, i := range c.byKey[keyOf(xr)] {
		if o := c.all[i]; o.dumped || !first {
			fill(xr, o.Unstructured, "metadata", "uid")
			fill(xr, o.Unstructured, "status")
			for _, field := range []string{"compositionRef", "resourceRefs"} {
				fill(xr, o.Unstructured, "spec", "crossplane", field)
				fill(xr, o.Unstructured, "spec", field)
			}
		}
	}
	for _, i := range c.owned[key{kind: xr.GroupVersionKind().GroupKind(), name: xr.GetName()}] {
		// The owner references of the XR's resources also contain the XR's UID.
		if o := c.all[i]; (o.dumped || !first) && xr.GetUID() == "" && o.isOf(xr) {
			xr.SetUID(o.controller.UID)
		}
	}
}

// fill copies a field from src to dst if dst lacks the field and the parents of
// the field are objects.
func fill(dst, src *unstructured.Unstructured, field ...string) {
	v, found, err := unstructured.NestedFieldNoCopy(src.Object, field...)
	if _, has, _ := unstructured.NestedFieldNoCopy(dst.Object, field...); has || !found || err != nil {
		return
	}
	_ = unstructured.SetNestedField(dst.Object, runtime.DeepCopyJSONValue(v), field...)
}

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
	hasReferences := slices.ContainsFunc(referencePaths, func(path []string) bool { return fieldpath.At(xr.Object, path...) != nil })
	if _, known := c.references(xr); !known || hasReferences {
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
