package alpha

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// What an object has after it was created.
const (
	newUID  = "uid-new"
	newTime = "2023-03-01T00:00:00Z"
)

// A Store is an API server's in memory, which accepts any object. It makes the
// names of objects from their generateName and a number of five digits, and has
// but the status of objects that it is given.
type Store struct {
	objects []*unstructured.Unstructured
	calls   []string
	names   int
}

// NewStore returns a Store that has copies of objects.
func NewStore(objects ...*unstructured.Unstructured) *Store {
	s := &Store{}
	for _, o := range objects {
		s.add(o)
	}
	return s
}

// Objects returns what is in the store, sorted by apiVersion, kind, namespace
// and name.
func (s *Store) Objects() []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, len(s.objects))
	for i, o := range s.objects {
		all[i] = o.DeepCopy()
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()), cmp.Compare(a.GetKind(), b.GetKind()),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// Calls returns what was done to the store, in order, as in "create Widget a".
// Reading is not among it.
func (s *Store) Calls() []string { return slices.Clone(s.calls) }

func (s *Store) called(what string, u *unstructured.Unstructured) {
	s.calls = append(s.calls, fmt.Sprintf("%s %s %s", what, u.GetKind(), u.GetName()))
}

// add puts a copy of an object into the store, unless it is there.
func (s *Store) add(u *unstructured.Unstructured) {
	if s.find(u) < 0 {
		s.objects = append(s.objects, u.DeepCopy())
	}
}

// find returns the index of the object of u's identity, or -1.
func (s *Store) find(u *unstructured.Unstructured) int {
	return slices.IndexFunc(s.objects, func(o *unstructured.Unstructured) bool {
		return o.GetAPIVersion() == u.GetAPIVersion() && o.GetKind() == u.GetKind() && o.GetNamespace() == u.GetNamespace() && o.GetName() == u.GetName()
	})
}

// get returns a copy of the object of u's identity, or nil.
func (s *Store) get(u *unstructured.Unstructured) *unstructured.Unstructured {
	i := s.find(u)
	if i < 0 {
		return nil
	}
	return s.objects[i].DeepCopy()
}

// connectionDetails returns the data of the Secret that o writes its connection
// details to.
func (s *Store) connectionDetails(o *unstructured.Unstructured) map[string][]byte {
	return reconciler.Store(s.objects).ConnectionDetails(o)
}

// dryRun names u as it would be if it were created.
func (s *Store) dryRun(u *unstructured.Unstructured) {
	s.name(u)
	s.called("dry-run create", u)
}

func (s *Store) name(u *unstructured.Unstructured) {
	s.names++
	u.SetName(fmt.Sprintf("%s%05d", u.GetGenerateName(), s.names))
}

// apply creates an object, or merges it into the one that exists if may says so,
// and returns what the store has then.
func (s *Store) apply(u *unstructured.Unstructured, may func(current *unstructured.Unstructured) error) (*unstructured.Unstructured, error) {
	switch {
	case u.GetName() == "" && u.GetGenerateName() == "":
		return nil, errors.New("cannot get object: resource name may not be empty")
	case u.GetName() == "":
		return s.create(u), nil
	}
	i := s.find(u)
	if i < 0 {
		return s.create(u), nil
	}
	if err := may(s.objects[i]); err != nil {
		return nil, err
	}
	patch := maps.Clone(u.Object)
	delete(patch, "status")
	s.objects[i] = &unstructured.Unstructured{Object: merge(s.objects[i].Object, patch).(map[string]any)}
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

// merge returns what becomes of a value by a JSON Merge Patch (RFC 7396). It
// changes neither.
func merge(value, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return runtime.DeepCopyJSONValue(patch)
	}
	was, _ := value.(map[string]any)
	merged := maps.Clone(was)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, v := range fields {
		if v == nil {
			delete(merged, key)
			continue
		}
		merged[key] = merge(merged[key], v)
	}
	return merged
}

// Cluster returns the XR and a store as they stand in a cluster before a
// reconcile, for those who have less: the XR gets a UID that depends on what it
// is alone, labels, and references to the observed resources, which get the XR
// as their controller unless they have one, and a time of creation. Others are
// there as they are, such as Secrets. No argument is changed.
func Cluster(xr *unstructured.Unstructured, observed, others []*unstructured.Unstructured) (*unstructured.Unstructured, *Store) {
	xr = xr.DeepCopy()
	if xr.GetUID() == "" {
		id := xr.GroupVersionKind().String() + "\x00" + xr.GetNamespace() + "\x00" + xr.GetName()
		xr.SetUID(types.UID(uuid.NewSHA1(uuid.Nil, []byte(id)).String()))
	}
	label(xr)
	store := NewStore(others...)
	refs := []any{}
	for _, o := range observed {
		o = o.DeepCopy()
		if created := o.GetCreationTimestamp(); created.IsZero() {
			_ = unstructured.SetNestedField(o.Object, reconciler.Time, "metadata", "creationTimestamp")
		}
		// Where another controls it, it is not the XR's.
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

// label sets the labels that an XR hands on to its resources, which Crossplane
// sets before the first reconcile.
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
