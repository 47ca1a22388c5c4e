package session

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
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
