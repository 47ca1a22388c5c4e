package alpha

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	fnio "github.com/xfn-dev/xfn/internal/alpha/v1alpha1"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

type reconcile struct {
	Request
	store *Store
	// budget limits the total size of the values that patches write.
	budget patch.Budget

	// xr is the XR to which patches are applied. returned is the XR in the output
	// of the last function.
	xr, returned *unstructured.Unstructured
	// details are the XR's connection details.
	details   map[string][]byte
	resources map[string]*composed
	events    []Event
}

// A composed is a composed resource that exists or is desired.
type composed struct {
	name string
	// observed is nil if the resource does not exist.
	observed *unstructured.Unstructured
	// details are the connection details of the observed resource.
	details map[string][]byte
	// object is the current state of the resource. It is first the observed
	// object, then the rendered, the desired and the applied object.
	object *unstructured.Unstructured
	// template is nil if the resource is not in spec.resources. unrendered is the
	// error of rendering the template.
	template   *template
	unrendered error
	// desired is nil if the last function did not return the resource.
	desired *fnio.DesiredResource
}

func (r *reconcile) composed(name string) *composed {
	c, ok := r.resources[name]
	if !ok {
		c = &composed{name: name, object: &unstructured.Unstructured{Object: map[string]any{}}}
		r.resources[name] = c
	}
	return c
}

func (r *reconcile) sorted() []*composed {
	all := make([]*composed, 0, len(r.resources))
	for _, name := range slices.Sorted(maps.Keys(r.resources)) {
		all = append(all, r.resources[name])
	}
	return all
}

// observe reads the composed resources that the XR refers to. It ignores resources that
// another object controls.
func (r *reconcile) observe() error {
	r.resources = map[string]*composed{}
	store := reconciler.Store(r.store.objects)
	r.details = store.ConnectionDetails(r.xr)
	for _, ref := range fieldpath.List(r.xr.Object, "spec", "resourceRefs") {
		o := r.store.get(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": fieldpath.At(ref, "apiVersion"), "kind": fieldpath.At(ref, "kind"),
			"metadata": map[string]any{"name": fieldpath.At(ref, "name"), "namespace": fieldpath.At(ref, "namespace")},
		}})
		if o == nil || o.GetName() == "" {
			continue
		}
		if c := metav1.GetControllerOfNoCopy(o); c != nil && c.UID != r.xr.GetUID() {
			continue
		}
		name := o.GetAnnotations()[reconciler.AnnotationResourceName]
		if name == "" {
			return errors.New(`encountered composed resource without required "` + reconciler.AnnotationResourceName + `" annotation`)
		}
		c := r.composed(name)
		c.observed, c.object, c.details = o, o, store.ConnectionDetails(o)
	}
	return nil
}

func (r *reconcile) functionIOObserved() (fnio.Observed, error) {
	raw, err := rawOf(r.xr)
	if err != nil {
		return fnio.Observed{}, fmt.Errorf("cannot marshal composite resource: %w", err)
	}
	o := fnio.Observed{Composite: fnio.ObservedComposite{Resource: raw, ConnectionDetails: explicit(r.details)}}
	for _, c := range r.sorted() {
		if raw, err = rawOf(c.observed); err != nil {
			return o, fmt.Errorf("cannot marshal composed resource: %w", err)
		}
		o.Resources = append(o.Resources, fnio.ObservedResource{Name: c.name, Resource: raw, ConnectionDetails: explicit(c.details)})
	}
	return o, nil
}

// functionIODesired returns the desired state that the first function gets. It
// contains the XR and the resources that were rendered from templates.
func (r *reconcile) functionIODesired() (fnio.Desired, error) {
	raw, err := rawOf(r.xr)
	if err != nil {
		return fnio.Desired{}, fmt.Errorf("cannot marshal composite resource: %w", err)
	}
	d := fnio.Desired{Composite: fnio.DesiredComposite{Resource: raw, ConnectionDetails: explicit(r.details)}}
	for _, c := range r.sorted() {
		if c.template == nil {
			continue
		}
		if raw, err = rawOf(c.object); err != nil {
			return d, fmt.Errorf("cannot marshal composed resource: %w", err)
		}
		d.Resources = append(d.Resources, fnio.DesiredResource{Name: c.name, Resource: raw})
	}
	return d, nil
}

func rawOf(u *unstructured.Unstructured) (runtime.RawExtension, error) {
	raw, err := json.Marshal(u.Object)
	return runtime.RawExtension{Raw: raw}, err
}

// explicit returns connection details sorted by name. Bytes that are not UTF-8
// are replaced when they are encoded.
func explicit(details map[string][]byte) []fnio.ExplicitConnectionDetail {
	all := make([]fnio.ExplicitConnectionDetail, 0, len(details))
	for _, name := range slices.Sorted(maps.Keys(details)) {
		all = append(all, fnio.ExplicitConnectionDetail{Name: name, Value: string(details[name])})
	}
	return all
}
