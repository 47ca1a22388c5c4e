package validate

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// A place is the position of an object. The zero value is an unknown position.
type place struct {
	doc manifest.Document
	// field is the path of the object in the document, or empty for a whole document.
	field string
	lines func() manifest.Lines
}

// line returns the line of a field of the object, or 0 if it is unknown.
func (p place) line(field string) int {
	if p.lines == nil {
		return p.doc.Line
	}
	if field == "" && p.field == "" {
		return p.doc.FirstLine()
	}
	return p.lines().Of(strings.Trim(p.field+"."+field, "."))
}

// decode returns the object of a document, and whether a key occurs twice as the
// error duplicate.
func decode(doc manifest.Document) (obj map[string]any, duplicate, err error) {
	data, duplicate := doc.StrictJSON()
	if duplicate == nil && json.Unmarshal(data, &obj) == nil && obj != nil {
		return obj, nil, nil
	}
	obj, err = doc.Object()
	return obj, duplicate, err
}

// plain returns an object with the types of decoded JSON, whole numbers as int64.
func plain(obj map[string]any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(data, &out)
}
