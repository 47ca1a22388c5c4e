package alpha

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects returns copies of the stored objects, sorted by apiVersion, kind,
// namespace and name.
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

// Calls returns the write calls to the store in order, such as "create Widget a".
func (s *Store) Calls() []string { return slices.Clone(s.calls) }
