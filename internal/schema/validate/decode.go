package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A place is the position of an object in a document. The zero value is an
// unknown position.
type place struct {
	doc manifest.Document
	// field is the path of the object in the document, such as "items[0]" for an
	// item of a list. It is empty if the object is the whole document.
	field string
	lines func() manifest.Lines
}

// line returns the line of the field in the file, or 0 if it is unknown. field
// is a path in the object.
func (p place) line(field string) int {
	if p.lines == nil {
		return p.doc.Line
	}
	if field == "" && p.field == "" {
		return p.doc.FirstLine()
	}
	return p.lines().Of(strings.Trim(p.field+"."+field, "."))
}

// boolean returns the next step for a fault about a word that YAML reads as a boolean, or "".
func (p place) boolean(f Fault) hint.Hint {
	if p.lines == nil || !unquoted().MatchString(f.Text) {
		return ""
	}
	return p.lines().Boolean(strings.Trim(p.field+"."+f.Field, "."))
}

// decode returns the object in a document or, if that is a list, its items. Items are decoded
// one after the other, because the values of all items together need about ten times the
// memory of their text. If the document has a duplicate key, decode returns the objects and
// the error for the key as duplicate.
func decode(doc manifest.Document) (objects iter.Seq2[place, map[string]any], duplicate, err error) {
	// A list has the word items, which an escape can hide.
	if !bytes.Contains(doc.Text, []byte("items")) && bytes.IndexByte(doc.Text, '\\') < 0 {
		obj, duplicate, err := doc.StrictObject()
		return one(doc, obj), duplicate, err
	}
	data, duplicate := doc.StrictJSON()
	if duplicate != nil {
		obj, err := doc.Object()
		if err != nil {
			return nil, nil, err
		}
		if data, err = json.Marshal(obj); err != nil {
			return nil, nil, err
		}
	}
	lines := sync.OnceValue(doc.Lines)
	if items, ok := items(data); ok {
		return func(yield func(place, map[string]any) bool) {
			for i, item := range items {
				var obj map[string]any
				_ = kjson.Unmarshal(item, &obj) // An item that is not an object has no kind.
				if !yield(place{doc: doc, lines: lines, field: fmt.Sprintf("items[%d]", i)}, obj) {
					return
				}
			}
		}, duplicate, nil
	}
	v, _ := manifest.FromJSON(data)
	obj, _ := v.(map[string]any)
	if obj == nil {
		if _, err := doc.Object(); err != nil {
			return nil, nil, err
		}
	}
	return one(doc, obj), duplicate, nil
}

// one yields obj, the object in doc.
func one(doc manifest.Document, obj map[string]any) iter.Seq2[place, map[string]any] {
	return func(yield func(place, map[string]any) bool) {
		yield(place{doc: doc, lines: sync.OnceValue(doc.Lines)}, obj)
	}
}

// items returns the items of a list, and false for another object. The kind of a list ends
// with "List".
func items(data []byte) ([]json.RawMessage, bool) {
	if !bytes.Contains(data, []byte(`"items":[`)) {
		return nil, false
	}
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	err := kjson.Unmarshal(data, &list)
	return list.Items, err == nil && list.Items != nil && strings.HasSuffix(list.Kind, "List")
}

// plain returns a copy of obj whose values have the types of decoded JSON, with
// whole numbers as int64.
func plain(obj map[string]any) (map[string]any, error) {
	data, err := kjson.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, kjson.Unmarshal(data, &out)
}

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
