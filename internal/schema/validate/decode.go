package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"

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
	if !mayBeList(doc.Text) {
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

// mayBeList reports whether items can find the items of a list in the JSON of a document. An escape
// in the document can hide the word.
func mayBeList(text []byte) bool {
	return bytes.Contains(text, []byte("items")) || bytes.IndexByte(text, '\\') >= 0
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
