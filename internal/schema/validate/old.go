package validate

import (
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// Old holds the objects that others replace. The zero value holds none.
type Old map[identity]map[string]any

// An identity tells an object from all others.
type identity struct {
	kschema.GroupVersionKind
	namespace, name string
}

func identify(obj map[string]any, gvk kschema.GroupVersionKind) identity {
	u := unstructured.Unstructured{Object: obj}
	return identity{gvk, u.GetNamespace(), u.GetName()}
}

// ReadOld returns the objects of documents, those of lists among them. The first
// document that holds no object is an error.
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

// old returns the object that obj replaces, in the namespace that it has by now,
// or nil.
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
