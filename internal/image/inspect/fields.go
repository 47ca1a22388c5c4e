package inspect

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Field is a field that two objects do not have alike.
type Field struct {
	// Path is as in "spec.pipeline[run].input", where an element of a list is
	// named by what tells it from the others, or by its number.
	Path   string `json:"path"`
	Change string `json:"change"`
	// From and To are the values. Those of schemas are left out.
	From     any  `json:"from,omitempty"`
	To       any  `json:"to,omitempty"`
	Breaking bool `json:"breaking,omitempty"`
}

const (
	// maxFields bounds how many fields are told apart, and maxPath how deep.
	maxFields = 1000
	maxPath   = 64
)

// Fields returns the fields in which two objects differ, in the order of their
// names: the innermost ones, so that what is added whole is one field. Beyond
// 1000 fields the rest of an object counts as one, too.
func Fields(from, to map[string]any) []Field {
	f := &fields{}
	f.maps(nil, from, to)
	return f.all
}

type fields struct{ all []Field }

func (f *fields) add(path []string, change string, from, to any) {
	if len(path) > 0 && path[len(path)-1] == schemaField {
		from, to = nil, nil
	}
	f.all = append(f.all, Field{Path: strings.ReplaceAll(strings.Join(path, "."), ".[", "["), Change: change, From: from, To: to})
}

// schemaField holds a schema, which crd.Compare compares.
const schemaField = "openAPIV3Schema"

func (f *fields) maps(path []string, from, to map[string]any) {
	keys := make([]string, 0, len(from)+len(to))
	for key := range from {
		keys = append(keys, key)
	}
	for key := range to {
		if _, there := from[key]; !there {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		was, had := from[key]
		is, has := to[key]
		f.value(append(slices.Clip(path), key), was, is, had, has)
	}
}

func (f *fields) value(path []string, from, to any, had, has bool) {
	switch {
	case !has && isList(from):
		to = []any{}
	case !had && isList(to):
		from = []any{}
	case !has:
		f.add(path, Removed, from, nil)
		return
	case !had:
		f.add(path, Added, nil, to)
		return
	case reflect.DeepEqual(from, to):
		return
	case path[len(path)-1] == schemaField, len(path) > maxPath, len(f.all) > maxFields:
		f.add(path, Changed, from, to)
		return
	}
	switch was := from.(type) {
	case map[string]any:
		if is, ok := to.(map[string]any); ok {
			f.maps(path, was, is)
			return
		}
	case []any:
		if is, ok := to.([]any); ok {
			f.maps(path, elements(was, is), elements(is, was))
			return
		}
	}
	f.add(path, Changed, from, to)
}

// isList reports whether v is a list that has something in it.
func isList(v any) bool {
	l, _ := v.([]any)
	return len(l) > 0
}

// elements returns the elements of a list by what tells them apart, if that does
// so in the other list, too, or else by their numbers.
func elements(list, other []any) map[string]any {
	named, ok := byName(list)
	if _, both := byName(other); ok && both {
		return named
	}
	numbered := make(map[string]any, len(list))
	for i, v := range list {
		numbered[fmt.Sprintf("[%d]", i)] = v
	}
	return numbered
}

// byName returns the elements of a list by their names, if each has another one.
// Dependencies are named by their packages.
func byName(list []any) (map[string]any, bool) {
	named := make(map[string]any, len(list))
	for _, v := range list {
		name := ""
		for _, key := range []string{"name", "step", "package", "provider", "function", "configuration"} {
			name = cmp.Or(name, text(v, key))
		}
		if name == "" {
			return nil, false
		}
		named["["+name+"]"] = v
	}
	return named, len(named) == len(list)
}
