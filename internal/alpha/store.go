package alpha

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// The UID and creation timestamp that a Store sets on a created object.
const (
	newUID  = "uid-new"
	newTime = "2023-03-01T00:00:00Z"
)

// A Store is an in-memory API server that accepts any object. For an object
// without a name, it appends a number of five digits to generateName. It ignores
// the status of applied objects.
type Store struct {
	objects []*unstructured.Unstructured
	calls   []string
	names   int
}

// NewStore returns a Store with copies of objects.
func NewStore(objects ...*unstructured.Unstructured) *Store {
	s := &Store{}
	for _, o := range objects {
		s.add(o)
	}
	return s
}

// called records a write call, such as "create Widget a", for tests.
func (s *Store) called(what string, u *unstructured.Unstructured) {
	s.calls = append(s.calls, fmt.Sprintf("%s %s %s", what, u.GetKind(), u.GetName()))
}

// add adds a copy of an object, unless the store has an object with the same identity.
func (s *Store) add(u *unstructured.Unstructured) {
	if s.find(u) < 0 {
		s.objects = append(s.objects, u.DeepCopy())
	}
}

func (s *Store) find(u *unstructured.Unstructured) int {
	return slices.IndexFunc(s.objects, func(o *unstructured.Unstructured) bool {
		return o.GetAPIVersion() == u.GetAPIVersion() && o.GetKind() == u.GetKind() && o.GetNamespace() == u.GetNamespace() && o.GetName() == u.GetName()
	})
}

// get returns a copy of the stored object with u's identity, or nil if there is none.
func (s *Store) get(u *unstructured.Unstructured) *unstructured.Unstructured {
	i := s.find(u)
	if i < 0 {
		return nil
	}
	return s.objects[i].DeepCopy()
}

// dryRun sets the name that the store would generate for u.
func (s *Store) dryRun(u *unstructured.Unstructured) {
	s.name(u)
	s.called("dry-run create", u)
}

func (s *Store) name(u *unstructured.Unstructured) {
	s.names++
	u.SetName(fmt.Sprintf("%s%05d", u.GetGenerateName(), s.names))
}

// apply creates u, or merges u into the existing object with the same identity.
// It returns a copy of the stored object. Unless owner is nil, it returns an
// error if an object other than owner controls the existing object.
func (s *Store) apply(u, owner *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if u.GetName() == "" && u.GetGenerateName() == "" {
		return nil, errors.New("cannot get object: resource name may not be empty")
	}
	i := s.find(u)
	if u.GetName() == "" || i < 0 {
		return s.create(u), nil
	}
	if c := metav1.GetControllerOfNoCopy(s.objects[i]); owner != nil && c != nil && c.UID != owner.GetUID() {
		return nil, fmt.Errorf("existing object is not controlled by UID %q", owner.GetUID())
	}
	patch := maps.Clone(u.Object)
	delete(patch, "status")
	s.objects[i] = &unstructured.Unstructured{Object: fieldpath.Map(fieldpath.MergePatch(s.objects[i].Object, runtime.DeepCopyJSON(patch)))}
	s.called("patch application/merge-patch+json", u)
	return s.objects[i].DeepCopy(), nil
}

func (s *Store) create(u *unstructured.Unstructured) *unstructured.Unstructured {
	made := u.DeepCopy()
	if made.GetName() == "" {
		s.name(made)
	}
	delete(made.Object, "status")
	made.SetUID(types.UID(newUID))
	_ = unstructured.SetNestedField(made.Object, newTime, "metadata", "creationTimestamp")
	s.objects = append(s.objects, made)
	s.called("create", made)
	return made.DeepCopy()
}

func (s *Store) delete(u *unstructured.Unstructured) {
	if i := s.find(u); i >= 0 {
		s.objects = slices.Delete(s.objects, i, i+1)
		s.called("delete", u)
	}
}

// Cluster returns a copy of the XR, and a store with copies of all objects. They have the
// fields that a cluster sets before a reconcile. The XR gets labels, references to the
// observed resources, and, if it has none, a UID that depends only on its identity. The
// observed resources get a creation timestamp, and the XR as controller unless they have
// one. The objects in others, such as Secrets, are not changed.
func Cluster(xr *unstructured.Unstructured, observed, others []*unstructured.Unstructured) (*unstructured.Unstructured, *Store) {
	xr = xr.DeepCopy()
	reconciler.Identify(xr)
	label(xr)
	store := NewStore(others...)
	refs := []any{}
	for _, o := range observed {
		o = o.DeepCopy()
		if created := o.GetCreationTimestamp(); created.IsZero() {
			_ = unstructured.SetNestedField(o.Object, reconciler.Time, "metadata", "creationTimestamp")
		}
		// The error is ignored: a resource with another controller keeps it.
		_ = reconciler.SetController(o, xr)
		store.add(o)
		ref := reference(o)
		delete(ref, "uid")
		refs = append(refs, ref)
	}
	if len(refs) > 0 {
		_ = unstructured.SetNestedSlice(xr.Object, refs, "spec", "resourceRefs")
	}
	store.add(xr)
	return xr, store
}

// label sets the labels of the XR that its composed resources inherit. Crossplane
// sets them before the first reconcile.
func label(xr *unstructured.Unstructured) {
	labels := xr.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[reconciler.LabelComposite] = cmp.Or(labels[reconciler.LabelComposite], xr.GetName())
	for key, field := range map[string]string{reconciler.LabelClaimName: "name", reconciler.LabelClaimNamespace: "namespace"} {
		if value, _, _ := unstructured.NestedString(xr.Object, "spec", "claimRef", field); value != "" && labels[key] == "" {
			labels[key] = value
		}
	}
	xr.SetLabels(labels)
}
