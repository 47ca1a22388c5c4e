package validate

import (
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// Old contains the existing objects that validated objects replace, by identity.
type Old map[identity]map[string]any

// An identity is the version, kind, namespace and name of an object.
type identity struct {
	kschema.GroupVersionKind
	namespace, name string
}

func identify(obj map[string]any, gvk kschema.GroupVersionKind) identity {
	u := unstructured.Unstructured{Object: obj}
	return identity{gvk, u.GetNamespace(), u.GetName()}
}

// ReadOld returns the objects in docs. It returns the items of a list
// separately. A document that is not an object is an error.
func ReadOld(docs iter.Seq2[manifest.Document, error]) (Old, error) {
	all := Old{}
	for doc, err := range docs {
		if err != nil {
			return nil, err
		}
		objects, _, err := decode(doc)
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			u := unstructured.Unstructured{Object: obj}
			all[identify(obj, u.GroupVersionKind())] = obj
		}
	}
	return all, nil
}

// old returns the existing object that obj replaces, or nil. An existing object
// without a namespace counts as being in the default namespace.
func (v *Validator) old(obj map[string]any, gvk kschema.GroupVersionKind) map[string]any {
	if len(v.Old) == 0 {
		return nil
	}
	id := identify(obj, gvk)
	old, ok := v.Old[id]
	if !ok && id.namespace == v.Namespace {
		id.namespace = ""
		if old, ok = v.Old[id]; ok {
			old = v.placed(old, true)
		}
	}
	if id.name == "" {
		return nil
	}
	return old
}
