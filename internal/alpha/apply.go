package alpha

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// deleteUndesired removes the resources that the last function did not return from
// r.resources. If the XR controls such a resource, it also deletes the resource from the
// store. It returns the removed resources that existed before the reconcile.
func (r *reconcile) deleteUndesired() (dropped []Dropped) {
	for _, c := range r.sorted() {
		if c.desired != nil {
			continue
		}
		delete(r.resources, c.name)
		deleted := r.delete(c)
		if c.observed != nil {
			dropped = append(dropped, Dropped{Name: c.name, Object: c.observed, Deleted: deleted})
		}
	}
	return dropped
}

// delete deletes a resource from the store if it exists and the XR controls it.
// It reports whether it deleted the resource.
func (r *reconcile) delete(c *composed) bool {
	o, owner := c.observed, r.xr
	if r.LiteralDeletion {
		o, owner = c.object, r.returned
	}
	if !r.exists(c) {
		return false
	}
	if controller := metav1.GetControllerOfNoCopy(o); controller == nil || controller.UID != owner.GetUID() {
		return false
	}
	r.store.delete(o)
	return true
}

// exists reports whether a composed resource exists. With LiteralDeletion, it
// exists if its current object has a creation timestamp, as in Crossplane's code.
func (r *reconcile) exists(c *composed) bool {
	if r.LiteralDeletion {
		created := c.object.GetCreationTimestamp()
		return !created.IsZero()
	}
	return c.observed != nil
}

// references returns the XR's references to its composed resources. It omits
// resources that were not rendered and do not exist.
func (r *reconcile) references() []any {
	refs := []any{}
	for _, c := range r.sorted() {
		switch {
		case c.unrendered == nil, r.LiteralDeletion && r.exists(c):
			refs = append(refs, reference(c.object))
		case r.exists(c):
			refs = append(refs, reference(c.observed))
		}
	}
	return reconciler.SortReferences(refs, "apiVersion", "kind", "name")
}

func reference(u *unstructured.Unstructured) map[string]any {
	ref := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind()}
	for key, value := range map[string]string{"namespace": u.GetNamespace(), "name": u.GetName(), "uid": string(u.GetUID())} {
		if value != "" {
			ref[key] = value
		}
	}
	return ref
}

// apply applies the XR to the store, and then the composed resources that were rendered.
func (r *reconcile) apply(result *Result) error {
	_ = unstructured.SetNestedSlice(r.returned.Object, r.references(), "spec", "resourceRefs")
	stored, err := r.store.apply(r.returned, nil)
	if err != nil {
		return fmt.Errorf("cannot apply composite resource: %w", err)
	}
	result.stored = stored
	for _, c := range r.sorted() {
		applied := Composed{Name: c.name, Unrendered: c.unrendered}
		if c.unrendered == nil {
			applied.Desired = c.object
			if c.object, err = r.store.apply(c.object, stored); err != nil {
				return fmt.Errorf("cannot apply composed resource %q: %w", c.name, err)
			}
		}
		result.Composed = append(result.Composed, applied)
	}
	return nil
}
