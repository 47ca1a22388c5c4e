package manifest

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A field is a field of a struct with its tags.
type field struct {
	index           int
	name, doc       string
	enum            []string
	required, short bool
	single          bool
	// whole has the keys that make an object the value of this field. nil
	// means none, and an empty list any object.
	whole []string
}

var known sync.Map // of reflect.Type to []field

// fieldsOf returns the decoded fields in order.
func fieldsOf(t reflect.Type) []field {
	if fields, ok := known.Load(t); ok {
		return fields.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		f := field{index: i, name: name, doc: tag.Get("doc"), enum: splitList(tag.Get("enum"))}
		_, f.required = tag.Lookup("required")
		_, f.short = tag.Lookup("short")
		_, f.single = tag.Lookup("single")
		if keys, ok := tag.Lookup("whole"); ok {
			f.whole = append([]string{}, splitList(keys)...)
		}
		if f.name != "" && f.name != "-" || f.short || f.whole != nil {
			fields = append(fields, f)
		}
	}
	known.Store(t, fields)
	return fields
}

func splitList(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func (f field) isWhole(m map[string]any) bool {
	return f.whole != nil && (len(f.whole) == 0 || slices.ContainsFunc(f.whole, func(key string) bool { _, ok := m[key]; return ok }))
}
