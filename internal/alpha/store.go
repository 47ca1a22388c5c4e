package alpha

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
)

// Defaults of a created object.
const (
	newUID  = "uid-new"
	newTime = "2023-03-01T00:00:00Z"
)

// A Store is an in-memory API server that accepts any object. It makes names from
// generateName and a number of five digits. It ignores the status of applied objects.
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

// called records a write call, such as "create Widget a".
func (s *Store) called(what string, u *unstructured.Unstructured) {
	s.calls = append(s.calls, fmt.Sprintf("%s %s %s", what, u.GetKind(), u.GetName()))
}

// add adds a copy of an object, unless the store has it.
func (s *Store) add(u *unstructured.Unstructured) {
	if s.find(u) < 0 {
		s.objects = append(s.objects, u.DeepCopy())
	}
}

// find returns the index of the object with u's identity, or -1.
func (s *Store) find(u *unstructured.Unstructured) int {
	return slices.IndexFunc(s.objects, func(o *unstructured.Unstructured) bool {
		return o.GetAPIVersion() == u.GetAPIVersion() && o.GetKind() == u.GetKind() && o.GetNamespace() == u.GetNamespace() && o.GetName() == u.GetName()
	})
}

// get returns a copy of the object with u's identity, or nil.
func (s *Store) get(u *unstructured.Unstructured) *unstructured.Unstructured {
	i := s.find(u)
	if i < 0 {
		return nil
	}
	return s.objects[i].DeepCopy()
}

// dryRun sets the name that u would get if it were created.
func (s *Store) dryRun(u *unstructured.Unstructured) {
	s.name(u)
	s.called("dry-run create", u)
}

func (s *Store) name(u *unstructured.Unstructured) {
	s.names++
	u.SetName(fmt.Sprintf("%s%05d", u.GetGenerateName(), s.names))
}

// apply creates an object, or merges it into the existing one, and returns the
// stored object. Only owner, unless it is nil, may control the existing one.
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

// merge returns the result of a JSON Merge Patch (RFC 7396). It changes neither
// argument.
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

// Cluster returns copies of the XR and of the objects as a cluster has them before a
// reconcile. The XR gets a UID that depends only on its identity, labels, and
// references to the observed resources. Those get a creation timestamp, and the XR as
// controller unless they have one. Others, such as Secrets, are not changed.
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
		// A resource that another object controls is left as it is.
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

// label sets the XR's labels that its resources inherit. Crossplane sets them
// before the first reconcile.
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
