package reconciler

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Store has the objects that functions may require.
type Store []*unstructured.Unstructured

// Check returns an error if an object cannot be sent to a function.
func (s Store) Check() error {
	for _, o := range s {
		if _, err := newStruct(o.Object); err != nil {
			return fmt.Errorf("encoding %s %q: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// Exact returns the objects that match a selector by the rules of an API server,
// sorted by namespace and name. It uses the first of several objects with the
// same identity. For a selector without a name, the suffix List of its kind is not
// part of the kind: Crossplane lists the kind, as clients of Kubernetes do.
func (s Store) Exact(sel *fnv1.ResourceSelector) *fnv1.Resources {
	_, byName := sel.GetMatch().(*fnv1.ResourceSelector_MatchName)
	kind := sel.GetKind()
	if item := strings.TrimSuffix(kind, "List"); !byName && item != "" {
		kind = item
	}
	var found []*unstructured.Unstructured
	seen := map[identity]bool{}
	for _, o := range s {
		if !hasKind(o, sel.GetApiVersion(), kind) || (byName || sel.GetNamespace() != "") && o.GetNamespace() != sel.GetNamespace() {
			continue
		}
		id := identityOf(o)
		if !seen[id] && matches(o, sel) {
			found = append(found, o)
		}
		seen[id] = true
	}
	slices.SortStableFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return resources(found)
}

// ByName returns the objects of all namespaces that match a selector, sorted by
// name. For a selector with a name it returns at most one object.
func (s Store) ByName(sel *fnv1.ResourceSelector) *fnv1.Resources {
	found := s.anywhere(sel)
	slices.SortStableFunc(found, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return resources(found)
}

// InOrder returns the objects of all namespaces that match a selector, in the
// order of the store. For a selector with a name it returns at most one object,
// and for a selector without a name and labels it returns none.
func (s Store) InOrder(sel *fnv1.ResourceSelector) *fnv1.Resources {
	if sel.GetMatch() == nil {
		return &fnv1.Resources{}
	}
	return resources(s.anywhere(sel))
}

func (s Store) anywhere(sel *fnv1.ResourceSelector) []*unstructured.Unstructured {
	_, byName := sel.GetMatch().(*fnv1.ResourceSelector_MatchName)
	var found []*unstructured.Unstructured
	for _, o := range s {
		if hasKind(o, sel.GetApiVersion(), sel.GetKind()) && matches(o, sel) && !(byName && len(found) > 0) {
			found = append(found, o)
		}
	}
	return found
}

func hasKind(o *unstructured.Unstructured, apiVersion, kind string) bool {
	return o.GetAPIVersion() == apiVersion && o.GetKind() == kind
}

// An identity identifies an object in an API server.
type identity struct{ apiVersion, kind, namespace, name string }

func identityOf(o *unstructured.Unstructured) identity {
	return identity{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}
}

func (s Store) identities() map[identity]bool {
	all := make(map[identity]bool, len(s))
	for _, o := range s {
		all[identityOf(o)] = true
	}
	return all
}

// referenced returns the objects that refs name, in the order of refs. If namespace is
// not empty, it replaces the namespaces in refs. Of several objects with the same
// identity, referenced returns the first.
func (s Store) referenced(refs []any, namespace string) []*unstructured.Unstructured {
	ids, names := make([]identity, len(refs)), map[string]bool{}
	for i, ref := range refs {
		text := func(key string) string { return fieldpath.Text(ref, key) }
		ids[i] = identity{text("apiVersion"), text("kind"), cmp.Or(namespace, text("namespace")), text("name")}
		names[ids[i].name] = ids[i].name != ""
	}
	byID := map[identity]*unstructured.Unstructured{}
	for _, o := range slices.Backward(s) {
		if names[o.GetName()] { // Comparing names first is fast in a store of many objects.
			byID[identityOf(o)] = o
		}
	}
	var found []*unstructured.Unstructured
	for _, id := range ids {
		if o := byID[id]; o != nil {
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
		// Store.Check has returned an error for an object that cannot be encoded.
		if s, err := newStruct(o.Object); err == nil {
			rs.Items = append(rs.Items, &fnv1.Resource{Resource: s})
		}
	}
	return rs
}

// Secret returns the data of a Secret in the store. It ignores stringData, and values that are
// not base64. A null is empty.
func (s Store) Secret(namespace, name string) (map[string][]byte, bool) {
	i := slices.IndexFunc(s, func(o *unstructured.Unstructured) bool {
		return o.GetAPIVersion() == "v1" && o.GetKind() == "Secret" && o.GetNamespace() == namespace && o.GetName() == name
	})
	if i < 0 {
		return nil, false
	}
	encoded := fieldpath.Map(s[i].Object, "data")
	data := make(map[string][]byte, len(encoded))
	for k, v := range encoded {
		text, isText := v.(string)
		if b, err := base64.StdEncoding.DecodeString(text); err == nil && (isText || v == nil) {
			data[k] = b
		}
	}
	return data, true
}

// ConnectionDetails returns the data of the Secret in o's
// writeConnectionSecretToRef, or nil if the store does not have this Secret.
// The Secret of a namespaced object is in the object's own namespace.
func (s Store) ConnectionDetails(o *unstructured.Unstructured) map[string][]byte {
	name, _, badName := unstructured.NestedString(o.Object, "spec", fieldSecretRef, "name")
	namespace, _, badNamespace := unstructured.NestedString(o.Object, "spec", fieldSecretRef, "namespace")
	if badName != nil || badNamespace != nil {
		return nil
	}
	data, _ := s.Secret(cmp.Or(o.GetNamespace(), namespace), name)
	return data
}
