package reconciler

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A Store has the objects that functions may require.
type Store []*unstructured.Unstructured

// Check returns an error if an object cannot be sent to a function.
func (s Store) Check() error {
	for _, o := range s {
		if _, err := structpb.NewStruct(o.Object); err != nil {
			return fmt.Errorf("encoding %s %q: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// Exact finds objects as an API server does, sorted by namespace and name.
func (s Store) Exact(sel *fnv1.ResourceSelector) *fnv1.Resources {
	_, byName := sel.GetMatch().(*fnv1.ResourceSelector_MatchName)
	found := slices.DeleteFunc(s.find(sel), func(o *unstructured.Unstructured) bool {
		return (byName || sel.GetNamespace() != "") && o.GetNamespace() != sel.GetNamespace()
	})
	slices.SortStableFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return resources(found)
}

// ByName finds objects in all namespaces, by name; for a name, only the first.
func (s Store) ByName(sel *fnv1.ResourceSelector) *fnv1.Resources {
	found := s.anywhere(sel)
	slices.SortStableFunc(found, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return resources(found)
}

// InOrder finds objects in all namespaces; for a name, only the first.
func (s Store) InOrder(sel *fnv1.ResourceSelector) *fnv1.Resources {
	return resources(s.anywhere(sel))
}

func (s Store) anywhere(sel *fnv1.ResourceSelector) []*unstructured.Unstructured {
	found := s.find(sel)
	if _, byName := sel.GetMatch().(*fnv1.ResourceSelector_MatchName); byName && len(found) > 1 {
		return found[:1]
	}
	return found
}

func (s Store) find(sel *fnv1.ResourceSelector) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, o := range s {
		if o.GetAPIVersion() == sel.GetApiVersion() && o.GetKind() == sel.GetKind() && matches(o, sel) {
			found = append(found, o)
		}
	}
	return found
}

func matches(o *unstructured.Unstructured, sel *fnv1.ResourceSelector) bool {
	switch m := sel.GetMatch().(type) {
	case *fnv1.ResourceSelector_MatchName:
		return o.GetName() == m.MatchName
	case *fnv1.ResourceSelector_MatchLabels:
		labels := o.GetLabels()
		for k, want := range m.MatchLabels.GetLabels() {
			if got, ok := labels[k]; !ok || got != want {
				return false
			}
		}
	}
	return true
}

func resources(found []*unstructured.Unstructured) *fnv1.Resources {
	rs := &fnv1.Resources{}
	for _, o := range found {
		// Check has reported errors of this call.
		if s, err := structpb.NewStruct(o.Object); err == nil {
			rs.Items = append(rs.Items, &fnv1.Resource{Resource: s})
		}
	}
	return rs
}

// Secret returns the data of a Secret in the store. It ignores stringData.
func (s Store) Secret(namespace, name string) (map[string][]byte, bool) {
	i := slices.IndexFunc(s, func(o *unstructured.Unstructured) bool {
		return o.GetAPIVersion() == "v1" && o.GetKind() == "Secret" && o.GetNamespace() == namespace && o.GetName() == name
	})
	if i < 0 {
		return nil, false
	}
	encoded, _, _ := unstructured.NestedStringMap(s[i].Object, "data")
	data := make(map[string][]byte, len(encoded))
	for k, v := range encoded {
		if b, err := base64.StdEncoding.DecodeString(v); err == nil {
			data[k] = b
		}
	}
	return data, true
}

// ConnectionDetails returns the data of the Secret that a resource writes its
// connection details to, if the store has it.
func (s Store) ConnectionDetails(o *unstructured.Unstructured) map[string][]byte {
	ref, found, _ := unstructured.NestedStringMap(o.Object, "spec", "writeConnectionSecretToRef")
	if !found {
		return nil
	}
	data, _ := s.Secret(cmp.Or(ref["namespace"], o.GetNamespace()), ref["name"])
	return data
}
