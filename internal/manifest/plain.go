package manifest

import (
	"math"
	"unicode/utf8"
)

// maxPlain limits the depth of the values that plain converts.
const maxPlain = 100

// plain is the value of the document, decoded without JSON between. ok is false if the conversion
// through JSON could change the value or fail, or if it needs less memory, as for large documents.
func (d Document) plain(unmarshal func([]byte, any) error) (v any, ok bool) {
	if d.JSON != nil || len(d.Text) >= minCompact {
		return nil, false
	}
	if what, _ := foreignFormat(d.Text); what != "" {
		return nil, false
	}
	if unmarshal(d.Text, &v) != nil {
		return nil, false
	}
	return plainValue(v, maxPlain)
}

// plainValue converts a value of the YAML library to the types of decoded JSON. ok is false for a
// value that JSON does not have or that it writes in another form, and below depth.
func plainValue(v any, depth int) (_ any, ok bool) {
	if depth == 0 {
		return nil, false
	}
	switch v := v.(type) {
	case nil, bool:
		return v, true
	case int:
		return int64(v), true
	case float64:
		return v, v != math.Trunc(v) && !math.IsNaN(v) // 1.0 becomes 1, which is an int64
	case string:
		return v, utf8.ValidString(v)
	case []any:
		for i := range v {
			if v[i], ok = plainValue(v[i], depth-1); !ok {
				return nil, false
			}
		}
		return v, true
	case map[any]any:
		object := make(map[string]any, len(v))
		for key, value := range v {
			name, isText := key.(string)
			if !isText || !utf8.ValidString(name) {
				return nil, false
			}
			if object[name], ok = plainValue(value, depth-1); !ok {
				return nil, false
			}
		}
		return object, true
	}
	return nil, false
}
