package validate

import (
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// Old has the objects that others replace. The zero value is empty.
type Old map[identity]map[string]any

// An identity identifies an object.
type identity struct {
	kschema.GroupVersionKind
	namespace, name string
}

func identify(obj map[string]any, gvk kschema.GroupVersionKind) identity {
	u := unstructured.Unstructured{Object: obj}
	return identity{gvk, u.GetNamespace(), u.GetName()}
}

// ReadOld returns the objects in documents and in lists. A document without an
// object is an error.
func ReadOld(docs iter.Seq2[manifest.Document, error]) (Old, error) {
	all := Old{}
	for doc, err := range docs {
		if err != nil {
			return nil, err
		}
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		for _, obj := range members(doc, obj) {
			u := unstructured.Unstructured{Object: obj}
			all[identify(obj, u.GroupVersionKind())] = obj
		}
	}
	return all, nil
}

// old returns the object that obj replaces, in its current namespace, or nil.
func (v *Validator) old(obj map[string]any, gvk kschema.GroupVersionKind) map[string]any {
	if len(v.Old) == 0 {
		return nil
	}
	id := identify(obj, gvk)
	if id.name == "" {
		return nil
	}
	if old, ok := v.Old[id]; ok {
		return old
	}
	if id.namespace != v.Namespace {
		return nil
	}
	id.namespace = ""
	if old, ok := v.Old[id]; ok {
		return v.placed(old, true)
	}
	return nil
}
