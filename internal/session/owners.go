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

// A key is what tells an object from all others in an API server.
type key struct {
	kind            schema.GroupKind
	namespace, name string
}

func keyOf(u *unstructured.Unstructured) key {
	return key{u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()}
}

// An observed is an observed resource, and what controls it.
type observed struct {
	*unstructured.Unstructured
	controller metav1.OwnerReference
	kind       schema.GroupKind
	// byXR says that the controller is of a kind that a library knows, dumped
	// that the object was not given for any XR.
	byXR, dumped bool
}

// isOf reports whether xr controls o: by name, since the UID of an XR that was
// rendered need not be the one that it has in a cluster.
func (o observed) isOf(xr *unstructured.Unstructured) bool {
	return o.controller.Name != "" && o.controller.Name == xr.GetName() && o.kind == xr.GroupVersionKind().GroupKind() &&
		(xr.GetNamespace() == "" || o.GetNamespace() == xr.GetNamespace())
}

// An ownerIndex finds observed resources by what controls them and by name.
type ownerIndex struct {
	all []observed
	// owned are the indices of what controllers have, by their kind and name.
	// Loose are those that are the first XR's unless an XR has them.
	owned map[key][]int
	loose []int
	named map[key][]int
}

// observe finds out once what controls each observed resource. Without a
// library no kind of controller is known.
func observe(library *composition.Library, exists state) ownerIndex {
	c := ownerIndex{owned: map[key][]int{}, named: map[key][]int{}}
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
		c.named[keyOf(u)] = append(c.named[keyOf(u)], i)
		c.all = append(c.all, o)
	}
	return c
}

// of returns the observed resources that belong to xr, in their order: those
// that it controls. The first XR has all others, too, that no XR controls and
// that are from no dump; whether they can be its own is for the engine to say.
func (c ownerIndex) of(xr *unstructured.Unstructured, first bool) []*unstructured.Unstructured {
	var own []int
	for _, i := range c.owned[key{kind: xr.GroupVersionKind().GroupKind(), name: xr.GetName()}] {
		if o := c.all[i]; o.isOf(xr) && (!o.dumped || o.GetAnnotations()[reconciler.AnnotationResourceName] != "") {
			own = append(own, i)
		}
	}
	if first {
		own = append(own, c.loose...)
		slices.Sort(own)
	}
	var objects []*unstructured.Unstructured
	for _, i := range slices.Compact(own) {
		objects = append(objects, c.all[i].Unstructured)
	}
	return objects
}

// identify gives an XR what it has in the API server and the one who writes it
// has no say in, as far as it lacks that: its UID, its status, and the
// Composition that was selected for it. Only dumps count for the first XR.
func (c ownerIndex) identify(xr *unstructured.Unstructured, first bool) {
	if xr.GetName() == "" {
		return
	}
	for _, i := range c.named[keyOf(xr)] {
		if o := c.all[i]; o.dumped || !first {
			fill(xr, o.Unstructured, "metadata", "uid")
			fill(xr, o.Unstructured, "status")
			fill(xr, o.Unstructured, "spec", "crossplane", "compositionRef")
			fill(xr, o.Unstructured, "spec", "compositionRef")
		}
	}
	for _, i := range c.owned[key{kind: xr.GroupVersionKind().GroupKind(), name: xr.GetName()}] {
		// What it controls names its UID, too.
		if o := c.all[i]; (o.dumped || !first) && xr.GetUID() == "" && o.isOf(xr) {
			xr.SetUID(o.controller.UID)
		}
	}
}

// fill sets a field that dst lacks to what src has. Where an object around it is
// something else, the field is left alone.
func fill(dst, src *unstructured.Unstructured, field ...string) {
	v, found, err := unstructured.NestedFieldNoCopy(src.Object, field...)
	if _, has, _ := unstructured.NestedFieldNoCopy(dst.Object, field...); has || !found || err != nil {
		return
	}
	_ = unstructured.SetNestedField(dst.Object, runtime.DeepCopyJSONValue(v), field...)
}
