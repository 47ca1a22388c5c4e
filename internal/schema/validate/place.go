package validate

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// A place is where an object stands. The zero value is nowhere.
type place struct {
	doc manifest.Document
	// field is that of the document which the object is, or empty for all of it.
	field string
	lines func() manifest.Lines
}

// lazyLines reads a document for its lines when one is asked for.
func lazyLines(doc manifest.Document) func() manifest.Lines {
	return sync.OnceValue(doc.Lines)
}

// line returns the line of a field of the object, or 0 if nobody knows.
func (p place) line(field string) int {
	if p.lines == nil {
		return 0
	}
	if field == "" && p.field == "" {
		return p.doc.FirstLine()
	}
	return p.lines().Of(strings.Trim(p.field+"."+field, "."))
}

// decode returns the object of a document, and as an error besides that a key of
// it occurs twice.
func decode(doc manifest.Document) (obj map[string]any, twice, err error) {
	data, twice := doc.StrictJSON()
	if twice == nil {
		if err := json.Unmarshal(data, &obj); err == nil && obj != nil {
			return obj, nil, nil
		}
	}
	obj, err = doc.Object()
	return obj, twice, err
}

// plain returns an object as JSON decodes, whole numbers as int64.
func plain(obj map[string]any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(data, &out)
}
